// SPDX-License-Identifier: Apache-2.0
// The heats of the timing: in each of them fresh processes for the champion, its copy and the
// challenger, blocks in random order, every timed call checked.
//
// All three play in every row, once on each problem. An arm that played less often than another
// would look slower: no eviction empties a cache of hundreds of megabytes quite, and who was here
// one row ago finds more in it than who was here three rows ago (4 to 8 % on such a machine).
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
  double heat_seconds = 0;      // as long as this, the most heats of a match fill its time
  double heat_seconds_max = 0;
  int blocks_per_problem = 4;  // the fewest
  int repeats_max = 1;
};

// As many as make timing as long as the rest of a heat on a quiet machine, and up to four times as
// long on one where calls spread: there more calls in a process tell more than more processes, and
// no match may have played its last heat with time left. Heats no longer than heat_seconds_max, if
// that is possible at all.
int repeats_for(const PilotQuestion& question);

struct Heat {
  HeatSamples samples;
  std::optional<Fault> fault;  // the challenger's; the samples are worthless then
  bool out_of_time = false;    // so are they then
  double champion_prepare_seconds = 0;
  double challenger_prepare_seconds = 0;
  HeatSeconds seconds;
  std::optional<Pilot> pilot;  // of the first heat
};

// Six calls: each arm once, then once more in the reverse order.
struct PlannedBlock {
  int problem_index = 0;
  std::array<Role, std::size(kRoles)> order = std::to_array(kRoles);  // of the first three
};

// One block of every problem. Their calls are played as two rows: the first three of each block,
// problem after problem, then the other three. So the calls of a block lie close together, and
// caches are evicted once for a row.
struct Sweep {
  bool copy_is_slowed = false;  // or plays as it is: the two controls take turns
  std::vector<PlannedBlock> blocks;
};

// The sweeps of one heat. Every order is as likely as any other, of the controls and of the
// problems in each sweep, so that neither a drift nor a contestant that counts its calls can tell
// one block from another. Who begins is tossed; in three sweeps each arm is once in the middle of a
// problem's calls, where nobody has just been before or after something else.
std::vector<Sweep> plan_sweeps(int problem_count, int sweep_count, Random& random);

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
