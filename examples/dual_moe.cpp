// SPDX-License-Identifier: Apache-2.0
// A tiny mixture-of-experts layer: each token x goes to one expert, which computes
// down * (silu(gate * x) .* (up * x)). All experts run in two calls, whatever their share of
// tokens; the tokens lie in the order of their experts.
//
//   dual_moe [cpu|gpu|emulator]
#include <cmath>
#include <cstdio>
#include <span>
#include <thresher/thresher.hpp>
#include <vector>

using namespace thresher;

constexpr std::int64_t kHidden = 64, kInner = 96, kTokens = 8;

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

int main(int argc, char** argv) {
  const Engine engine({.device = argc > 1 ? argv[1] : "cpu"});
  std::vector<Weights> gate_up, down;
  // bf16 leaves the first product and enters the second.
  Problem first{.name = "gate_up", .op = Op::kDual, .output = Output::kBf16};
  Problem second{.name = "down", .activations = Activations::kBf16, .output = Output::kFp32};
  for (const Expert& expert : kExperts) {
    gate_up.push_back(engine.pack({.op = Op::kDual,
                                   .b = filled(kInner, kHidden, expert.gate).view(),
                                   .up = filled(kInner, kHidden, expert.up).view()}));
    down.push_back(engine.pack(
        {.b = filled(kHidden, kInner, expert.down).view(), .activations = Activations::kBf16}));
    first.groups.push_back({.m = expert.token_count, .n = kInner, .k = kHidden});
    second.groups.push_back({.m = expert.token_count, .n = kHidden, .k = kInner});
  }

  // Plans, workspaces and calls serve as long as the groups keep their sizes: here for two steps.
  const Plan first_plan = engine.plan(first), second_plan = engine.plan(second);
  const Workspace first_workspace = engine.workspace(first_plan);
  const Workspace second_workspace = engine.workspace(second_plan);
  const Buffer codes = engine.allocate(kTokens * kHidden / 2);
  const Buffer scales = engine.allocate(kTokens * kHidden / 16);
  const Buffer inner = engine.allocate(kTokens * kInner * sizeof(std::uint16_t));
  const Buffer outputs = engine.allocate(kTokens * kHidden * sizeof(float));
  const float scale = filled(1, kHidden, 2.0f).global_scale;  // that all steps quantise with
  std::vector<GroupOperands> first_groups, second_groups;
  for (std::size_t i = 0; i < gate_up.size(); ++i) {
    first_groups.push_back({.weights = &gate_up[i], .a_global_scale = scale});
    second_groups.push_back({.weights = &down[i]});
  }
  const Call first_call =
      engine.bind(first_plan,
                  {.groups = first_groups,
                   .rows = {.a = codes.data(), .a_scales = scales.data(), .c = inner.data()}},
                  first_workspace);
  const Call second_call = engine.bind(
      second_plan, {.groups = second_groups, .rows = {.a = inner.data(), .c = outputs.data()}},
      second_workspace);

  bool right = true;
  for (const float x : {2.0f, -2.0f}) {
    const Nvfp4Matrix tokens = filled(kTokens, kHidden, x);
    codes.copy_in(std::as_bytes(std::span(tokens.codes)));
    scales.copy_in(std::as_bytes(std::span(tokens.scales)));
    first_call.enqueue();
    second_call.enqueue();
    engine.synchronize();

    std::vector<float> result(kTokens * kHidden);
    outputs.copy_out(std::as_writable_bytes(std::span(result)));
    auto y = result.begin();
    for (const Expert& expert : kExperts) {
      const float expected = expert.layer(x);
      if (expert.token_count > 0) {
        std::printf("x = %4.1f, %lld tokens: %9.4f, by hand %9.4f\n", x,
                    static_cast<long long>(expert.token_count), *y, expected);
      }
      for (std::int64_t i = 0; i < expert.token_count * kHidden; ++i, ++y) {
        right = right && std::fabs(*y / expected - 1) < 0.01f;  // bf16 has 8 significant bits
      }
    }
  }
  return right ? 0 : 1;
}
