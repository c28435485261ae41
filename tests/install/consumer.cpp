// SPDX-License-Identifier: Apache-2.0
// The smallest use of an installed Thresher: one dot product of 16 sixes with 16 sixes. Six is the
// largest E2M1 value, so every block scale is 1 and the result is exactly 576. And an error, which
// is to be caught as what it is, from a shared library too.
#include <cstdio>
#include <thresher/thresher.hpp>
#include <vector>

namespace {

bool says_what_is_wrong() {
  try {
    const std::vector<float> seventeen(17, 1.0f);
    thresher::quantize(seventeen, 1, 17);
  } catch (const thresher::Error& error) {
    std::printf("%s\n", error.what());
    return true;
  }
  return false;
}

}  // namespace

int main() {
  using namespace thresher;

  const std::vector<float> sixes(16, 6.0f);
  const Nvfp4Matrix a = quantize(sixes, 1, 16, {.global_scale = false});
  const Nvfp4Matrix b = quantize(sixes, 1, 16, {.global_scale = false});

  const Engine engine;
  const Weights weights = engine.pack({.b = b.view()});
  const Plan plan = engine.plan({.name = "dot", .output = Output::kFp32, .groups = {{1, 1, 16}}});
  const Workspace workspace = engine.workspace(plan);

  float c = 0.0f;
  const GroupOperands group{.weights = &weights};
  const Rows rows{.a = a.codes.data(), .a_scales = a.scales.data(), .c = &c};
  engine.run(plan, {.groups = {&group, 1}, .rows = rows}, workspace);
  std::printf("%g\n", static_cast<double>(c));
  return c == 576.0f && says_what_is_wrong() ? 0 : 1;
}
