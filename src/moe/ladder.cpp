// SPDX-License-Identifier: Apache-2.0
#include "moe/ladder.hpp"

#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "backend/device.hpp"

namespace thresher::moe {
namespace {

// Where variants may change. Further apart, a call would run on tiles made for many more tokens.
constexpr std::int64_t kRungStep = 4;

Output output_of(Activations activations) {
  return activations == Activations::kFp16 ? Output::kFp16 : Output::kBf16;
}

std::string choice(const Problem& problem, const backend::LayerShape& shape, std::int64_t tokens,
                   const Engine& engine) {
  const std::string chosen = engine.choose(with_typical_rows(problem, shape, tokens));
  if (!shape.options.batch_invariant) return chosen;
  return engine.state().row().batch_invariant(chosen);
}

}  // namespace

backend::Between between_of(const MoeOptions& options, bool has_biases) {
  if (options.activation != MoeActivation::kSilu || has_biases) return backend::Between::kActivate;
  return options.activations == Activations::kNvfp4 ? backend::Between::kQuantize
                                                    : backend::Between::kNothing;
}

LayerProblems problems_of(const backend::LayerShape& shape) {
  const auto groups = static_cast<std::size_t>(shape.group_count());
  const Activations activations = shape.options.activations;
  const bool together = shape.between != backend::Between::kActivate;
  const bool done = shape.between == backend::Between::kNothing;
  return {.first = {.name = together ? "gate and up" : "gate or up",
                    .op = together ? Op::kDual : Op::kGemm,
                    .activations = activations,
                    .output = done ? output_of(activations) : Output::kFp32,
                    .groups = std::vector<Group>(
                        groups, {.m = 0, .n = shape.intermediate, .k = shape.hidden})},
          .down = {.name = "down",
                   .op = Op::kGemm,
                   .activations = activations,
                   .output = Output::kFp32,
                   .groups = std::vector<Group>(
                       groups, {.m = 0, .n = shape.hidden, .k = shape.intermediate})}};
}

// Of E experts and S slots about E * (1 - (1 - 1/E)^S) have a row.
Problem with_typical_rows(Problem problem, const backend::LayerShape& shape, std::int64_t tokens) {
  const auto experts = static_cast<double>(shape.expert_count);
  const std::int64_t rows = tokens * shape.options.top_k;
  const double touched =
      std::round(experts * (1 - std::pow(1 - 1 / experts, static_cast<double>(rows))));
  const std::int64_t groups =
      std::clamp(static_cast<std::int64_t>(touched), std::int64_t{1}, shape.expert_count);
  for (std::int64_t i = 0; i < groups; ++i) {
    problem.groups[static_cast<std::size_t>(i)].m = rows * (i + 1) / groups - rows * i / groups;
  }
  for (std::int64_t i = shape.expert_count; i < shape.group_count(); ++i) {
    problem.groups[static_cast<std::size_t>(i)].m = tokens;
  }
  return problem;
}

std::vector<Rung> ladder_of(const backend::LayerShape& shape, const Engine& engine) {
  const LayerProblems problems = problems_of(shape);
  std::vector<Rung> rungs;
  const auto add = [&](std::int64_t tokens) {
    const Rung rung{.tokens_max = tokens,
                    .first = choice(problems.first, shape, tokens, engine),
                    .down = choice(problems.down, shape, tokens, engine)};
    if (!rungs.empty() && rungs.back().first == rung.first && rungs.back().down == rung.down) {
      rungs.pop_back();
    }
    rungs.push_back(rung);
  };
  const std::int64_t most = shape.options.tokens_max;
  for (std::int64_t tokens = 1; tokens < most && !shape.options.batch_invariant;
       tokens *= kRungStep) {
    add(tokens);
  }
  add(most);
  return rungs;
}

}  // namespace thresher::moe
