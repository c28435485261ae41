// SPDX-License-Identifier: Apache-2.0
// Ballots from people and agents: a TOML file per shark.
//
//   shark = "Ada"
//   [[ballot]]
//   pitch = "pipeline_stages"
//   vote = true                    # at most one: the pick of this shark
//   p_works = 0.3                  # that it builds, is right and is accepted
//   speedup = 1.05                 # the median, then the 10 % and the 90 % quantile
//   speedup_low = 0.9
//   speedup_high = 1.2
//   reason = "decoding hides behind the multiplications already"
//   scores = { speedup = 3, evidence = 4, feasibility = 9, risk = 6 }
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "tank/panel/ballot.hpp"

namespace thresher {

// Scores are asked for on the dimensions of `rubric`. Throws Error with every fault on a line of
// its own: "file:line:column: what is wrong".
std::vector<Ballot> parse_votes(std::string_view toml, std::string_view source_name,
                                const Rubric& rubric);
std::vector<Ballot> load_votes(const std::filesystem::path& path, const Rubric& rubric);

}  // namespace thresher
