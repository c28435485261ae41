// SPDX-License-Identifier: Apache-2.0
// A tiny mixture-of-experts layer: each token x goes to one expert, which computes
// down * (silu(gate * x) .* (up * x)). All experts run in two calls, whatever their share of
// tokens.
#include <cmath>
#include <cstdio>
#include <thresher/thresher.hpp>
#include <vector>

using namespace thresher;

constexpr std::int64_t kHidden = 64, kInner = 96;

// A matrix has the same value everywhere, so that the layer can be written as a formula.
struct Expert {
  std::int64_t token_count;
  float gate, up, down;

  float layer(float x) const {
    const float g = kHidden * gate * x, u = kHidden * up * x;
    return kInner * down * (g / (1 + std::exp(-g)) * u);
  }
};
constexpr Expert kExperts[] = {
    {.token_count = 3, .gate = 0.02f, .up = 0.01f, .down = 0.1f},
    {.token_count = 1, .gate = 0.04f, .up = -0.02f, .down = 0.2f},
    {.token_count = 0, .gate = 0.06f, .up = 0.05f, .down = 0.3f},  // nobody chose it
    {.token_count = 4, .gate = -0.03f, .up = 0.02f, .down = 0.1f},
};

Nvfp4Matrix filled(std::int64_t rows, std::int64_t columns, float value) {
  return quantize(std::vector<float>(rows * columns, value), rows, columns);
}

int main() {
  const Engine engine;
  std::vector<Weights> gate_up, down;
  // bf16 leaves the first product and enters the second.
  Problem first{.name = "gate_up", .op = Op::kDual, .output = Output::kBf16};
  Problem second{.name = "down", .activations = Activations::kBf16, .output = Output::kFp32};
  for (const Expert& expert : kExperts) {
    gate_up.push_back(engine.pack_dual(filled(kInner, kHidden, expert.gate).view(),
                                       filled(kInner, kHidden, expert.up).view()));
    down.push_back(engine.pack(filled(kHidden, kInner, expert.down).view()));
    first.groups.push_back({.m = expert.token_count, .n = kInner, .k = kHidden});
    second.groups.push_back({.m = expert.token_count, .n = kHidden, .k = kInner});
  }

  // Plans and workspaces serve as long as the groups keep their sizes: here for two steps.
  const Plan first_plan = engine.plan(first), second_plan = engine.plan(second);
  Workspace first_workspace(first_plan), second_workspace(second_plan);
  bool right = true;
  for (const float x : {0.5f, 2.0f}) {
    std::vector<Nvfp4Matrix> tokens;
    std::vector<std::vector<std::uint16_t>> inner;
    std::vector<std::vector<float>> result;
    std::vector<GroupOperands> first_call, second_call;
    for (std::size_t i = 0; i < gate_up.size(); ++i) {
      const std::int64_t m = kExperts[i].token_count;
      tokens.push_back(filled(m, kHidden, x));
      inner.emplace_back(m * kInner);
      result.emplace_back(m * kHidden);
      first_call.push_back({.a = tokens[i].view(), .weights = &gate_up[i], .c = inner[i].data()});
      second_call.push_back({.a16 = inner[i].data(), .weights = &down[i], .c = result[i].data()});
    }
    engine.run(first_plan, first_call, first_workspace);
    engine.run(second_plan, second_call, second_workspace);

    for (std::size_t i = 0; i < result.size(); ++i) {
      const float expected = kExperts[i].layer(x);
      for (const float y : result[i]) {
        right = right && std::fabs(y / expected - 1) < 0.01f;  // bf16 has 8 significant bits
      }
      if (result[i].empty()) continue;
      std::printf("x = %.1f, expert %zu: %9.4f, by hand %9.4f\n", x, i, result[i][0], expected);
    }
  }
  return right ? 0 : 1;
}
