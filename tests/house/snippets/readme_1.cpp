// SPDX-License-Identifier: Apache-2.0
// README.md, the library call: ones times ones, so that every element of C is k.
// head
#include <cstdio>

int main() {
  constexpr std::int64_t n = 32;
  constexpr std::int64_t k = 128;
  constexpr std::uint16_t kBf16Of128 = 0x4300;
  const std::vector<float> floats(n * k, 1.0f);
  const Nvfp4Matrix activations = quantize(std::vector<float>(80 * k, 1.0f), 80, k);
  std::vector<std::uint16_t> values(80 * n);
  void* const c = values.data();

  // body

  for (const std::uint16_t value : values) {
    if (value != kBf16Of128) return std::fprintf(stderr, "0x%04x is not 128\n", value), 1;
  }
  return 0;
}
