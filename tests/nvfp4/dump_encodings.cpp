// SPDX-License-Identifier: Apache-2.0
// Prints what our conversions do, for ml_dtypes_check.py to hold against an independent library.
//
//   dump_encodings decode
//     for every code: format, code, bits of the float
//   dump_encodings encode
//     bits of doubles in; their E2M1, E4M3, fp16 and bf16 codes out
//   dump_encodings quantize ROWS K {global|plain}
//     bits of floats in; global scale, scales and codes out
//
// All numbers but ROWS and K are hexadecimal.
#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"
#include "thresher/nvfp4.hpp"

namespace {

using namespace thresher::nvfp4;

template <typename Code>
void print_decoded(const char* format, int code_count, float (*decode)(Code)) {
  for (int code = 0; code < code_count; ++code) {
    const float value = decode(static_cast<Code>(code));
    fmt::print("{} {:x} {:08x}\n", format, code, std::bit_cast<std::uint32_t>(value));
  }
}

void print_decoded_all() {
  print_decoded("e2m1", 16, decode_e2m1);
  print_decoded("e4m3", 256, decode_e4m3);
  print_decoded("fp16", 65536, fp16_to_float);
  print_decoded("bf16", 65536, bf16_to_float);
}

void print_encoded() {
  std::uint64_t bits = 0;
  while (std::cin >> std::hex >> bits) {
    const double value = std::bit_cast<double>(bits);
    fmt::print("{:x} {:x} {:x} {:x}\n", encode_e2m1(value), encode_e4m3(value),
               double_to_fp16(value), double_to_bf16(value));
  }
}

void print_bytes(const std::vector<std::uint8_t>& bytes) {
  for (const std::uint8_t byte : bytes) fmt::print("{:02x}", byte);
  fmt::print("\n");
}

void print_quantized(std::int64_t rows, std::int64_t k_elements, bool global_scale) {
  std::vector<float> values;
  std::uint32_t bits = 0;
  while (std::cin >> std::hex >> bits) values.push_back(std::bit_cast<float>(bits));
  const thresher::Nvfp4Matrix matrix =
      thresher::quantize(values, rows, k_elements, {.global_scale = global_scale});
  fmt::print("{:08x}\n", std::bit_cast<std::uint32_t>(matrix.global_scale));
  print_bytes(matrix.scales);
  print_bytes(matrix.codes);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "decode" && argc == 2) {
    print_decoded_all();
  } else if (mode == "encode" && argc == 2) {
    print_encoded();
  } else if (mode == "quantize" && argc == 5) {
    print_quantized(std::atoll(argv[2]), std::atoll(argv[3]), argv[4] == std::string("global"));
  } else {
    fmt::print(stderr, "usage: dump_encodings decode|encode|quantize ROWS K {{global|plain}}\n");
    return 2;
  }
  return 0;
}
