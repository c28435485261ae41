// SPDX-License-Identifier: Apache-2.0
#include "gemm/sample.hpp"

#include <algorithm>

#include "gemm/random.hpp"

namespace thresher {
namespace {

std::vector<Place> corners(const Group& group) {
  if (group.m == 0) return {};
  return {{0, 0}, {0, group.m - 1}, {group.n - 1, 0}, {group.n - 1, group.m - 1}};
}

// How many elements there are up to and including each group.
std::vector<std::int64_t> element_ends(const Problem& problem) {
  std::vector<std::int64_t> ends;
  std::int64_t end = 0;
  for (const Group& group : problem.groups) ends.push_back(end += group.m * group.n);
  return ends;
}

void sort_and_deduplicate(std::vector<Place>& places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
}

}  // namespace

std::vector<std::vector<Place>> sample_places(const Problem& problem, std::int64_t sample_count,
                                              std::uint64_t seed) {
  std::vector<std::vector<Place>> places;
  std::int64_t drawn_count = 0;
  for (const Group& group : problem.groups) {
    places.push_back(corners(group));
    drawn_count += static_cast<std::int64_t>(places.back().size());
  }

  const std::vector<std::int64_t> ends = element_ends(problem);
  Random random(seed);
  for (; drawn_count < sample_count && ends.back() > 0; ++drawn_count) {
    const auto element = static_cast<std::int64_t>(random.below(ends.back()));
    const auto g = std::upper_bound(ends.begin(), ends.end(), element) - ends.begin();
    const Group& group = problem.groups[g];
    const std::int64_t element_in_group = element - (ends[g] - group.m * group.n);
    places[g].push_back({element_in_group % group.n, element_in_group / group.n});
  }
  for (std::vector<Place>& group_places : places) sort_and_deduplicate(group_places);
  return places;
}

}  // namespace thresher
