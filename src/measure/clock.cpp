// SPDX-License-Identifier: Apache-2.0
#include "measure/clock.hpp"

#include <array>
#include <chrono>
#include <deque>

#include "measure/gpu_clock.hpp"
#include "thresher/error.hpp"

namespace thresher::measure {
namespace {

using HostTime = std::chrono::steady_clock;

constexpr auto kRest = std::chrono::microseconds(200);
// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kWords = {"foreign", "back_to_back", "alone"};

class HostClock : public Clock {
 public:
  explicit HostClock(const ClockOptions& options) : copy_count_(options.copy_count) {}

  bool checks_every_sample() const override { return true; }
  double settling_seconds() const override { return 0; }
  std::string description() const override { return "single calls"; }
  void get_ready(const std::vector<Entrant>& entrants) override { entrants_ = &entrants; }

  // Nobody else can work meanwhile: a queued sample is taken at once.
  void queue(const std::vector<std::size_t>& order) override {
    std::vector<double>& us = taken_us_.emplace_back();
    for (const std::size_t index : order) {
      rest();
      const HostTime::time_point begin = HostTime::now();
      (*entrants_)[index].enqueue(next_copy());
      us.push_back(std::chrono::duration<double, std::micro>(HostTime::now() - begin).count());
    }
  }

  std::vector<double> collect_us() override {
    std::vector<double> us = std::move(taken_us_.front());
    taken_us_.pop_front();
    return us;
  }

  std::size_t run_untimed(std::size_t entrant) override {
    const std::size_t copy = next_copy();
    (*entrants_)[entrant].enqueue(copy);
    return copy;
  }

 private:
  // Threads of the entrant before may still spin for their next call; let them fall asleep.
  static void rest() {
    const HostTime::time_point end = HostTime::now() + kRest;
    while (HostTime::now() < end) {
    }
  }

  // Shared by all entrants: whoever comes next must not find what another one has just read.
  std::size_t next_copy() { return next_++ % copy_count_; }

  const std::size_t copy_count_;
  const std::vector<Entrant>* entrants_ = nullptr;
  std::size_t next_ = 0;
  std::deque<std::vector<double>> taken_us_;
};

}  // namespace

std::string_view to_string(Surroundings surroundings) {
  return kWords[static_cast<std::size_t>(surroundings)];
}

Surroundings surroundings_from_string(std::string_view text) {
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (text == kWords[i]) return static_cast<Surroundings>(i);
  }
  throw Error("surroundings are foreign, back_to_back or alone");
}

std::unique_ptr<Clock> make_clock(const Engine& engine, const ClockOptions& options) {
  if (const gpu::Gpu* gpu = gpu::find_gpu(engine)) return make_gpu_clock(*gpu, options);
  return std::make_unique<HostClock>(options);
}

}  // namespace thresher::measure
