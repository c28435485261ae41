// SPDX-License-Identifier: Apache-2.0
// README.md, the library call: sixes times sixes and threes, so that every element of C is known.
// head
#include <cstdio>

int main() {
  constexpr std::int64_t n = 32;
  constexpr std::int64_t k = 128;
  const std::vector<Nvfp4Matrix> b = {quantize(std::vector<float>(n * k, 6.0f), n, k),
                                      quantize(std::vector<float>(n * k, 3.0f), n, k)};
  const Nvfp4Matrix a = quantize(std::vector<float>(96 * k, 6.0f), 96, k, {.global_scale = false});
  const std::uint8_t* const codes = a.codes.data();
  const std::uint8_t* const scales = a.scales.data();
  std::vector<std::uint16_t> values(96 * n);
  void* const c = values.data();

  // body

  for (std::int64_t i = 0; i < 96 * n; ++i) {
    const int expected = i < 80 * n ? 0x4590 : 0x4510;  // 36 k and 18 k as bf16
    if (values[i] != expected) return std::fprintf(stderr, "element %d\n", int(i)), 1;
  }
  return 0;
}
