// SPDX-License-Identifier: Apache-2.0
// Cold caches: reads so much else that nothing of a contestant's data is left in them.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace thresher::referee {

// Every last cache that one of these cores has (empty: that this process may use) has twice its
// size read into it, by all of its cores that this process may use; when it returns they are idle
// again.
void evict_caches(const std::vector<int>& cores = {});

// What one core reads of so many bytes.
struct WalkShare {
  int core = 0;
  std::size_t begin = 0;
  std::size_t bytes = 0;

  bool operator==(const WalkShare&) const = default;
};

// All bytes for every last cache of one of `cores` (empty: for every one), in equal parts for the
// cores that have it. `caches`: usable cores by last cache, whatever that is called.
std::vector<WalkShare> walk_shares(const std::map<std::string, std::vector<int>>& caches,
                                   const std::vector<int>& cores, std::size_t bytes);

// Takes these bytes out of all caches of all cores, whoever has them mapped: what several arms
// share, between their calls. Where there is no instruction for it, everything else goes as well.
void flush_lines(std::span<const std::byte> bytes);

}  // namespace thresher::referee
