// SPDX-License-Identifier: Apache-2.0
// How calls are timed: by the host's clock around single calls, or by a GPU's around many.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gemm/conformance.hpp"
#include "measure/surroundings.hpp"
#include "thresher/engine.hpp"
#include "thresher/problem.hpp"

namespace thresher::measure {

// Among the copies that another process is asked to compute with: a small kernel of somebody else.
inline constexpr std::size_t kForeignCall = ~std::size_t{0};

// Whoever is timed: a variant, or a peer. Its calls take turns at copies of the weights.
struct Entrant {
  std::string name;
  Problem problem;  // as this one computes it: a peer may write another output type
  // Queues one call that reads copy `copy` of the weights, on the clock's stream.
  std::function<void(std::size_t copy)> enqueue;
  // Instead of that, of one in another process, whose calls nobody else can queue: asks it for a
  // call on each of these copies, in this order, and says how many us passed until its answer.
  std::function<double(const std::vector<std::size_t>& copies)> ask_us;
  // How its outputs are judged.
  Rigour rigour = Rigour::kTypical;
  // Nothing, or what is done for that call before the time begins, by clocks that prepare.
  std::function<void(std::size_t copy)> prepare;
  // Overwrites the outputs of that copy, and looks at them.
  std::function<void(std::size_t copy, std::uint64_t seed)> poison;
  std::function<std::vector<OutputView>(std::size_t copy)> fetch;
  std::function<std::string()> find_trespass;  // in what was fetched last
};

struct ClockOptions {
  Surroundings surroundings = Surroundings::kForeign;
  bool graph = true;  // samples are replays of a graph of many calls, or launches of as many
  std::size_t copy_count = 1;
};

// How somebody is timed whom the clock cannot time as all others.
struct TimedApart {
  std::string how;          // empty: as all others
  double taken_off_us = 0;  // of every sample: what asking costs
};

class Clock {
 public:
  virtual ~Clock() = default;

  // What the calls of an entrant are queued on.
  virtual void* stream() const { return nullptr; }
  // Whether every timed call can be looked at: copying results back from a device takes far longer
  // than computing them, and lets it cool down.
  virtual bool checks_every_sample() const = 0;
  // Which copy the last call had, where every timed call can be looked at.
  virtual std::size_t last_copy() const { return 0; }
  // Whether it lets an entrant prepare each call.
  virtual bool prepares() const { return false; }
  // How long the machine has to work without a pause before it is timed.
  virtual double settling_seconds() const = 0;
  // "single calls", "among foreign kernels, sustained": for tables and records.
  virtual std::string description() const = 0;
  // Of an entrant that is timed otherwise than the others, once it is ready.
  virtual TimedApart timed_apart(std::size_t entrant) const = 0;

  // The entrants, before any of them is timed. They must outlive the clock's last use. Samples of
  // others that nobody has collected are forgotten.
  virtual void get_ready(const std::vector<Entrant>& entrants) = 0;
  // Queues a timed sample of each of these, in this order; and the times of the samples that were
  // queued first and not collected yet. Between the two a device works, so whoever queues a round
  // before he collects the one before leaves it no pause.
  virtual void queue(const std::vector<std::size_t>& order) = 0;
  virtual std::vector<double> collect_us() = 0;
  // Queues one sample's calls, untimed, waits for them, and says which copy the last one had.
  virtual std::size_t run_untimed(std::size_t entrant) = 0;
};

// What asking costs, the median of a few times: an entrant in another process is asked for these
// copies, which are as good as none.
double asking_us(const Entrant& entrant, const std::vector<std::size_t>& copies);
// What is left of a sample without that: a microsecond at least, for what is shorter drowns in it.
double without_asking(double us, double asking_us);

std::unique_ptr<Clock> make_clock(const Engine& engine, const ClockOptions& options);

// What the host spends on queueing one of so many calls, the best of a few trials.
double host_us(const Engine& engine, const Entrant& entrant, std::size_t copy_count,
               std::size_t call_count = 200);

}  // namespace thresher::measure
