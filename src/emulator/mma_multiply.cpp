// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one MMA. Products of 16-bit floats are exact in float; they are added in the
// order of k, each sum rounded to nearest. The hardware adds the 16 products at once, aligned to
// the largest and truncated, so the two agree bit for bit only where every partial sum is exact.
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/mma.hpp"
#include "nvfp4/half.hpp"

namespace thresher::emulator {
namespace {

using Four = float __attribute__((vector_size(16)));
constexpr int kColumnsMax = 256;

float to_float(u16 bits, gpu::hw::Operand operand) {
  return operand == gpu::hw::Operand::kFp16 ? nvfp4::fp16_to_float(bits)
                                            : nvfp4::bf16_to_float(bits);
}

struct Matrices {
  float a[kMmaRows][kMmaDepth];
  alignas(Four) float b[kMmaDepth][kColumnsMax];
};

// One row of a K-major matrix, through its descriptor.
void read_row(const MatrixView& view, SharedMemory& shared, int row, gpu::hw::Operand operand,
              float* out) {
  for (int chunk = 0; chunk < 2; ++chunk) {
    u16 bits[8];
    std::memcpy(bits, shared.data(view.chunk_address(row, chunk)), sizeof(bits));
    for (int i = 0; i < 8; ++i) out[8 * chunk + i] = to_float(bits[i], operand);
  }
}

void read_a_registers(const Mma& mma, float (&a)[kMmaRows][kMmaDepth]) {
  for (int t = 0; t < kWarpgroupThreads; ++t) {
    const MmaRequest& request = mma.requests[static_cast<std::size_t>(t)];
    const int row = 16 * (t / 32) + t % 32 / 4;
    for (int i = 0; i < 4; ++i) {
      const int k = 2 * (t % 4) + 8 * (i / 2);
      float* const out = &a[row + 8 * (i % 2)][k];
      out[0] = to_float(static_cast<u16>(request.a[i]), request.shape.operand);
      out[1] = to_float(static_cast<u16>(request.a[i] >> 16), request.shape.operand);
    }
  }
}

void read_matrices(const Mma& mma, SharedMemory& shared, Matrices& matrices) {
  const MmaRequest& request = mma.requests[0];
  if (request.a != nullptr) {
    read_a_registers(mma, matrices.a);
  } else {
    for (int row = 0; row < kMmaRows; ++row) {
      read_row(mma.a, shared, row, request.shape.operand, matrices.a[row]);
    }
  }
  for (int column = 0; column < request.shape.columns; ++column) {
    float row[kMmaDepth];
    read_row(mma.b, shared, column, request.shape.operand, row);
    for (int k = 0; k < kMmaDepth; ++k) matrices.b[k][column] = row[k];
  }
}

}  // namespace

void multiply(const Mma& mma, SharedMemory& shared) {
  thread_local Matrices matrices;  // too large for a fibre's stack
  read_matrices(mma, shared, matrices);
  const int columns = mma.sums->columns;
  if (!mma.requests[0].add) std::fill(mma.sums->values.begin(), mma.sums->values.end(), 0.0f);
  for (int row = 0; row < kMmaRows; ++row) {
    float* const sums = &mma.sums->values[static_cast<std::size_t>(row * columns)];
    for (int column = 0; column < columns; column += 8) {
      Four low;
      Four high;
      std::memcpy(&low, sums + column, sizeof(low));
      std::memcpy(&high, sums + column + 4, sizeof(high));
      for (int k = 0; k < kMmaDepth; ++k) {
        const float a = matrices.a[row][k];
        Four b[2];
        std::memcpy(b, &matrices.b[k][column], sizeof(b));
        low += a * b[0];
        high += a * b[1];
      }
      std::memcpy(sums + column, &low, sizeof(low));
      std::memcpy(sums + column + 4, &high, sizeof(high));
    }
  }
}

}  // namespace thresher::emulator
