// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "rounding.hpp"

namespace thresher::referee {
namespace {

constexpr InputFamily kFamilies[] = {InputFamily::kExact, InputFamily::kNatural,
                                     InputFamily::kFull};

// Most hidden problems stay small.
constexpr std::int64_t kHiddenGroupsMax = 4;
constexpr std::int64_t kHiddenRowsMax = 20;
constexpr std::int64_t kHiddenColumnsMax = 200;
constexpr std::int64_t kHiddenBlocksMax = 24;  // of 16 elements of k
constexpr std::int64_t kRangeMin = 8;          // a smaller range could be guessed
constexpr std::int64_t kLargeWeightCount = std::int64_t{1} << 25;
constexpr std::int64_t kNearShare = 8;  // near an extent: at most an eighth below it
constexpr std::int64_t kCrowdRowsMax = 3;
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

std::int64_t draw_near(Random& random, std::int64_t extent) {
  const std::int64_t below = std::max<std::int64_t>(1, extent / kNearShare);
  return extent - static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(below)));
}

// As large as a group of the suite, nearly. As many groups as that has weights for without taking
// much longer than small ones, and rows as ragged.
Problem draw_far(const Problem& known, const Group& like, Random& random) {
  Problem hidden = known;
  hidden.groups.clear();
  const std::int64_t n = draw_near(random, like.n);
  const std::int64_t k = 16 * draw_near(random, like.k / 16);
  const auto known_count = static_cast<std::int64_t>(known.groups.size());
  const std::int64_t group_count = std::clamp<std::int64_t>(
      kLargeWeightCount / (n * k), 1, std::min(known_count, kHiddenGroupsMax));
  for (std::int64_t g = 0; g < group_count; ++g) {
    const std::int64_t m = g == 0 ? draw_near(random, like.m) : draw(random, like.m, like.m);
    hidden.groups.push_back({.m = m, .n = n, .k = k});
  }
  return hidden;
}

// Nearly as many groups as the suite has, each of them small, and some without rows.
Problem draw_crowd(const Problem& known, Random& random) {
  Problem hidden = known;
  const std::int64_t n = draw(random, known.groups.front().n, kHiddenColumnsMax / 2);
  const std::int64_t k = 16 * draw(random, known.groups.front().k / 16, kHiddenBlocksMax / 2);
  hidden.groups.resize(
      static_cast<std::size_t>(draw_near(random, static_cast<std::int64_t>(known.groups.size()))));
  for (Group& group : hidden.groups) {
    group = {.m = static_cast<std::int64_t>(random.below(kCrowdRowsMax + 1)), .n = n, .k = k};
  }
  return hidden;
}

template <typename Draw>
Problem hidden_problem(const Suite& suite, Random& random, Draw draw_problem) {
  Problem hidden = draw_problem(random);
  for (int i = 0; i < kTryCount && is_public(suite, hidden); ++i) hidden = draw_problem(random);
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

// A group of the suite, and whose.
struct KnownGroup {
  const Problem* problem = nullptr;
  Group group;
};

// Of one kind, the groups that go furthest in something.
std::vector<KnownGroup> furthest_groups(const Suite& suite, const Problem& kind) {
  // Of groups that go as far, the one with most work.
  using Extent = std::pair<double, double>;
  const auto work = [](const Group& g) { return double(g.m) * double(g.n * g.k); };
  const std::function<Extent(const Group&)> extents[] = {
      [&](const Group& g) { return Extent(double(g.n), work(g)); },
      [&](const Group& g) { return Extent(double(g.k), work(g)); },
      [&](const Group& g) { return Extent(double(g.m), work(g)); },
      [&](const Group& g) { return Extent(work(g), 0); }};
  std::vector<KnownGroup> furthest;
  for (const auto& extent : extents) {
    KnownGroup best;
    for (const Problem& problem : suite.problems) {
      if (!same_kind(problem, kind)) continue;
      for (const Group& group : problem.groups) {
        if (group.m == 0) continue;
        if (best.problem == nullptr || extent(group) > extent(best.group)) best = {&problem, group};
      }
    }
    const bool known = std::any_of(furthest.begin(), furthest.end(), [&](const KnownGroup& other) {
      return other.group.n == best.group.n && other.group.k == best.group.k &&
             other.group.m >= best.group.m;
    });
    if (best.problem != nullptr && !known) furthest.push_back(best);
  }
  return furthest;
}

const Problem& most_groups(const Suite& suite, const Problem& kind) {
  const Problem* most = &kind;
  for (const Problem& problem : suite.problems) {
    if (same_kind(problem, kind) && problem.groups.size() > most->groups.size()) most = &problem;
  }
  return *most;
}

std::vector<Case> hidden_cases(const Suite& suite, const Problem& kind, Random& random) {
  std::vector<Case> cases;
  const auto add = [&](InputFamily family, auto draw_problem) {
    Case one{.problem = hidden_problem(suite, random, draw_problem),
             .family = family,
             .shape = draw_shape(random),
             .hidden = true};
    // Near extents of one there is nothing else.
    if (!is_public(suite, one.problem)) cases.push_back(std::move(one));
  };
  const auto any_family = [&] { return kFamilies[random.below(std::size(kFamilies))]; };
  for (const InputFamily family : kFamilies) {
    add(family, [&](Random& stream) { return draw_hidden(kind, stream); });
  }
  for (const KnownGroup& far : furthest_groups(suite, kind)) {
    add(any_family(), [&](Random& stream) { return draw_far(*far.problem, far.group, stream); });
  }
  const Problem& crowd = most_groups(suite, kind);
  if (static_cast<std::int64_t>(crowd.groups.size()) > kHiddenGroupsMax) {
    add(any_family(), [&](Random& stream) { return draw_crowd(crowd, stream); });
  }
  return cases;
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
    for (Case& one : hidden_cases(suite, kind, random)) cases.push_back(std::move(one));
  }
  return cases;
}

Problem made_coarse(Problem problem) {
  for (Group& group : problem.groups) {
    group.n = round_up(group.n, kCoarseColumns);
    group.k = round_up(group.k, kCoarseElements);
  }
  return problem;
}

}  // namespace thresher::referee
