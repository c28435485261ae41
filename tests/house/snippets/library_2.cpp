// SPDX-License-Identifier: Apache-2.0
// docs/library.md, streams and sizes on the device, in the emulator: it has no streams.
#include <cstdio>
#include <thresher/thresher.hpp>

using namespace thresher;
// head

int main() {
  constexpr std::int64_t n = 32;
  constexpr std::int64_t k = 128;
  constexpr std::int64_t tokens_max = 8;
  const Engine engine({.device = "emulator"});
  const Nvfp4Matrix b = quantize(std::vector<float>(n * k, 6.0f), n, k);
  const Weights weights = engine.pack({.b = b.view()});
  const std::vector<GroupOperands> groups = {{.weights = &weights}, {.weights = &weights}};
  const Problem problem{.groups = {{.m = 0, .n = n, .k = k}, {.m = 0, .n = n, .k = k}}};
  const Nvfp4Matrix a =
      quantize(std::vector<float>(tokens_max * k, 6.0f), tokens_max, k, {.global_scale = false});
  std::vector<std::uint16_t> first(tokens_max * n), next(tokens_max * n);
  const Rows rows{.a = a.codes.data(), .a_scales = a.scales.data(), .c = first.data()};
  const Rows next_rows{.a = a.codes.data(), .a_scales = a.scales.data(), .c = next.data()};
  const std::vector<std::uint32_t> written_by_a_router = {2, 3};
  const std::uint32_t* const counts = written_by_a_router.data();
  void* const stream = nullptr;

  // body

  for (const std::vector<std::uint16_t>& values : {first, next}) {
    for (std::int64_t i = 0; i < tokens_max * n; ++i) {
      const int expected = i < 5 * n ? 0x6c80 : 0;  // 36 k as fp16, and what nobody wrote
      if (values[i] != expected) return std::fprintf(stderr, "element %d\n", int(i)), 1;
    }
  }
  return 0;
}
