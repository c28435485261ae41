// SPDX-License-Identifier: Apache-2.0
#include "measure/clock.hpp"

#include <algorithm>
#include <chrono>
#include <deque>

#include "measure/gpu_clock.hpp"
#include "measure/statistics.hpp"

namespace thresher::measure {
namespace {

using HostTime = std::chrono::steady_clock;

constexpr auto kRest = std::chrono::microseconds(200);
constexpr int kAskingTrials = 21;

double us_since(HostTime::time_point begin) {
  return std::chrono::duration<double, std::micro>(HostTime::now() - begin).count();
}

class HostClock : public Clock {
 public:
  explicit HostClock(const ClockOptions& options)
      : copy_count_(options.copy_count),
        single_(options.surroundings != Surroundings::kBackToBack) {}

  bool checks_every_sample() const override { return single_; }
  bool prepares() const override { return true; }
  std::size_t last_copy() const override { return (next_ - 1) % copy_count_; }
  double settling_seconds() const override { return 0; }
  std::string description() const override {
    return std::string(words_of(single_ ? Surroundings::kAlone : Surroundings::kBackToBack));
  }
  TimedApart timed_apart(std::size_t entrant) const override {
    if (!(*entrants_)[entrant].ask_us) return {};
    return {.how = "in another process, until it answers, less an empty call",
            .taken_off_us = asking_us_[entrant]};
  }
  void get_ready(const std::vector<Entrant>& entrants) override {
    entrants_ = &entrants;
    taken_us_.clear();
    asking_us_.clear();
    for (const Entrant& entrant : entrants) {
      asking_us_.push_back(entrant.ask_us ? asking_us(entrant, {kForeignCall}) : 0);
    }
  }

  // Nobody else can work meanwhile: a queued sample is taken at once.
  void queue(const std::vector<std::size_t>& order) override {
    std::vector<double>& us = taken_us_.emplace_back();
    for (const std::size_t index : order) {
      const std::size_t copy = next_copy();
      prepare(index, copy);
      if (single_) rest();
      us.push_back(call_us(index, copy));
    }
  }

  std::vector<double> collect_us() override {
    std::vector<double> us = std::move(taken_us_.front());
    taken_us_.pop_front();
    return us;
  }

  std::size_t run_untimed(std::size_t entrant) override {
    const std::size_t copy = next_copy();
    prepare(entrant, copy);
    call_us(entrant, copy);
    return copy;
  }

 private:
  double call_us(std::size_t index, std::size_t copy) const {
    const Entrant& entrant = (*entrants_)[index];
    if (entrant.ask_us) return without_asking(entrant.ask_us({copy}), asking_us_[index]);
    const HostTime::time_point begin = HostTime::now();
    entrant.enqueue(copy);
    return us_since(begin);
  }

  void prepare(std::size_t entrant, std::size_t copy) const {
    const auto& prepare = (*entrants_)[entrant].prepare;
    if (prepare) prepare(copy);
  }

  // Threads of the entrant before may still spin for their next call; let them fall asleep.
  static void rest() {
    const HostTime::time_point end = HostTime::now() + kRest;
    while (HostTime::now() < end) {
    }
  }

  // Shared by all entrants: whoever comes next must not find what another one has just read.
  std::size_t next_copy() { return next_++ % copy_count_; }

  const std::size_t copy_count_;
  const bool single_;
  const std::vector<Entrant>* entrants_ = nullptr;
  std::vector<double> asking_us_;  // by entrant
  std::size_t next_ = 0;
  std::deque<std::vector<double>> taken_us_;
};

}  // namespace

double asking_us(const Entrant& entrant, const std::vector<std::size_t>& copies) {
  std::vector<double> us;
  for (int trial = 0; trial < kAskingTrials; ++trial) us.push_back(entrant.ask_us(copies));
  return median(us);
}

double without_asking(double us, double asking_us) { return std::max(1.0, us - asking_us); }

std::unique_ptr<Clock> make_clock(const Engine& engine, const ClockOptions& options) {
  if (const gpu::Gpu* gpu = gpu::find_gpu(engine)) return make_gpu_clock(*gpu, options);
  return std::make_unique<HostClock>(options);
}

double host_us(const Engine& engine, const Entrant& entrant, std::size_t copy_count,
               std::size_t call_count) {
  constexpr int kTrials = 3;
  double best = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const HostTime::time_point begin = HostTime::now();
    for (std::size_t i = 0; i < call_count; ++i) entrant.enqueue(i % copy_count);
    const double us = us_since(begin) / static_cast<double>(call_count);
    engine.synchronize();
    best = trial == 0 ? us : std::min(best, us);
  }
  return best;
}

}  // namespace thresher::measure
