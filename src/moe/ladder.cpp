// SPDX-License-Identifier: Apache-2.0
#include "moe/ladder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/backend.hpp"
#include "backend/device.hpp"

namespace thresher::moe {
namespace {

// Where variants may change. Further apart, a call would run on tiles made for many more tokens.
constexpr std::int64_t kRungStep = 4;

Output output_of(Activations activations) {
  return activations == Activations::kFp16 ? Output::kFp16 : Output::kBf16;
}

// The chance that exactly `count` of `tokens` choose an expert whom each chooses with chance `p`.
double binomial(std::int64_t tokens, std::int64_t count, double p) {
  const auto n = static_cast<double>(tokens);
  const auto k = static_cast<double>(count);
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                  k * std::log(p) + (n - k) * std::log1p(-p));
}

// What experts get of a router that prefers nobody, most first: quantiles of the binomial
// distribution, spread evenly, with as many rows in all as there are on average. Equal shares would
// make tiles that are as wide as the mean look perfect, and half of the experts need two of those.
std::vector<std::int64_t> typical_rows(const backend::LayerShape& shape, std::int64_t tokens) {
  const std::int64_t experts = shape.expert_count;
  const std::int64_t chosen_from = std::max(experts, shape.options.router_experts);
  const double p = std::min(
      static_cast<double>(shape.options.top_k) / static_cast<double>(chosen_from), 1 - 1e-9);
  std::vector<std::int64_t> rows;
  double below = 0;
  for (std::int64_t count = 0; std::ssize(rows) < experts; ++count) {
    below = count < tokens ? below + binomial(tokens, count, p) : 1;
    while (std::ssize(rows) < experts &&
           (static_cast<double>(rows.size()) + 0.5) / static_cast<double>(experts) <= below) {
      rows.push_back(count);
    }
  }
  std::reverse(rows.begin(), rows.end());
  const std::int64_t mean_total = tokens * shape.options.top_k * experts / chosen_from;
  std::int64_t missing = mean_total - std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  for (std::size_t i = 0; missing != 0; i = (i + 1) % rows.size()) {
    const std::int64_t step = missing > 0 ? 1 : -1;
    if (rows[i] + step < 0) continue;
    rows[i] += step;
    missing -= step;
  }
  return rows;
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

Problem with_typical_rows(Problem problem, const backend::LayerShape& shape, std::int64_t tokens) {
  const std::vector<std::int64_t> rows = typical_rows(shape, tokens);
  for (std::int64_t i = 0; i < shape.group_count(); ++i) {
    problem.groups[static_cast<std::size_t>(i)].m =
        i < shape.expert_count ? rows[static_cast<std::size_t>(i)] : tokens;
  }
  return problem;
}

std::vector<Rung> ladder_of(const backend::LayerShape& shape, const Engine& engine,
                            std::int64_t few) {
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
    if (tokens > few) add(tokens);
  }
  add(most);
  return rungs;
}

}  // namespace thresher::moe
