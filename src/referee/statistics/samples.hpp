// SPDX-License-Identifier: Apache-2.0
// Raw samples of a match, as they were taken. Everything a verdict says is computed from these
// (analysis.hpp), so anyone can compute it again.
#pragma once

#include <string>
#include <vector>

namespace thresher {

// Four timed calls in ABBA or BAAB order: a constant or linear drift cancels.
struct Block {
  int problem_index = 0;
  bool first_arm_a = true;
  double a_ns[2] = {0, 0};
  double b_ns[2] = {0, 0};
};

// One process round: fresh processes for every arm.
struct RoundSamples {
  std::vector<Block> match;   // a: champion, b: challenger
  std::vector<Block> same;    // a: champion, b: its copy
  std::vector<Block> slowed;  // a: champion, b: champion with a known delay inside the timed window
};

struct MatchSamples {
  std::vector<std::string> problems;
  double slowed_truth = 1;  // speedup of the slowed arm, below 1
  std::vector<RoundSamples> rounds;
};

}  // namespace thresher
