// SPDX-License-Identifier: Apache-2.0
// Which values keep every sum exact. Let all terms a*b be multiples of a unit and at most t units
// in magnitude. Every partial sum of k of them, in any order, is then a whole number of units of at
// most k*t, and exact in FP32 as long as k*t <= 2^24. Alpha and the global scales are powers of two
// and do not change that.
//
//   values                         unit    largest term   t      k up to
//   all codes, scales 1/2, 1, 2    1/16    12 * 12        2304   7281
//     with activations -48..48     1/4     48 * 12        2304   7281
//   all codes, scale 1             1/4     6 * 6          144    116508
//     with activations -12..12     1/2     12 * 6         144    116508
//   -1, 0, 1                       1       1              1      2^24 = kExtentMax
#include "gemm/input_recipe.hpp"

#include <cmath>
#include <cstddef>

#include "assert.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"

namespace thresher {
namespace {

constexpr std::int64_t kThreeScalesKMax = (std::int64_t{1} << 24) / 2304;
constexpr std::int64_t kOneScaleKMax = (std::int64_t{1} << 24) / 144;

constexpr std::uint8_t kHalf = nvfp4::encode_e4m3(0.5);
constexpr std::uint8_t kOne = nvfp4::encode_e4m3(1.0);
constexpr std::uint8_t kTwo = nvfp4::encode_e4m3(2.0);

template <typename Function>
ByteTable table_of(Function value_of_byte) {
  ByteTable table;
  for (int byte = 0; byte < 256; ++byte) {
    table[byte] = static_cast<std::uint8_t>(value_of_byte(byte));
  }
  return table;
}

Nvfp4Recipe exact_recipe(std::int64_t k) {
  const ByteTable all_codes = table_of([](int byte) { return byte & 15; });
  const ByteTable scale_one = table_of([](int) { return kOne; });
  if (k <= kThreeScalesKMax) {
    const std::uint8_t scales[] = {kHalf, kOne, kTwo};
    return {all_codes, table_of([&](int byte) { return scales[byte % 3]; })};
  }
  if (k <= kOneScaleKMax) return {all_codes, scale_one};
  const std::uint8_t codes[] = {nvfp4::encode_e2m1(-1), nvfp4::encode_e2m1(0),
                                nvfp4::encode_e2m1(1), nvfp4::encode_e2m1(0)};
  return {table_of([&](int byte) { return codes[byte & 3]; }), scale_one};
}

// Repeats table position i counts[i] times.
template <std::size_t count>
ByteTable table_of_counts(const int (&counts)[count], int first_value) {
  ByteTable table;
  std::size_t filled = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (int repeat = 0; repeat < counts[i]; ++repeat) {
      THRESHER_ASSERT(filled < table.size());
      table[filled++] = static_cast<std::uint8_t>(first_value + static_cast<int>(i));
    }
  }
  THRESHER_ASSERT(filled == table.size());
  return table;
}

// How often quantize() gives each code and each scale for 4096 x 4096 gaussian values, in 256ths.
// Scales are codes 106 (80) to 122 (320): a block's largest value against the matrix's largest.
Nvfp4Recipe natural_recipe() {
  return {table_of_counts({9, 17, 16, 15, 19, 20, 18, 14, 9, 17, 16, 15, 19, 20, 18, 14}, 0),
          table_of_counts({1, 1, 3, 5, 8, 11, 24, 41, 43, 39, 30, 20, 13, 8, 6, 2, 1}, 106)};
}

// Every byte is a finite scale but the two NaNs, which become their largest finite neighbours.
Nvfp4Recipe full_recipe() {
  return {table_of([](int byte) { return byte & 15; }), table_of([](int byte) {
            return nvfp4::is_nan_e4m3(static_cast<std::uint8_t>(byte)) ? byte - 1 : byte;
          })};
}

template <typename Decode>
double mean_square(const ByteTable& table, Decode decode) {
  double sum = 0;
  for (const std::uint8_t code : table) {
    const double value = decode(code);
    sum += value * value;
  }
  return sum / static_cast<double>(table.size());
}

}  // namespace

Nvfp4Recipe nvfp4_recipe(InputFamily family, std::int64_t k) {
  if (family == InputFamily::kExact) return exact_recipe(k);
  return family == InputFamily::kNatural ? natural_recipe() : full_recipe();
}

double rms_of(const Nvfp4Recipe& recipe) {
  return std::sqrt(mean_square(recipe.codes, nvfp4::decode_e2m1) *
                   mean_square(recipe.scales, nvfp4::decode_e4m3));
}

int exact_a16_max(std::int64_t k) {
  if (k <= kThreeScalesKMax) return 48;
  return k <= kOneScaleKMax ? 12 : 1;
}

}  // namespace thresher
