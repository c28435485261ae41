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

// What the first heat of a match found before its first timed call. It asks for more blocks where
// they are needed; champion and copy are asked, so that no ratio of the match has a say in it.
struct Pilot {
  double spread = 0;         // standard deviation of ln(time) between calls of one process
  double block_seconds = 0;  // one block of every problem
  int repeats = 1;           // so many times the blocks asked for
};

struct PilotQuestion {
  double spread = 0;
  double block_seconds = 0;     // one block of every problem
  double overhead_seconds = 0;  // of a heat, before the first timed call
  double heat_seconds_max = 0;
  int blocks_per_problem = 3;  // the fewest
  int repeats_max = 1;
};

// As many as make timing as long as the rest of a heat on a quiet machine, and up to four times as
// long on one where calls spread: there more calls in a process tell more than more processes.
// Heats no longer than heat_seconds_max, if that is possible at all.
int repeats_for(const PilotQuestion& question);

// Blocks of each control and problem in a heat with so many times the blocks of the match. Controls
// are means over all problems: they need fewer.
int control_blocks_for(int repeats);

struct Heat {
  HeatSamples samples;
  std::optional<Fault> fault;  // the challenger's; the samples are worthless then
  bool out_of_time = false;    // so are they then
  double champion_prepare_seconds = 0;
  double challenger_prepare_seconds = 0;
  HeatSeconds seconds;
  std::optional<Pilot> pilot;  // of the first heat
};

// Who meets the champion in a block.
enum class Pairing : std::uint8_t {
  kMatch,   // the challenger
  kSame,    // its own copy
  kSlowed,  // that copy, with a known delay
};

struct PlannedBlock {
  Pairing pairing = Pairing::kMatch;
  int problem_index = 0;
  bool first_arm_a = true;
};

// One block of every problem, all of one pairing. Their calls are played as two rows: the first two
// of each block, problem after problem, then the other two. So the calls of a block lie close
// together, and caches are evicted once for a row.
using Sweep = std::vector<PlannedBlock>;

// The sweeps of one heat: `match_blocks` of the match and `control_blocks` of each control. Every
// order is as likely as any other, of the sweeps and of the problems in each, so that neither a
// drift nor a contestant that counts its calls can tell one block from another; who begins is
// tossed for each.
std::vector<Sweep> plan_sweeps(int problem_count, int match_blocks, int control_blocks,
                               Random& random);

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
  int repeats_ = 0;  // from the first heat's pilot
};

}  // namespace thresher::referee
