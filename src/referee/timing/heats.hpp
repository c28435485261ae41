// SPDX-License-Identifier: Apache-2.0
// The heats of the timing: in each of them fresh processes for the champion, its copy and the
// challenger, ABBA blocks in random order, every timed call checked.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "referee/statistics/verdict.hpp"
#include "referee/timing/sampler.hpp"

namespace thresher::referee {

// The slowed arm of the controls takes this much longer than the champion.
inline constexpr double kSlowedShare = 0.1;

// Where the time of a heat went.
struct HeatSeconds {
  double inputs = 0;   // putting weights and processes in place
  double start = 0;    // until all processes have answered
  double prepare = 0;  // packing, of all arms
  double warm_up = 0;
  double timing = 0;  // with all checks of timed calls
  double end = 0;     // ending the processes, looking at the weights again

  double all() const { return inputs + start + prepare + warm_up + timing + end; }
};

struct Heat {
  HeatSamples samples;
  std::optional<Fault> fault;  // the challenger's; the samples are worthless then
  bool out_of_time = false;    // so are they then
  double champion_prepare_seconds = 0;
  double challenger_prepare_seconds = 0;
  HeatSeconds seconds;
};

// Who meets the champion in a block.
enum class Pairing : std::uint8_t {
  kMatch,   // the challenger
  kSame,    // its own copy
  kSlowed,  // itself, with a known delay
};

struct PlannedBlock {
  Pairing pairing = Pairing::kMatch;
  int problem_index = 0;
  bool first_arm_a = true;
};

// The blocks of one heat: of every problem `match_blocks` of the match and one of each control.
// Every order is as likely as any other, so that neither a drift nor a contestant that counts its
// calls can tell one block from another; who begins is tossed for each.
std::vector<PlannedBlock> plan_blocks(int problem_count, int match_blocks, Random& random);

// In which order the arms pack, every one as likely: whoever packs first may find the better
// memory.
std::array<Role, std::size(kRoles)> plan_packing(Random& random);

class Heats {
 public:
  // The contest must outlive them.
  Heats(const Contest& contest, std::uint64_t seed);

  // Throws Error when the champion fails: there is nothing to compare with.
  Heat play(std::uint64_t seed, Clock::time_point deadline);

 private:
  const Contest& contest_;
  const Samplers samplers_;
};

}  // namespace thresher::referee
