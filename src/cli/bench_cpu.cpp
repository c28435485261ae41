// SPDX-License-Identifier: Apache-2.0
// bench on the CPU: variants and peers with every thread count, side by side.
#include <fmt/format.h>

#include <deque>

#include "bench/openblas.hpp"
#include "cli/bench_entries.hpp"
#include "cli/bench_options.hpp"
#include "cli/machine.hpp"
#include "cli/progress.hpp"
#include "cpu/calibrate.hpp"
#include "cpu/features.hpp"

namespace thresher::cli {
namespace {

constexpr PeerEntry::Make kPeers[] = {bench::make_openblas_sgemm, bench::make_openblas_dequant};

BenchLane lane_of(const cpu::Ceilings& ceilings) {
  return {.backend = Backend::kCpu,
          .title = fmt::format("{} thread{}", ceilings.thread_count,
                               ceilings.thread_count == 1 ? "" : "s"),
          .thread_count = ceilings.thread_count,
          .rates = cpu::machine_rates(best_isa(), ceilings),
          .ceilings_text = fmt::format(
              "({}): DRAM read {:.1f} GB/s, {:.0f} GOP/s, {:.0f} GFLOP/s; noise {:.2f} %",
              cpu::to_string(best_isa()), ceilings.read_gb_per_s, ceilings.integer_gop_per_s,
              ceilings.fma_gflop_per_s, 100 * ceilings.noise),
          .ceilings = {{"read_gb_per_s", ceilings.read_gb_per_s},
                       {"integer_gop_per_s", ceilings.integer_gop_per_s},
                       {"fma_gflop_per_s", ceilings.fma_gflop_per_s},
                       {"noise", ceilings.noise}}};
}

// A thread count with the engine that has it and the ceilings it reached.
struct CpuLane {
  Engine engine;
  BenchLane lane;
};

// Who meets on one problem in one lane. Deques, because contestants point at their entries.
struct Field {
  std::deque<VariantEntry> variants;
  std::vector<std::string> entrants;  // what the user called each of the variants
  std::deque<PeerEntry> peers;

  std::vector<Contestant> contestants() {
    std::vector<Contestant> all;
    for (VariantEntry& variant : variants) all.push_back(variant.contestant());
    for (PeerEntry& peer : peers) all.push_back(peer.contestant());
    return all;
  }
};

class CpuBench {
 public:
  explicit CpuBench(const BenchOptions& options)
      : options_(options),
        problems_(bench_problems(options)),
        thread_counts_(options.thread_counts.empty() ? std::vector<int>{cpu::usable_core_count()}
                                                     : distinct(options.thread_counts)),
        progress_(static_cast<std::int64_t>(thread_counts_.size() * (problems_.size() + 1)), {}) {
    check_variant_names(options.variants);
    if (options.peers && bench::Openblas::find() == nullptr) {
      throw Error(bench::Openblas::how_to_install() + ", or leave --peers out");
    }
  }

  std::vector<BenchRow> run() {
    for (const int count : thread_counts_) {
      progress_.begin_step(fmt::format("measuring the machine with {} threads", count));
      lanes_.push_back(
          {Engine({.thread_count = count}),
           lane_of(cpu::measure_ceilings(best_isa(), count, calibration_seconds(options_)))});
    }
    for (const SelectedProblem& selected : problems_) {
      run_problem(selected.suite, selected.problem);
    }
    progress_.clear();
    return std::move(rows_);
  }

 private:
  void run_problem(const std::string& suite, const Problem& problem) {
    const Inputs inputs = make_inputs(problem, InputFamily::kNatural, options_.seed);
    ColdWeights weights(lanes_.front().engine, problem, inputs);
    for (const CpuLane& lane : lanes_) {
      progress_.begin_step(
          fmt::format("{} {} with {} threads", suite, problem.name, lane.engine.thread_count()));
      Field field;
      enter_variants(field, problem, weights, lane.engine);
      if (field.variants.empty()) continue;
      enter_peers(field, problem, inputs, lane.engine.thread_count());
      const std::vector<Timing> timings = play_match(
          field.contestants(), inputs, {.seconds = options_.seconds, .seed = options_.seed});

      const auto first_peer = timings.begin() + static_cast<std::ptrdiff_t>(field.variants.size());
      for (std::size_t i = 0; i < field.variants.size(); ++i) {
        add_row({.suite = suite,
                 .problem = problem,
                 .entrant = field.entrants[i],
                 .variant = field.variants[i].variant(),
                 .weight_copies = weights.copy_count(),
                 .lane = lane.lane,
                 .light = speed_of_light(problem, lane.lane.rates),
                 .timing = timings[i],
                 .peers = {first_peer, timings.end()}});
      }
    }
  }

  void enter_variants(Field& field, const Problem& problem, ColdWeights& weights,
                      const Engine& engine) {
    if (options_.variants.empty()) {
      field.variants.emplace_back(engine, problem, "", weights);
      field.entrants.push_back(kEnginesChoice);
    }
    for (const std::string& variant : distinct(options_.variants)) {
      const Support support = engine.supports(problem, variant);
      if (support.ok) {
        field.variants.emplace_back(engine, problem, variant, weights);
        field.entrants.push_back(variant);
      } else {
        progress_.clear();
        tell_left_out(problem, variant, support.why_not);
      }
    }
  }

  void enter_peers(Field& field, const Problem& problem, const Inputs& inputs, int thread_count) {
    if (!options_.peers) return;
    for (const PeerEntry::Make make : kPeers) {
      field.peers.emplace_back(make, problem, inputs, thread_count);
    }
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
  const std::vector<int> thread_counts_;
  Progress progress_;
  std::deque<CpuLane> lanes_;  // contestants point at the engines
  std::vector<BenchRow> rows_;
};

}  // namespace

std::vector<BenchRow> bench_cpu(const BenchOptions& options) { return CpuBench(options).run(); }

}  // namespace thresher::cli
