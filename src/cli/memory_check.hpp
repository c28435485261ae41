// SPDX-License-Identifier: Apache-2.0
// "Not enough memory" before anything is allocated, with the problem that it is about. What is
// counted is what a command surely holds at once (measure/memory_need.hpp).
#pragma once

#include <cstddef>
#include <vector>

#include "cli/selection.hpp"

namespace thresher::cli {

// Each problem in turn, its weights packed `packed_count` times, its outputs `output_count` times.
void check_problems_fit(const std::vector<SelectedProblem>& problems, std::size_t packed_count,
                        std::size_t output_count);
// Each in turn, with copies of the weights that exceed the caches, as many of them in the host's
// memory as the backend has there.
void check_cold_problems_fit(const std::vector<SelectedProblem>& problems, const Backend& backend);
// All problems of a suite at once: a referee's own copy, the one it shares, and two arms that pack
// theirs.
void check_match_fits(const Suite& suite);

}  // namespace thresher::cli
