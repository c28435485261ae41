// SPDX-License-Identifier: Apache-2.0
// The hunt for a variant that beats the engine's choice, without the machine: the search proposes,
// candidates race in rounds and slow ones leave, and at the end a referee is asked. Where they race
// and who the referee is, is the caller's: a device, or a simulated world whose truth is known.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "referee/statistics/verdict.hpp"
#include "tune/variant_space.hpp"
#include "tune/workshop.hpp"

namespace thresher::tune {

// One race. Entrants are known by the order of entering.
class Track {
 public:
  virtual ~Track() = default;
  // False where the variant turns out not to run here.
  virtual bool enter(const std::string& variant) = 0;
  // One call of each of these, in this order: microseconds.
  virtual std::vector<double> play_round(std::span<const std::size_t> order) = 0;
};

// A match that ended unclear and that more heats may decide.
struct OpenMatch {
  MatchSamples samples;       // what was played
  int more_heats_needed = 0;  // 0: nobody knows
};

struct Ruling {
  bool accepted = false;
  std::string reason;
  Estimate speedup;
  std::optional<OpenMatch> open = {};
};

// Where candidates race, and who judges the winner.
struct Racecourse {
  std::function<std::unique_ptr<Track>()> open_track;
  // Empty: variants are ready at once.
  std::function<std::unique_ptr<Workshop>()> workshop = {};
  // The challenger against the engine's choice, within so many seconds.
  std::function<Ruling(const std::string& challenger, double seconds)> judge;
  std::function<double()> seconds;  // since the beginning
};

// A variant that has raced.
struct Trial {
  std::string variant;
  double speedup = 0;  // over the engine's choice; 0: it does not run
};

// The best found so far, over time; later races may take back what an earlier one showed.
struct TracePoint {
  double seconds = 0;
  std::size_t tried_count = 0;
  double speedup = 1;  // over the engine's choice, as raced
};

struct HuntState {
  std::string choice;   // the engine's
  std::string variant;  // the best found, or the choice
  double raced_speedup = 1;
  std::size_t space_size = 0;
  std::size_t tried_count = 0;
  double choice_us = 0;
  bool at_the_referee = false;
  std::vector<Trial> trials;
  std::vector<TracePoint> trace;
};

struct HuntOptions {
  double seconds = 60;  // for all of it, the referee's part and earlier stretches too
  std::uint64_t seed = 1;
  std::size_t racer_count = 6;  // in a race, beside the engine's choice and the leader
  bool at_random = false;       // nothing but luck proposes what to try, for a comparison
  // What an earlier stretch of this hunt has tried, what it thought over time, and how long it
  // took.
  std::vector<Trial> earlier;
  std::vector<TracePoint> earlier_trace;
  double earlier_seconds = 0;
  // After each race, and before the match.
  std::function<void(const HuntState&)> watch = [](const HuntState&) {};
};

struct Catch {
  HuntState state;
  Ruling ruling;  // not accepted: the choice stays, and the reason says why
};

// `space` has points. Races for 60 % of the time, once at least: a race that would not end in time
// is not begun, and one that takes longer than expected is cut short.
Catch hunt(const VariantSpace& space, const std::string& choice, const Racecourse& course,
           const HuntOptions& options);

}  // namespace thresher::tune
