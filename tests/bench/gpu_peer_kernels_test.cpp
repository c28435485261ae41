// SPDX-License-Identifier: Apache-2.0
// The kernels around a GPU peer's products, in the emulator and through the compiler.
#include "bench/gpu_peer_kernels.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "bench/gpu_peer_kernels.hpp"
#include "emulator/device_memory.hpp"
#include "emulator/launch.hpp"
#include "gemm/bound.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"

namespace thresher::bench {
namespace {

float from_bits(hw::Operand operand, std::uint16_t bits) {
  return operand == hw::Operand::kFp16 ? nvfp4::fp16_to_float(bits) : nvfp4::bf16_to_float(bits);
}

// Every code under every scale that is a number, in words enough for one block and a bit.
template <hw::Operand kOperand>
void expect_exact_expansion() {
  constexpr u64 kWords = kExpandWordsPerBlock + 70;
  emulator::DeviceMemory memory;
  auto* codes = static_cast<u32*>(memory.allocate(kWords * 4, "codes"));
  auto* scales = static_cast<u8*>(memory.allocate(kWords / 2, "scales"));
  auto* out = static_cast<std::uint16_t*>(memory.allocate(kWords * 16, "out"));
  for (u64 i = 0; i < kWords; ++i) {
    codes[i] = i % 2 == 0 ? 0x76543210 : 0xfedcba98;
    scales[i / 2] = static_cast<u8>(i / 2 % 0x7f | (i / 2 % 0xfe < 0x7f ? 0 : 0x80));
  }
  const ExpandArgs args{.codes = codes,
                        .scales = scales,
                        .out = reinterpret_cast<gpu::U32x4*>(out),
                        .word_count = kWords};
  emulator::launch({.block_count = 2, .thread_count = kExpandThreads, .memory = &memory},
                   [&] { expand_kernel<kOperand>(args); });
  for (u64 i = 0; i < kWords * 8; ++i) {
    const auto code = static_cast<std::uint8_t>(i % 16);
    const float right = nvfp4::decode_e2m1(code) * nvfp4::decode_e4m3(scales[i / 16]);
    ASSERT_EQ(from_bits(kOperand, out[i]), right) << i;
  }
}

TEST(ExpandKernel, IsExactInBf16) { expect_exact_expansion<hw::Operand::kBf16>(); }
TEST(ExpandKernel, IsExactInFp16) { expect_exact_expansion<hw::Operand::kFp16>(); }

// Two rows of n columns; what lies beyond them must stay as it was.
void expect_gated(u32 n) {
  emulator::DeviceMemory memory;
  auto* products = static_cast<float*>(memory.allocate(2 * 2 * n * sizeof(float), "products"));
  auto* c = static_cast<std::uint16_t*>(memory.allocate(std::size_t{2} * n * 2, "c"));
  auto* rows = static_cast<GateRow*>(memory.allocate(2 * sizeof(GateRow), "rows"));
  constexpr float kFactors[2] = {0.25f, -3.0f};
  for (u32 i = 0; i < 4 * n; ++i) {
    products[i] = static_cast<float>(i * 2654435761u % 4001) * 0.1f - 200.0f;
  }
  for (u32 row = 0; row < 2; ++row) {
    const GateRow entry{.products = reinterpret_cast<u64>(products + row * 2 * n),
                        .c = reinterpret_cast<u64>(c + row * n),
                        .n = n,
                        .gate_factor = kFactors[0],
                        .up_factor = kFactors[1]};
    std::memcpy(rows + row, &entry, sizeof(entry));
  }
  const GateArgs args{.rows = rows};
  emulator::launch({.block_count = 2, .thread_count = kGateThreads, .memory = &memory},
                   [&] { gate_kernel<hw::Operand::kBf16>(args); });
  for (u32 row = 0; row < 2; ++row) {
    for (u32 column = 0; column < n; ++column) {
      const double gate = double{products[row * 2 * n + column]} * kFactors[0];
      const double up = double{products[row * 2 * n + n + column]} * kFactors[1];
      const double right = silu(gate) * up;
      const double got = nvfp4::bf16_to_float(c[row * n + column]);
      ASSERT_NEAR(got, right, std::abs(right) * 0x1.01p-8 + 1e-30) << row << " " << column;
    }
  }
}

TEST(GateKernel, TakesFourColumnsAtATime) { expect_gated(2 * 4 * kGateThreads + 20); }
TEST(GateKernel, TakesAnyNumberOfColumns) {
  for (const u32 n : {1u, 2u, 3u, 4u, 301u}) expect_gated(n);
}

TEST(PeerKernels, CompileForHopper) {
  const gpu::NvrtcLookup found =
      gpu::find_nvrtc({.folders = gpu::pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const gpu::Compiler compiler(*found.nvrtc);
  if (!compiler.compiles_for("sm_90a")) GTEST_SKIP() << compiler.version() << " is too old";
  for (const hw::Operand operand : {hw::Operand::kFp16, hw::Operand::kBf16}) {
    const gpu::Compilation compilation = compiler.compile(peer_kernels_request(operand, "sm_90a"));
    ASSERT_EQ(compilation.kernels.size(), 2U);
    for (const gpu::KernelResources& kernel : compilation.kernels) {
      EXPECT_FALSE(kernel.spills()) << gpu::to_string(kernel);
      EXPECT_EQ(kernel.stack_bytes, 0) << gpu::to_string(kernel);
    }
    EXPECT_TRUE(compilation.notes.empty()) << compilation.notes.front();
  }
}

}  // namespace
}  // namespace thresher::bench
