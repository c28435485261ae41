// SPDX-License-Identifier: Apache-2.0
// docs/library.md, operands of a dual: gates so large that silu is the identity.
#include <cstdio>
#include <thresher/thresher.hpp>

using namespace thresher;
// head

int main() {
  constexpr std::int64_t m = 3;
  constexpr std::int64_t n = 32;
  constexpr std::int64_t k = 128;
  const Engine engine;
  const Nvfp4Matrix gate = quantize(std::vector<float>(n * k, 6.0f), n, k);
  const Nvfp4Matrix up = quantize(std::vector<float>(n * k, 3.0f), n, k);
  const Nvfp4Matrix a = quantize(std::vector<float>(m * k, 6.0f), m, k);
  std::vector<float> values(m * n);
  void* const c = values.data();

  // body

  const float expected = 0.5f * 36 * k * 18 * k;
  for (const float value : values) {
    if (value < 0.9999f * expected || value > 1.0001f * expected) {
      return std::fprintf(stderr, "%g is not %g\n", value, expected), 1;
    }
  }
  return 0;
}
