// SPDX-License-Identifier: Apache-2.0
#include "referee/same_plan.hpp"

#include <algorithm>
#include <string_view>

namespace thresher::referee {
namespace {

constexpr std::string_view kDualKnob = "dual=";

// The plan's variant without the knobs that say nothing about such a problem.
std::string plan_text(const Engine& engine, const Problem& problem, const std::string& variant) {
  const std::string planned = engine.plan(problem, variant).variant();
  if (problem.op == Op::kDual) return planned;
  std::string text;
  std::size_t begin = 0;
  while (begin < planned.size()) {
    const std::size_t end = std::min(planned.find_first_of(":,", begin), planned.size());
    const std::string_view piece = std::string_view(planned).substr(begin, end - begin);
    if (!piece.starts_with(kDualKnob)) text.append(piece).append(",");
    begin = end + 1;
  }
  return text;
}

}  // namespace

std::vector<std::string> problems_of_same_plan(const Contestant& champion,
                                               const Contestant& challenger, const Suite& suite,
                                               const Engine& engine) {
  std::vector<std::string> names;
  const bool ours =
      champion.kind == ContestantKind::kVariant && challenger.kind == ContestantKind::kVariant;
  if (!ours || champion.variant == challenger.variant) return names;
  for (const Problem& problem : suite.problems) {
    if (plan_text(engine, problem, champion.variant) ==
        plan_text(engine, problem, challenger.variant)) {
      names.push_back(problem.name);
    }
  }
  // Then it is a copy after all.
  if (names.size() == suite.problems.size()) names.clear();
  return names;
}

}  // namespace thresher::referee
