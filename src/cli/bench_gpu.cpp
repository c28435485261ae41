// SPDX-License-Identifier: Apache-2.0
// bench on a GPU: variants and peers, cold weights, the device's clock.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>

#include "bench/cublas.hpp"
#include "bench/gpu_peers.hpp"
#include "cli/backend_option.hpp"
#include "cli/bench_options.hpp"
#include "cli/gpu_match.hpp"
#include "cli/gpu_problem.hpp"
#include "cli/machine.hpp"
#include "cli/progress.hpp"
#include "gpu/engine/state.hpp"
#include "gpu/runtime/nvml.hpp"
#include "gpu/sm90/calibrate.hpp"

namespace thresher::cli {
namespace {

constexpr std::size_t kCopiesMax = 64;
constexpr int kHostCalls = 200;

// So many copies that what one call read is gone from the L2 when its copy's turn comes again.
std::size_t cold_copy_count(const Problem& problem, const gpu::Device& device) {
  const double wanted = 2.2 * static_cast<double>(device.properties().l2_bytes);
  const double bytes = std::max(weight_bytes(problem), 1.0);
  return static_cast<std::size_t>(
      std::clamp(std::ceil(wanted / bytes) + 1, 2.0, static_cast<double>(kCopiesMax)));
}

// Copies of a problem's inputs, and for each of them outputs that all variants take turns at.
class ColdProblem {
 public:
  ColdProblem(const GpuEngine& engine, const Problem& problem, const Inputs& inputs)
      : outputs_(problem, {}) {
    const gpu::Device& device = engine.state().device;
    const std::size_t count = cold_copy_count(problem, device);
    for (std::size_t i = 0; i < count; ++i) {
      if (i == 0) {
        copies_.emplace_back(engine, problem, inputs);
      } else {
        copies_.emplace_back(engine, copies_.front());
      }
      device_outputs_.emplace_back(device, outputs_);
    }
    std::vector<std::uint32_t> sizes;
    for (const Group& group : problem.groups) sizes.push_back(static_cast<std::uint32_t>(group.m));
    sizes_ = gpu::DeviceBuffer(device, sizes.size() * sizeof(std::uint32_t));
    sizes_.copy_in(gpu::bytes_of(sizes));
  }

  std::size_t copy_count() const { return copies_.size(); }
  std::vector<GpuGroupOperands> operands(std::size_t copy) const {
    return copies_[copy].operands(device_outputs_[copy]);
  }
  const std::uint32_t* device_sizes() const { return sizes_.pointer<std::uint32_t>(); }

  void poison(std::size_t copy, std::uint64_t seed) {
    outputs_.poison(seed);
    device_outputs_[copy].copy_in();
  }
  std::vector<OutputView> fetch(std::size_t copy) {
    device_outputs_[copy].copy_out();
    return outputs_.views();
  }
  std::string find_trespass() const { return outputs_.find_trespass(); }

 private:
  GuardedOutputs outputs_;
  std::deque<GpuProblem> copies_;
  std::deque<DeviceOutputs> device_outputs_;
  gpu::DeviceBuffer sizes_;
};

class GpuVariantEntry {
 public:
  GpuVariantEntry(const GpuEngine& engine, const Problem& problem, const std::string& variant,
                  ColdProblem& cold, bool device_sizes)
      : cold_(cold),
        plan_(engine.plan(problem, variant)),
        workspace_(engine.workspace(plan_)),
        stream_(engine.state().device) {
    const DeviceTokenCounts counts{.counts = device_sizes ? cold.device_sizes() : nullptr,
                                   .tokens_max = token_count(problem)};
    for (std::size_t i = 0; i < cold.copy_count(); ++i) {
      calls_.push_back(engine.bind(plan_, cold.operands(i), workspace_, counts));
    }
  }

  const std::string& variant() const { return plan_.variant(); }

  GpuContestant contestant(const gpu::Stream& stream) {
    return {.name = variant(),
            .problem = plan_.problem(),
            .enqueue =
                [this, &stream](std::size_t copy, bool captured) {
                  if (captured) return calls_[copy].enqueue_kernels(stream.handle());
                  calls_[copy].enqueue(stream.handle());
                },
            .poison = [this](std::size_t copy) { cold_.poison(copy, copy + 1); },
            .fetch = [this](std::size_t copy) { return cold_.fetch(copy); },
            .find_trespass = [this] { return cold_.find_trespass(); }};
  }

  // What the host spends on queueing one call.
  double host_us() const {
    double best = 0;
    for (int trial = 0; trial < 3; ++trial) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < kHostCalls; ++i) {
        calls_[static_cast<std::size_t>(i) % calls_.size()].enqueue(stream_.handle());
      }
      const auto end = std::chrono::steady_clock::now();
      stream_.synchronize();
      const double us = std::chrono::duration<double, std::micro>(end - begin).count() / kHostCalls;
      best = trial == 0 ? us : std::min(best, us);
    }
    return best;
  }

 private:
  ColdProblem& cold_;
  GpuPlan plan_;
  GpuWorkspace workspace_;
  gpu::Stream stream_;
  std::vector<GpuCall> calls_;
};

// A peer's outputs have no guards: it is not ours to test.
class PeerOutputs {
 public:
  explicit PeerOutputs(const bench::GpuPeer& peer) : peer_(peer) {
    for (const gpu::DeviceBuffer& output : peer.outputs()) host_.emplace_back(output.bytes());
  }

  void poison() const {
    for (const gpu::DeviceBuffer& output : peer_.outputs()) {
      if (output.bytes() > 0) output.fill(std::byte{0xff});  // NaN in every output type
    }
  }

  std::vector<OutputView> fetch() {
    std::vector<OutputView> views;
    for (std::size_t g = 0; g < host_.size(); ++g) {
      if (!host_[g].empty()) peer_.outputs()[g].copy_out(gpu::bytes_of(host_[g]));
      views.push_back({.c = host_[g].empty() ? nullptr : host_[g].data(),
                       .stride_elements = peer_.problem().groups[g].n});
    }
    return views;
  }

 private:
  const bench::GpuPeer& peer_;
  std::vector<std::vector<std::uint8_t>> host_;
};

GpuContestant contestant_of(bench::GpuPeer& peer) {
  const auto outputs = std::make_shared<PeerOutputs>(peer);
  return {.name = peer.name(),
          .problem = peer.problem(),
          .enqueue = [&peer](std::size_t copy, bool) { peer.enqueue(copy); },
          .poison = [outputs](std::size_t) { outputs->poison(); },
          .fetch = [outputs](std::size_t) { return outputs->fetch(); },
          .find_trespass = [] { return std::string(); }};
}

class GpuBench {
 public:
  explicit GpuBench(const BenchOptions& options)
      : options_(options),
        problems_(bench_problems(options)),
        progress_(static_cast<std::int64_t>(problems_.size() + 1), {}),
        engine_(gpu_engine_options()),
        stream_(engine_.state().device) {
    for (const std::string& variant : options.variants) gpu::sm90::variant_from_name(variant);
    if (!options.peers) return;
    const GpuEngine::State& gpu = engine_.state();
    cublas_ = bench::find_cublas({.folders = bench::pip_folders_beside(gpu.compiler.file()),
                                  .driver_version = gpu.driver_version});
    if (!cublas_.cublas) throw Error(cublas_.why_not + ", or leave --peers out");
  }

  std::vector<BenchRow> run() {
    progress_.begin_step("measuring the GPU");
    measure_lane();
    for (const SelectedProblem& selected : problems_) {
      progress_.begin_step(fmt::format("{} {}", selected.suite, selected.problem.name));
      run_problem(selected.suite, selected.problem);
    }
    progress_.clear();
    return std::move(rows_);
  }

 private:
  void measure_lane() {
    const GpuEngine::State& gpu = engine_.state();
    const gpu::sm90::GpuCeilings ceilings = gpu::sm90::measure_ceilings(
        gpu.device, gpu.compiler, gpu.cache, calibration_seconds(options_));
    lane_ = {.backend = Backend::kGpu,
             .title = engine_.description(),
             .rates = gpu::sm90::machine_rates(ceilings),
             .ceilings_text =
                 fmt::format("(measured): read {:.0f} GB/s, fp16 {:.0f} TFLOP/s, bf16 {:.0f}",
                             ceilings.read_gb_per_s, ceilings.fp16_gop_per_s / 1e3,
                             ceilings.bf16_gop_per_s / 1e3),
             .ceilings = {{"read_gb_per_s", ceilings.read_gb_per_s},
                          {"fp16_gop_per_s", ceilings.fp16_gop_per_s},
                          {"bf16_gop_per_s", ceilings.bf16_gop_per_s}}};
  }

  void run_problem(const std::string& suite, const Problem& problem) {
    const Inputs inputs = make_inputs(problem, InputFamily::kNatural, options_.seed);
    ColdProblem cold(engine_, problem, inputs);
    std::deque<GpuVariantEntry> entries;
    std::vector<std::string> entrants;
    enter_variants(problem, cold, entries, entrants);
    if (entries.empty()) return;
    const std::vector<std::unique_ptr<bench::GpuPeer>> peers =
        make_peers(problem, inputs, cold.copy_count());

    std::vector<GpuContestant> contestants;
    for (GpuVariantEntry& entry : entries) contestants.push_back(entry.contestant(stream_));
    for (const std::unique_ptr<bench::GpuPeer>& peer : peers) {
      contestants.push_back(contestant_of(*peer));
    }
    const std::vector<Timing> timings = play_gpu_match(contestants, inputs,
                                                       {.device = engine_.state().device,
                                                        .stream = stream_,
                                                        .copy_count = cold.copy_count(),
                                                        .graph = options_.launch == "graph",
                                                        .seconds = options_.seconds,
                                                        .seed = options_.seed});
    const int sm_mhz = sm_clock_mhz();
    const auto first_peer = timings.begin() + static_cast<std::ptrdiff_t>(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      add_row({.suite = suite,
               .problem = problem,
               .entrant = entrants[i],
               .variant = entries[i].variant(),
               .weight_copies = cold.copy_count(),
               .lane = lane_,
               .light = speed_of_light(problem, lane_.rates),
               .timing = timings[i],
               .peers = {first_peer, timings.end()},
               .host_us = entries[i].host_us(),
               .sm_mhz = sm_mhz});
    }
  }

  void enter_variants(const Problem& problem, ColdProblem& cold,
                      std::deque<GpuVariantEntry>& entries, std::vector<std::string>& entrants) {
    const bool device_sizes = options_.sizes == "device";
    if (options_.variants.empty()) {
      entries.emplace_back(engine_, problem, "", cold, device_sizes);
      entrants.emplace_back(kEnginesChoice);
    }
    for (const std::string& variant : distinct(options_.variants)) {
      const Support support = engine_.supports(problem, variant);
      if (support.ok) {
        entries.emplace_back(engine_, problem, variant, cold, device_sizes);
        entrants.push_back(variant);
      } else {
        progress_.clear();
        tell_left_out(problem, variant, support.why_not);
      }
    }
  }

  std::vector<std::unique_ptr<bench::GpuPeer>> make_peers(const Problem& problem,
                                                          const Inputs& inputs,
                                                          std::size_t copy_count) {
    if (!options_.peers) return {};
    const GpuEngine::State& gpu = engine_.state();
    bench::GpuPeers peers = bench::make_gpu_peers({.device = gpu.device,
                                                   .stream = stream_,
                                                   .compiler = gpu.compiler,
                                                   .cache = gpu.cache,
                                                   .problem = problem,
                                                   .inputs = inputs,
                                                   .copy_count = copy_count},
                                                  *cublas_.cublas);
    for (const std::string& note : peers.notes) {
      progress_.clear();
      fmt::print(stderr, "thresher: {}: {}\n", problem.name, note);
    }
    return std::move(peers.peers);
  }

  // 0 where nobody tells.
  int sm_clock_mhz() const {
    const gpu::NvmlLookup& nvml = gpu::find_nvml();
    if (nvml.nvml == nullptr) return 0;
    return gpu::read_clocks(*nvml.nvml, gpu::pci_bus_id(engine_.state().device)).sm_mhz;
  }

  void add_row(BenchRow row) {
    if (options_.json) {
      progress_.clear();
      print_json_line(row);
    }
    rows_.push_back(std::move(row));
  }

  const BenchOptions options_;
  const std::vector<SelectedProblem> problems_;
  Progress progress_;
  const GpuEngine engine_;
  const gpu::Stream stream_;
  bench::CublasLookup cublas_;
  BenchLane lane_;
  std::vector<BenchRow> rows_;
};

}  // namespace

std::vector<BenchRow> bench_gpu(const BenchOptions& options) { return GpuBench(options).run(); }

}  // namespace thresher::cli
