// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_match.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>

#include "gemm/random.hpp"
#include "gpu/runtime/graph.hpp"

namespace thresher::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A sample holds every copy of the weights equally often, and enough calls for the tick of the
// device's clock not to matter.
constexpr std::size_t kCallsPerSampleMin = 16;
constexpr int kGpuRoundsMin = 7;
constexpr int kGpuRoundsMax = 2000;
constexpr int kChecksMax = 8;
constexpr double kWarmUpShare = 0.2;
constexpr std::int64_t kGpuCheckedElements = 256;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class GpuMatch {
 public:
  GpuMatch(const std::vector<GpuContestant>& contestants, const Inputs& inputs,
           const GpuMatchOptions& options)
      : contestants_(contestants),
        inputs_(inputs),
        options_(options),
        call_count_((kCallsPerSampleMin + options.copy_count - 1) / options.copy_count *
                    options.copy_count),
        random_(options.seed),
        begin_event_(options.device),
        end_event_(options.device),
        graphs_(contestants.size()),
        samples_us_(contestants.size()),
        timings_(contestants.size()) {}

  std::vector<Timing> play() {
    for (std::size_t i = 0; i < contestants_.size(); ++i) get_ready(i);
    const Clock::time_point begin = Clock::now();
    while (seconds_since(begin) < kWarmUpShare * options_.seconds) {
      for (std::size_t i = 0; i < contestants_.size(); ++i) sample_us(i);
    }
    for (int round = 0; round < kGpuRoundsMin || seconds_since(begin) < options_.seconds; ++round) {
      if (round == kGpuRoundsMax) break;
      play_round(round);
    }
    for (std::size_t i = 0; i < contestants_.size(); ++i) {
      check(i);
      timings_[i].name = contestants_[i].name;
      timings_[i].us = referee::median_interval(samples_us_[i]);
      timings_[i].sample_count = static_cast<std::int64_t>(samples_us_[i].size());
    }
    return std::move(timings_);
  }

 private:
  void enqueue_sample(std::size_t index, bool captured) {
    for (std::size_t i = 0; i < call_count_; ++i) {
      contestants_[index].enqueue(i % options_.copy_count, captured);
    }
  }

  void get_ready(std::size_t index) {
    // Once outside of any capture: whatever a contestant does on its first call is done then.
    enqueue_sample(index, false);
    options_.stream.synchronize();
    if (options_.graph) {
      graphs_[index] = gpu::Graph::capture(options_.stream, [&] { enqueue_sample(index, true); });
    }
    check(index);
  }

  void launch(std::size_t index) {
    if (graphs_[index]) return graphs_[index]->launch(options_.stream);
    enqueue_sample(index, false);
  }

  // Microseconds per call.
  double sample_us(std::size_t index) {
    begin_event_.record(options_.stream);
    launch(index);
    end_event_.record(options_.stream);
    end_event_.synchronize();
    return gpu::microseconds_between(begin_event_, end_event_) / static_cast<double>(call_count_);
  }

  void play_round(int round) {
    std::vector<std::size_t> order(contestants_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    for (const std::size_t index : order) samples_us_[index].push_back(sample_us(index));
    // Copying results back takes far longer than computing them: not after every round.
    if (round < kChecksMax) check(order.front());
  }

  // A sample like those that are timed, and then one of its calls looked at.
  void check(std::size_t index) {
    const GpuContestant& contestant = contestants_[index];
    Timing& timing = timings_[index];
    const std::size_t copy = random_.below(options_.copy_count);
    contestant.poison(copy);
    launch(index);
    options_.stream.synchronize();
    const std::vector<OutputView> outputs = contestant.fetch(copy);
    const Conformance conformance =
        check_outputs(contestant.problem, inputs_, outputs,
                      {.sample_count = kGpuCheckedElements, .seed = random_.next()});
    timing.max_error_over_bound =
        std::max(timing.max_error_over_bound, conformance.max_error_over_bound);
    std::string failure = conformance.ok ? contestant.find_trespass() : conformance.first_failure;
    if (timing.first_failure.empty()) timing.first_failure = std::move(failure);
  }

  const std::vector<GpuContestant>& contestants_;
  const Inputs& inputs_;
  const GpuMatchOptions& options_;
  const std::size_t call_count_;
  Random random_;
  const gpu::Event begin_event_;
  const gpu::Event end_event_;
  std::vector<std::optional<gpu::Graph>> graphs_;
  std::vector<std::vector<double>> samples_us_;
  std::vector<Timing> timings_;
};

}  // namespace

std::vector<Timing> play_gpu_match(const std::vector<GpuContestant>& contestants,
                                   const Inputs& inputs, const GpuMatchOptions& options) {
  return GpuMatch(contestants, inputs, options).play();
}

}  // namespace thresher::cli
