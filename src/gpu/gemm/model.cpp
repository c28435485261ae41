// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/model.hpp"

#include <algorithm>
#include <numeric>

#include "backend/makespan.hpp"

namespace thresher::gpu {
namespace {

using Groups = std::span<const Group>;

// Beyond so many tiles per block the fullest is as good as the mean.
constexpr std::int64_t kTilesCounted = 64;

// From the end of a kernel to the work of the next one that waits for it.
constexpr double kLaunchUs = 2;
constexpr double kGraphLaunchUs = 1;  // the device finds the next one by itself

double elements(const Group& group) { return static_cast<double>(group.m * group.n); }

// Sums of tiles in parts, written to the workspace and read again.
double partial_bytes(const GemmLaunch& launch, Groups groups, const TileTimes& times) {
  const GemmConfig& config = launch.config;
  std::int64_t slots = 0;
  if (config.schedule == Schedule::kBalanced) {
    slots = 2 * launch.block_count;
  } else if (config.split_k > 1) {
    slots = Tiling(groups, launch.kind, config, {}, times).tile_count() * config.split_k;
  }
  return 2.0 * static_cast<double>(slots) * sizeof(float) *
         static_cast<double>(partial_elements(config));
}

// Weights once per launch, whatever it multiplies of them; what it stores; a gate pass leaves
// floats that the up pass reads.
double launch_bytes(const GemmLaunch& launch, Groups groups, const TileTimes& times) {
  const GemmConfig& config = launch.config;
  double bytes = partial_bytes(launch, groups, times);
  for (const Group& group : groups) {
    if (group.m == 0) continue;
    const std::int64_t row_tiles = divide_up(group.n * rows_per_column(config.product), kTileRows);
    bytes += static_cast<double>(row_tiles * divide_up(group.k, kTileK)) *
             static_cast<double>(kTileBytes);
    bytes += elements(group) * element_bytes(stored_type(config));
    if (config.product == Product::kUpPass) bytes += elements(group) * sizeof(float);
  }
  return bytes;
}

// The prologue reads the activations and writes them as images of whole tiles; without one the
// GEMM reads them.
double prologue_bytes(const Problem& problem, const GemmKnobs& knobs) {
  const double bytes_per_value =
      problem.activations == Activations::kNvfp4 ? kNvfp4BytesPerElement : 2;
  double bytes = 0;
  for (const Group& group : problem.groups) {
    bytes += bytes_per_value * static_cast<double>(group.m * group.k);
    if (knobs.prologue == Prologue::kNone) continue;
    const TokenTiles tiles = cut_tokens(token_cut(knobs), static_cast<u32>(group.m));
    bytes += static_cast<double>(tiles.column_count()) *
             static_cast<double>(divide_up(group.k, kTileK)) * kImageRowBytes;
  }
  return bytes;
}

// Launches that run side by side: one, or on streams all that do not wait for each other.
struct Phase {
  Product product = Product::kGemm;
  std::vector<double> block_ns;
  double bytes = 0;
};

std::vector<Phase> phases_of(const GemmPlan& plan, const Problem& problem, Launches launches,
                             const SmLimits& limits, const TileTimes& times) {
  std::vector<Phase> phases;
  for (const GemmLaunch& launch : plan.launches) {
    const Groups groups = Groups(problem.groups).subspan(launch.first_group, launch.group_count);
    const auto beside = std::find_if(phases.begin(), phases.end(), [&](const Phase& phase) {
      return launches == Launches::kStreams && phase.product == launch.config.product;
    });
    Phase& phase = beside != phases.end()
                       ? *beside
                       : phases.emplace_back(Phase{.product = launch.config.product});
    const std::vector<double> blocks =
        Tiling(groups, launch.kind, launch.config, limits, times).block_ns();
    phase.block_ns.insert(phase.block_ns.end(), blocks.begin(), blocks.end());
    phase.bytes += launch_bytes(launch, groups, times);
  }
  return phases;
}

double output_bytes(const Problem& problem) {
  double count = 0;
  for (const Group& group : problem.groups) count += elements(group);
  return count * static_cast<double>(bytes_per_element(problem.output));
}

// Where the device's own rate is known: of NVFP4 as it is, or of the fp16 that it is decoded to.
double slower_than(const TileTimes& times, const GemmKnobs& knobs, const MachineRates& rates) {
  const bool as_it_is = knobs.mma == Mma::kBlockScaled;
  const double here = as_it_is ? rates.nvfp4_gop_per_s : rates.fp16_gop_per_s;
  return here > 0 ? times.at_gop_per_s / here : 1;
}

}  // namespace

Tiling::Tiling(Groups groups, GemmKind kind, const GemmConfig& config, const SmLimits& limits,
               const TileTimes& times)
    : times_(times),
      kind_(kind),
      config_(config),
      rows_(multiplied_rows(config) / blocks_per_tile(config)),
      sms_(std::max(limits.sm_count / blocks_per_tile(config), 1)) {
  for (const Group& group : groups) {
    const TokenTiles tiles = cut_tokens(token_cut(config), static_cast<u32>(group.m));
    lots_.push_back(
        {tiles, divide_up(group.n, columns_per_tile(config)), divide_up(group.k, kTileK)});
    tile_count_ += lots_.back().row_tiles * tiles.count;
  }
}

// Blocks are dealt out to the SMs in turn, and a balanced schedule has work for all of them.
Company Tiling::company() const {
  const std::int64_t most = config_.blocks_per_sm;
  const bool balanced = config_.schedule == Schedule::kBalanced;
  const std::int64_t on_sm = balanced ? most : std::min(divide_up(piece_count(), sms_), most);
  return {.busy_sms = std::min(piece_count(), sms_) * blocks_per_tile(config_),
          .blocks_on_sm = static_cast<int>(on_sm)};
}

double Tiling::tile_ns(std::int64_t k_tiles, int width) const {
  const double wait = kind_ == GemmKind::kPlain ? times_.plain_wait : 0;
  return static_cast<double>(k_tiles) * (times_.k_tile(config_, width, company()) + wait) +
         times_.finish * rows_ / 256;
}

// As kernels/tile_walk.cuh deals tiles, or parts of them, out to blocks.
std::vector<double> Tiling::in_turn_ns() const {
  const std::int64_t most =
      kind_ == GemmKind::kPlain ? piece_count() : sms_ * config_.blocks_per_sm;
  std::vector<double> blocks(static_cast<std::size_t>(std::min(piece_count(), most)));
  std::size_t block = 0;
  for (const Lot& lot : lots_) {
    const std::int64_t part = divide_up(lot.k_tiles, config_.split_k);
    for (u32 i = 0; i < lot.tiles.count; ++i) {
      const int width = static_cast<int>(lot.tiles.width_of(i));
      for (std::int64_t piece = 0; piece < lot.row_tiles * config_.split_k; ++piece) {
        const std::int64_t begin = std::min(piece % config_.split_k * part, lot.k_tiles);
        const std::int64_t end = std::min(begin + part, lot.k_tiles);
        blocks[block] += tile_ns(end - begin, width);
        block = (block + 1) % blocks.size();
      }
    }
  }
  return blocks;
}

double Tiling::mean_ns() const {
  double total = 0;
  for (const Lot& lot : lots_) {
    for (u32 i = 0; i < lot.tiles.count; ++i) {
      total += tile_ns(lot.k_tiles, static_cast<int>(lot.tiles.width_of(i))) *
               static_cast<double>(lot.row_tiles);
    }
  }
  return total / static_cast<double>(sms_);
}

double Tiling::parts_ns() const {
  const double share = rows_ * config_.tokens / (256.0 * 128.0);
  const double parts = 1 + static_cast<double>(sms_) / static_cast<double>(tile_count_);
  return std::max(times_.parts * share, times_.parts_least) * parts;
}

std::vector<double> Tiling::block_ns() const {
  std::vector<double> blocks;
  for (const double ns : walker_ns()) {
    blocks.insert(blocks.end(), static_cast<std::size_t>(blocks_per_tile(config_)), ns);
  }
  return blocks;
}

std::vector<double> Tiling::walker_ns() const {
  if (tile_count_ == 0) return {};
  const auto alike = [&](double ns) {
    return std::vector<double>(static_cast<std::size_t>(sms_), ns);
  };
  if (config_.schedule == Schedule::kBalanced) return alike(mean_ns() + parts_ns());
  if (tile_count_ > sms_ * kTilesCounted) return alike(mean_ns());
  return in_turn_ns();
}

double Tiling::span_ns() const { return makespan(walker_ns(), static_cast<int>(sms_)); }

ModelledRun modelled_run(const Problem& problem, const Variant& variant, const Machine& machine,
                         const TileTimes& times) {
  const GemmKnobs& knobs = variant.knobs;
  const GemmPlan plan = make_plan(knobs, {problem, token_count(problem), machine.limits});
  const int sm_count = machine.limits.sm_count;
  const double us_per_byte = 1e-3 / machine.rates.read_gb_per_s;
  const double us_per_ns = 1e-3 * slower_than(times, knobs, machine.rates);

  ModelledRun run{.bytes = prologue_bytes(problem, knobs),
                  .store_bytes = output_bytes(problem),
                  .launch_us = static_cast<double>(plan.launches.size()) *
                               (variant.graph ? kGraphLaunchUs : kLaunchUs)};
  run.us = run.bytes * us_per_byte + run.launch_us;
  double cost_us = 0;
  double span_us = 0;
  for (const Phase& phase : phases_of(plan, problem, knobs.launches, machine.limits, times)) {
    const double compute_us = us_per_ns * makespan(phase.block_ns, sm_count);
    // A launch loads while it multiplies.
    run.us += std::max(compute_us, phase.bytes * us_per_byte);
    run.bytes += phase.bytes;
    span_us += compute_us;
    cost_us += us_per_ns * std::accumulate(phase.block_ns.begin(), phase.block_ns.end(), 0.0);
  }
  if (span_us > 0) {
    run.work = cost_us / (speed_of_light(problem, machine.rates).compute_us * sm_count);
    run.balance = cost_us / (span_us * sm_count);
  }
  return run;
}

}  // namespace thresher::gpu
