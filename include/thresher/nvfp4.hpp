// SPDX-License-Identifier: Apache-2.0
// NVFP4 matrices: what a checkpoint stores, how to make one, how to read one back.
//
// A matrix has `rows` rows of `k_elements` values. Values are E2M1 codes, two per byte, element 2i
// in the low nibble; every 16 consecutive elements of a row share one E4M3 scale; an optional FP32
// global scale applies to the whole matrix. docs/nvfp4.md draws a block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thresher {

inline constexpr std::int64_t kBlockElements = 16;

// Somebody else's bytes in checkpoint order: `codes` is rows x k_elements/2 bytes, `scales` is
// rows x k_elements/16 bytes, both row-major without padding.
struct Nvfp4View {
  const std::uint8_t* codes = nullptr;
  const std::uint8_t* scales = nullptr;
  std::int64_t rows = 0;
  std::int64_t k_elements = 0;
  float global_scale = 1.0f;
};

struct Nvfp4Matrix {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  std::int64_t rows = 0;
  std::int64_t k_elements = 0;
  float global_scale = 1.0f;

  Nvfp4View view() const { return {codes.data(), scales.data(), rows, k_elements, global_scale}; }
};

// 16-bit values as storage: the bits, nothing more.
struct Fp16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};

struct QuantizeOptions {
  // true: global scale = amax / (6 * 448), as checkpoint makers do; false: global scale = 1.
  bool global_scale = true;
  // Not 0: this is the global scale, as for activations whose scale was calibrated. Values too
  // large for it saturate.
  float given_global_scale = 0;
  int thread_count = 0;  // 0: as many as pay, at most one per core; the bytes are the same
};

// Somebody else's memory to write a matrix to, of the sizes that Nvfp4View has.
struct Nvfp4Buffer {
  std::uint8_t* codes = nullptr;
  std::uint8_t* scales = nullptr;
  std::int64_t rows = 0;
  std::int64_t k_elements = 0;
};

// Rounds a row-major rows x k_elements matrix to NVFP4. Throws Error on NaN or infinity (naming row
// and column), on k_elements not a multiple of 16, and on a span of the wrong size.
Nvfp4Matrix quantize(std::span<const float> values, std::int64_t rows, std::int64_t k_elements,
                     QuantizeOptions options = {});
Nvfp4Matrix quantize(std::span<const Fp16> values, std::int64_t rows, std::int64_t k_elements,
                     QuantizeOptions options = {});
Nvfp4Matrix quantize(std::span<const Bf16> values, std::int64_t rows, std::int64_t k_elements,
                     QuantizeOptions options = {});
// The same into `out`, which is then what the returned view shows.
Nvfp4View quantize(std::span<const float> values, const Nvfp4Buffer& out,
                   QuantizeOptions options = {});
Nvfp4View quantize(std::span<const Fp16> values, const Nvfp4Buffer& out,
                   QuantizeOptions options = {});
Nvfp4View quantize(std::span<const Bf16> values, const Nvfp4Buffer& out,
                   QuantizeOptions options = {});

// The values a matrix stands for, global scale applied, row-major.
std::vector<float> dequantize(const Nvfp4View& matrix);

// Checks sizes, null pointers and NaN scale codes (0x7f, 0xff). `what` names the matrix in
// messages.
void check(const Nvfp4View& matrix, const char* what);

// The 128x4 scale swizzle that cuBLAS and CUTLASS take: rows padded to 128 and scales per row
// padded to 4 with zeros. The inverse drops the padding. Both are lossless.
std::vector<std::uint8_t> swizzle_scales_128x4(std::span<const std::uint8_t> scales,
                                               std::int64_t rows, std::int64_t scale_count_per_row);
std::vector<std::uint8_t> unswizzle_scales_128x4(std::span<const std::uint8_t> swizzled,
                                                 std::int64_t rows,
                                                 std::int64_t scale_count_per_row);

}  // namespace thresher
