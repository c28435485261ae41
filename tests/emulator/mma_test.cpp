// SPDX-License-Identifier: Apache-2.0
// MMAs: every width, operand and swizzle against a plain product.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "emulator/launch.hpp"
#include "gemm/random.hpp"
#include "gpu/hw/hw.cuh"
#include "nvfp4/half.hpp"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

// Where 16-bit element (row, k) of a K-major matrix with 64 values per row lies, said with
// divisions and remainders and not with address bits. Unswizzled, pieces of 8 rows x 16 bytes:
// first all rows of one chunk column, then the next. Swizzled: rows of `row_bytes` in groups of 8,
// a 64-value row cut into as many panels as it needs; in every 8 rows of 128 bytes the chunks are
// permuted by the number of the 128-byte line.
u32 naive_offset(hw::Swizzle swizzle, u32 rows, u32 row, u32 k) {
  const u32 chunk = k / 8;
  const u32 byte = k % 8 * 2;
  if (swizzle == hw::Swizzle::kNone) {
    return chunk * rows * 16 + row / 8 * 128 + row % 8 * 16 + byte;
  }
  const u32 row_bytes = 16u << static_cast<u32>(swizzle);
  const u32 chunks = row_bytes / 16;
  const u32 panel = chunk / chunks;
  const u32 line = (row * row_bytes + chunk % chunks * 16) / 128;
  const u32 position = (row * row_bytes / 16) % 8 + chunk % chunks;
  // Within a 128-byte line of 8 chunks: those of one row are `chunks` neighbours.
  const u32 swizzled = position / chunks * chunks + (position % chunks ^ line % chunks);
  return panel * rows * row_bytes + line * 128 + swizzled * 16 + byte;
}

// The descriptor of the 16-deep slice number `slice` of such a matrix.
u64 slice_descriptor(hw::Swizzle swizzle, hw::SharedAddress matrix, u32 rows, u32 slice) {
  if (swizzle == hw::Swizzle::kNone) {
    return hw::descriptor(matrix + slice * 2 * rows * 16, rows * 16, 128, swizzle);
  }
  const u32 row_bytes = 16u << static_cast<u32>(swizzle);
  const u32 panel = slice * 32 / row_bytes;
  return hw::descriptor(matrix + panel * rows * row_bytes + slice * 32 % row_bytes, 0,
                        8 * row_bytes, swizzle);
}

constexpr u32 kDepth = 64;
constexpr u32 kABytes = 64 * kDepth * 2;

struct Matrices {
  hw::Operand operand;
  u32 columns;
  std::vector<float> a;  // 64 x 64
  std::vector<float> b;  // columns x 64

  Matrices(hw::Operand type, u32 column_count) : operand(type), columns(column_count) {
    Random random(column_count);
    for (u32 i = 0; i < 64 * kDepth; ++i) a.push_back(static_cast<float>(random.between(-8, 8)));
    for (u32 i = 0; i < columns * kDepth; ++i) {
      b.push_back(static_cast<float>(random.between(-8, 8)));
    }
  }

  u16 bits(float value) const {
    return operand == hw::Operand::kFp16 ? nvfp4::float_to_fp16(value)
                                         : nvfp4::float_to_bf16(value);
  }
  u32 a_pair(u32 row, u32 k) const {
    const float* const pair = &a[row * kDepth + k];
    return bits(pair[0]) | static_cast<u32>(bits(pair[1])) << 16;
  }
  float product(u32 row, u32 column) const {
    float sum = 0;
    for (u32 k = 0; k < kDepth; ++k) sum += a[row * kDepth + k] * b[column * kDepth + k];
    return sum;
  }
};

// All threads put a matrix into shared memory and make it visible to MMAs.
void store_matrix(const Matrices& m, const std::vector<float>& values, hw::SharedAddress address,
                  hw::Swizzle swizzle) {
  const auto rows = static_cast<u32>(values.size()) / kDepth;
  for (auto i = static_cast<u32>(hw::thread_index()); i < values.size(); i += 128) {
    hw::store_shared(address + naive_offset(swizzle, rows, i / kDepth, i % kDepth),
                     m.bits(values[i]));
  }
  hw::fence_async();
  hw::sync_block();
}

template <int kColumns, hw::Operand kOperand>
void multiply_and_check(const Matrices& m, hw::Swizzle swizzle, bool a_from_shared) {
  const hw::SharedAddress a_address = hw::shared_base();
  const hw::SharedAddress b_address = a_address + kABytes;
  if (a_from_shared) store_matrix(m, m.a, a_address, swizzle);
  store_matrix(m, m.b, b_address, swizzle);

  const auto t = static_cast<u32>(hw::thread_index());
  const u32 row = t / 32 * 16 + t % 32 / 4;
  u32 a[4][4];
  for (u32 slice = 0; slice < 4; ++slice) {
    const u32 k = slice * 16 + t % 4 * 2;
    a[slice][0] = m.a_pair(row, k);
    a[slice][1] = m.a_pair(row + 8, k);
    a[slice][2] = m.a_pair(row, k + 8);
    a[slice][3] = m.a_pair(row + 8, k + 8);
  }
  float d[kColumns / 2];
  for (float& sum : d) sum = NAN;  // the first MMA must not add to it
  hw::mma_fence();
  for (u32 slice = 0; slice < 4; ++slice) {
    const u64 b = slice_descriptor(swizzle, b_address, kColumns, slice);
    if (a_from_shared) {
      hw::mma<kColumns, kOperand>(d, slice_descriptor(swizzle, a_address, 64, slice), b, slice > 0);
    } else {
      hw::mma<kColumns, kOperand>(d, a[slice], b, slice > 0);
    }
  }
  hw::mma_commit();
  hw::mma_wait<0>();
  hw::hide(d);
  for (u32 i = 0; i < kColumns / 2; ++i) {
    const u32 column = i / 4 * 8 + t % 4 * 2 + i % 2;
    ASSERT_EQ(d[i], m.product(row + i % 4 / 2 * 8, column)) << "thread " << t << " sum " << i;
  }
}

template <int kColumns, hw::Operand kOperand>
void check_width(hw::Swizzle swizzle, bool a_from_shared) {
  const Matrices m(kOperand, kColumns);
  launch({.thread_count = 128,
          .shared_bytes = kABytes + kColumns * kDepth * 2,
          .seed = kColumns + static_cast<std::uint64_t>(swizzle)},
         [&] { multiply_and_check<kColumns, kOperand>(m, swizzle, a_from_shared); });
}

constexpr hw::Swizzle kSwizzles[] = {hw::Swizzle::kNone, hw::Swizzle::k32, hw::Swizzle::k64,
                                     hw::Swizzle::k128};

TEST(Mma, MultipliesInEverySwizzle) {
  for (const hw::Swizzle swizzle : kSwizzles) {
    SCOPED_TRACE(static_cast<int>(swizzle));
    check_width<48, hw::Operand::kFp16>(swizzle, false);
    check_width<48, hw::Operand::kFp16>(swizzle, true);
    check_width<40, hw::Operand::kBf16>(swizzle, false);
    check_width<40, hw::Operand::kBf16>(swizzle, true);
  }
}

template <int... kEighths>
void check_widths(std::integer_sequence<int, kEighths...>) {
  (check_width<8 * (kEighths + 1), hw::Operand::kFp16>(kSwizzles[kEighths % 4], false), ...);
}

TEST(Mma, MultipliesInEveryWidth) { check_widths(std::make_integer_sequence<int, 32>()); }

}  // namespace
}  // namespace thresher::emulator
