// SPDX-License-Identifier: Apache-2.0
#include "measure/gpu_clock.hpp"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <optional>
#include <thread>

#include "gpu/runtime/graph.hpp"
#include "gpu/runtime/memory.hpp"
#include "rounding.hpp"

namespace thresher::measure {
namespace {

// A sample holds every copy of the weights equally often, and enough calls for the tick of the
// device's clock not to matter.
constexpr std::size_t kCallsPerSampleMin = 16;
// Clocks of a GPU that was idle are higher than those it keeps under load.
constexpr double kSettlingSeconds = 1;
constexpr auto kIdle = std::chrono::microseconds(500);
// While another process is asked, its answer awaited and the process stopped again, the device does
// nothing. So its samples are longer than ours: it shall work for nearly all of the time.
constexpr std::size_t kSamplesPerAsking = 4;

// Somebody else's kernel, as an element-wise step of a model would be: it reads and writes a piece
// of memory, starts when all before it has ended, and lets nothing behind it start early.
class ForeignKernel {
 public:
  explicit ForeignKernel(const gpu::Gpu& gpu)
      : memory_(gpu.device, kElements * sizeof(float)), kernel_(make_kernel(gpu)) {
    memory_.fill(std::byte{0});
  }

  void enqueue(const gpu::Stream& stream) const {
    kernel_.launch(stream, {.grid = {kElements / kThreads}, .block = {kThreads}},
                   memory_.pointer<float>());
  }

 private:
  static constexpr unsigned kThreads = 256;
  static constexpr unsigned kElements = 128 * 1024;
  static constexpr const char* kSource =
      "extern \"C\" __global__ void foreign(float* values) {\n"
      "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  values[i] = values[i] * 0.5f + 1.0f;\n"
      "}\n";

  static gpu::Kernel make_kernel(const gpu::Gpu& gpu) {
    const gpu::CompileRequest request{.name = "foreign.cu",
                                      .source = kSource,
                                      .architecture = gpu.device.properties().architecture()};
    return gpu::Module(gpu.device, gpu.compile(request).cubin, request.name).kernel("foreign");
  }

  gpu::DeviceBuffer memory_;
  gpu::Kernel kernel_;
};

class GpuClock : public Clock {
 public:
  GpuClock(const gpu::Gpu& gpu, const ClockOptions& options)
      : device_(gpu.device),
        options_(options),
        call_count_(options.surroundings == Surroundings::kAlone
                        ? 1
                        : round_up(kCallsPerSampleMin, options.copy_count)),
        stream_(gpu.device) {
    if (options.surroundings == Surroundings::kForeign) foreign_.emplace(gpu);
  }

  void* stream() const override { return stream_.handle(); }
  bool checks_every_sample() const override { return false; }
  double settling_seconds() const override { return is_alone() ? 0 : kSettlingSeconds; }

  std::string description() const override {
    if (is_alone()) return "alone on an idle device";
    return std::string(words_of(options_.surroundings)) + ", sustained load";
  }

  TimedApart timed_apart(std::size_t entrant) const override {
    if (!is_asked(entrant)) return {};
    return {.how = fmt::format("in another process, by the host's clock until it answers, {} calls "
                               "at a time, less {}",
                               asked_call_count(),
                               foreign_ ? "the foreign kernels alone" : "an empty call"),
            .taken_off_us = asking_us_[entrant]};
  }

  void get_ready(const std::vector<Entrant>& entrants) override {
    entrants_ = &entrants;
    queued_.clear();
    graphs_.clear();
    asking_us_.assign(entrants.size(), 0);
    for (std::size_t i = 0; i < entrants.size(); ++i) {
      if (is_asked(i)) {
        graphs_.emplace_back();
        get_asked_ready(i);
        continue;
      }
      // Once outside of any capture: whatever an entrant does on its first call is done then.
      enqueue_calls(i);
      stream_.synchronize();
      graphs_.push_back(captured([&] { enqueue_calls(i); }));
    }
    if (foreign_) foreign_graph_ = captured([&] { enqueue_foreign(); });
  }

  void queue(const std::vector<std::size_t>& order) override {
    Round round;
    if (foreign_) round.foreign = timed([&] { launch_foreign(); });
    for (const std::size_t index : order) {
      if (is_asked(index)) {
        round.samples.push_back({.asked_us = ask_us(index)});
        continue;
      }
      if (is_alone()) let_idle();
      round.samples.push_back(timed([&] { launch(index); }));
    }
    queued_.push_back(std::move(round));
  }

  std::vector<double> collect_us() override {
    const Round round = std::move(queued_.front());
    queued_.pop_front();
    const double foreign_us = round.foreign ? us_of(*round.foreign) : 0;
    std::vector<double> us;
    for (const Sample& sample : round.samples) {
      us.push_back(sample.begin ? us_of(sample) - foreign_us : sample.asked_us);
    }
    return us;
  }

  std::size_t run_untimed(std::size_t entrant) override {
    const std::size_t last_copy = (next_copy_ + call_count_ - 1) % options_.copy_count;
    if (is_asked(entrant)) {
      ask_us(entrant);
      return last_asked_copy_;
    }
    launch(entrant);
    stream_.synchronize();
    return last_copy;
  }

 private:
  // Between events on our stream; of whoever computes in another process, what he took.
  struct Sample {
    std::optional<gpu::Event> begin = {};
    std::optional<gpu::Event> end = {};
    double asked_us = 0;
  };
  struct Round {
    std::optional<Sample> foreign;
    std::vector<Sample> samples;
  };

  bool is_alone() const { return options_.surroundings == Surroundings::kAlone; }

  bool is_asked(std::size_t index) const { return (*entrants_)[index].ask_us != nullptr; }

  std::size_t asked_call_count() const { return is_alone() ? 1 : kSamplesPerAsking * call_count_; }

  // The calls of a sample in another process; where somebody else's kernels stand before them,
  // those alone are asked for too.
  std::vector<std::size_t> asked_copies(bool with_calls) const {
    std::vector<std::size_t> copies;
    for (std::size_t i = 0; i < asked_call_count(); ++i) {
      if (foreign_) copies.push_back(kForeignCall);
      if (with_calls) copies.push_back((next_copy_ + i) % options_.copy_count);
    }
    if (copies.empty()) copies.push_back(kForeignCall);
    return copies;
  }

  void get_asked_ready(std::size_t index) {
    const Entrant& entrant = (*entrants_)[index];
    stream_.synchronize();
    entrant.ask_us(asked_copies(true));
    asking_us_[index] = asking_us(entrant, asked_copies(false));
  }

  // Nobody else has work on the device meanwhile: two processes would take turns there, each on the
  // other's time.
  double ask_us(std::size_t index) {
    stream_.synchronize();
    if (is_alone()) let_idle();
    const std::vector<std::size_t> copies = asked_copies(true);
    const double us = without_asking((*entrants_)[index].ask_us(copies), asking_us_[index]);
    last_asked_copy_ = copies.back();
    if (is_alone()) next_copy_ = (next_copy_ + 1) % options_.copy_count;
    return us / static_cast<double>(asked_call_count());
  }

  template <typename Record>
  std::optional<gpu::Graph> captured(const Record& record) const {
    if (!options_.graph || is_alone()) return std::nullopt;
    return gpu::Graph::capture(stream_, record);
  }

  void enqueue_foreign() const {
    for (std::size_t i = 0; i < call_count_; ++i) foreign_->enqueue(stream_);
  }

  void enqueue_calls(std::size_t index) {
    for (std::size_t i = 0; i < call_count_; ++i) {
      if (foreign_) foreign_->enqueue(stream_);
      (*entrants_)[index].enqueue((next_copy_ + i) % options_.copy_count);
    }
  }

  void launch(std::size_t index) {
    if (graphs_[index]) return graphs_[index]->launch(stream_);
    enqueue_calls(index);
    if (is_alone()) next_copy_ = (next_copy_ + 1) % options_.copy_count;
  }

  void launch_foreign() const {
    if (foreign_graph_) return foreign_graph_->launch(stream_);
    enqueue_foreign();
  }

  template <typename Launch>
  Sample timed(const Launch& launch_sample) const {
    Sample sample{.begin = gpu::Event(device_), .end = gpu::Event(device_)};
    sample.begin->record(stream_);
    launch_sample();
    sample.end->record(stream_);
    return sample;
  }

  void let_idle() const {
    stream_.synchronize();
    std::this_thread::sleep_for(kIdle);
  }

  double us_of(const Sample& sample) const {
    sample.end->synchronize();
    return gpu::microseconds_between(*sample.begin, *sample.end) / static_cast<double>(call_count_);
  }

  const gpu::Device& device_;
  const ClockOptions options_;
  const std::size_t call_count_;
  const gpu::Stream stream_;
  std::optional<ForeignKernel> foreign_;
  const std::vector<Entrant>* entrants_ = nullptr;
  std::vector<std::optional<gpu::Graph>> graphs_;
  std::optional<gpu::Graph> foreign_graph_;
  std::deque<Round> queued_;
  std::size_t next_copy_ = 0;
  std::vector<double> asking_us_;  // by entrant
  std::size_t last_asked_copy_ = 0;
};

}  // namespace

std::unique_ptr<Clock> make_gpu_clock(const gpu::Gpu& gpu, const ClockOptions& options) {
  return std::make_unique<GpuClock>(gpu, options);
}

}  // namespace thresher::measure
