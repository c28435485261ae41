// SPDX-License-Identifier: Apache-2.0
#include "measure/clock.hpp"

#include <algorithm>
#include <chrono>
#include <deque>

#include "measure/gpu_clock.hpp"

namespace thresher::measure {
namespace {

using HostTime = std::chrono::steady_clock;

constexpr auto kRest = std::chrono::microseconds(200);

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
  void get_ready(const std::vector<Entrant>& entrants) override { entrants_ = &entrants; }

  // Nobody else can work meanwhile: a queued sample is taken at once.
  void queue(const std::vector<std::size_t>& order) override {
    std::vector<double>& us = taken_us_.emplace_back();
    for (const std::size_t index : order) {
      const std::size_t copy = next_copy();
      prepare(index, copy);
      if (single_) rest();
      const HostTime::time_point begin = HostTime::now();
      (*entrants_)[index].enqueue(copy);
      us.push_back(us_since(begin));
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
    (*entrants_)[entrant].enqueue(copy);
    return copy;
  }

 private:
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
  std::size_t next_ = 0;
  std::deque<std::vector<double>> taken_us_;
};

}  // namespace

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
