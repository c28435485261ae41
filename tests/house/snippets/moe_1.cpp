// SPDX-License-Identifier: Apache-2.0
// docs/moe.md: a layer whose experts answer a formula.
#include <cstdio>
#include <thresher/thresher.hpp>

using namespace thresher;
// head

int main() {
  constexpr std::int64_t hidden = 32, inner = 16, tokens = 3;
  const Engine engine;
  // Gates so large that silu is the identity.
  const Nvfp4Matrix wide = quantize(std::vector<float>(inner * hidden, 6.0f), inner, hidden);
  const Nvfp4Matrix down = quantize(std::vector<float>(hidden * inner, 0.5f), hidden, inner);
  const std::vector<MoeExpert> experts(
      3, {.gate = wide.view(), .up = wide.view(), .down = down.view()});
  const std::vector<std::uint16_t> ones(tokens * hidden, 0x3f80);
  const std::vector<std::int32_t> chosen = {0, 1, 2, -1, -1, -1};
  const std::vector<float> halves(tokens * 2, 0.5f);
  std::vector<std::uint16_t> results(tokens * hidden, 0xffff);
  const void* const x = ones.data();
  const std::int32_t* const ids = chosen.data();
  const float* const weights = halves.data();
  void* const out = results.data();
  void* const stream = nullptr;

  // body

  // 192 * 192 * 16 * 0.5, of two experts, of one and of none, half of each.
  const std::uint16_t expected[] = {0x4890, 0x4810, 0};
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] != expected[i / hidden]) {
      return std::fprintf(stderr, "%zu: %04x\n", i, results[i]), 1;
    }
  }
  return 0;
}
