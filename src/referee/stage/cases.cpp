// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/cases.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace thresher::referee {
namespace {

constexpr InputFamily kFamilies[] = {InputFamily::kExact, InputFamily::kNatural,
                                     InputFamily::kFull};

// Hidden problems stay small, so that the oracle can look at all of their elements.
constexpr std::int64_t kHiddenGroupsMax = 4;
constexpr std::int64_t kHiddenRowsMax = 20;
constexpr std::int64_t kHiddenColumnsMax = 200;
constexpr std::int64_t kHiddenBlocksMax = 24;  // of 16 elements of k
constexpr std::int64_t kRangeMin = 8;          // a smaller range could be guessed
constexpr std::int64_t kLargeWeightCount = std::int64_t{1} << 25;
constexpr int kTryCount = 100;
constexpr std::int64_t kCoarseColumns = 128;
constexpr std::int64_t kCoarseElements = 256;

// 1 to `limit`, but not far beyond `like`: a contestant for small problems need not be fast on
// others.
std::int64_t draw(Random& random, std::int64_t like, std::int64_t limit) {
  const std::int64_t most = std::min(std::max(2 * like, kRangeMin), limit);
  return 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
}

bool is_public(const Suite& suite, const Problem& problem) {
  return std::any_of(suite.problems.begin(), suite.problems.end(),
                     [&](const Problem& known) { return known.groups == problem.groups; });
}

Problem draw_hidden(const Problem& known, Random& random) {
  Problem hidden = known;
  hidden.groups.clear();
  const auto known_count = static_cast<std::int64_t>(known.groups.size());
  const std::int64_t group_count =
      known_count == 1 ? 1 : 1 + draw(random, known_count, kHiddenGroupsMax - 1);
  const Group& like = known.groups[random.below(known.groups.size())];
  const std::int64_t n = draw(random, like.n, kHiddenColumnsMax);
  const std::int64_t k = 16 * draw(random, like.k / 16, kHiddenBlocksMax);
  for (std::int64_t g = 0; g < group_count; ++g) {
    const std::int64_t m = draw(random, std::max<std::int64_t>(like.m, 1), kHiddenRowsMax);
    hidden.groups.push_back({.m = m, .n = n, .k = k});
  }
  if (group_count > 1) {
    hidden.groups[random.below(static_cast<std::uint64_t>(group_count))].m = 0;
  }
  return hidden;
}

Problem hidden_problem(const Suite& suite, const Problem& known, Random& random) {
  Problem hidden = draw_hidden(known, random);
  for (int i = 0; i < kTryCount && is_public(suite, hidden); ++i) {
    hidden = draw_hidden(known, random);
  }
  const Group& group = hidden.groups.front();
  hidden.name = fmt::format("hidden {} {}x{}x{}", to_string(hidden.op), group.m, group.n, group.k);
  return hidden;
}

OutputShape draw_shape(Random& random) {
  constexpr std::int64_t kGaps[] = {0, 1, 3, 16};
  constexpr std::int64_t kMisalignments[] = {0, 1, 5};
  return {.row_gap_elements = kGaps[random.below(std::size(kGaps))],
          .misalignment_elements = kMisalignments[random.below(std::size(kMisalignments))]};
}

// Drawing and packing large weights takes long, and hidden problems have all families anyway.
std::vector<InputFamily> families_for(const Problem& problem, Random& random) {
  std::int64_t weight_count = 0;
  for (const Group& group : problem.groups) weight_count += group.n * group.k;
  if (weight_count > kLargeWeightCount) return {kFamilies[random.below(std::size(kFamilies))]};
  return {std::begin(kFamilies), std::end(kFamilies)};
}

// Suites often repeat a kind with other extents; hidden problems need to cover kinds, not names.
bool same_kind(const Problem& a, const Problem& b) {
  return a.op == b.op && a.activations == b.activations && a.output == b.output;
}

}  // namespace

Case smoke_case(const Suite& suite) {
  const auto least = std::min_element(
      suite.problems.begin(), suite.problems.end(),
      [](const Problem& a, const Problem& b) { return flop_count(a) < flop_count(b); });
  return {.problem = *least, .family = InputFamily::kNatural};
}

std::vector<Case> correctness_cases(const Suite& suite, Random& random) {
  std::vector<Case> cases;
  std::vector<Problem> kinds;
  for (const Problem& problem : suite.problems) {
    for (const InputFamily family : families_for(problem, random)) {
      cases.push_back({.problem = problem, .family = family, .shape = draw_shape(random)});
    }
    const bool known = std::any_of(kinds.begin(), kinds.end(),
                                   [&](const Problem& kind) { return same_kind(kind, problem); });
    if (!known) kinds.push_back(problem);
  }
  for (const Problem& kind : kinds) {
    for (const InputFamily family : kFamilies) {
      cases.push_back({.problem = hidden_problem(suite, kind, random),
                       .family = family,
                       .shape = draw_shape(random),
                       .hidden = true});
    }
  }
  return cases;
}

Problem made_coarse(Problem problem) {
  for (Group& group : problem.groups) {
    group.n = (group.n + kCoarseColumns - 1) / kCoarseColumns * kCoarseColumns;
    group.k = (group.k + kCoarseElements - 1) / kCoarseElements * kCoarseElements;
  }
  return problem;
}

}  // namespace thresher::referee
