// SPDX-License-Identifier: Apache-2.0
// From knobs and a problem to launches: which kernels, how many blocks and threads, how much shared
// memory and workspace. Numbers only, so that the emulator and the driver launch from the same
// plan.
//
// A plan never needs to know how many tokens each group has, only a limit of all groups together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/machine.hpp"
#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/image_config.hpp"
#include "thresher/problem.hpp"

namespace thresher::gpu {

// kPipelined is gemm.cuh, kPlain the baseline plain_gemm.cuh, which has a single setting of the
// knobs but `tokens`, `launches` and `dual`.
enum class GemmKind : std::uint8_t { kPipelined, kPlain };
// kPerGroup: one launch per group, in sequence. kStreams: those launches on a pool of streams.
enum class Launches : std::uint8_t { kGrouped, kPerGroup, kStreams };
enum class Dual : std::uint8_t { kFused, kTwoPass };

struct GemmKnobs {
  Mma mma = Mma::kWarpgroup;  // no knob: a variant's head says it
  GemmKind kind = GemmKind::kPipelined;
  int tokens = 128;
  Widths widths = Widths::kByGroup;
  int weight_rows = 128;
  int consumer_warpgroups = 2;
  int stages = 4;
  int fragment_steps = 4;
  bool specialised = true;
  Store store = Store::kDirect;
  Schedule schedule = Schedule::kTiles;
  int split_k = 1;
  int blocks_per_sm = 1;
  Arrive arrive = Arrive::kThread;
  Prologue prologue = Prologue::kKernel;
  Loads loads = Loads::kCopies;
  Launches launches = Launches::kGrouped;
  Dual dual = Dual::kFused;

  bool operator==(const GemmKnobs&) const = default;
};

// Where a variant's knobs start from. For warps: the setting of those that have only one there
// (gpu/sm80/gemm_support.hpp), and tiles that fit the least shared memory among their GPUs; for
// Blackwell likewise, and stages that fit a dual product.
constexpr GemmKnobs default_knobs(Mma mma) {
  if (mma == Mma::kWarpgroup) return {};
  if (mma == Mma::kBlockScaled) {
    return {.mma = mma, .consumer_warpgroups = 1, .prologue = Prologue::kNone};
  }
  return {.mma = mma,
          .tokens = 64,
          .consumer_warpgroups = 1,
          .fragment_steps = 2,
          .specialised = false,
          .prologue = Prologue::kNone};
}

// Whether a launch may start while the one before it on its stream ends: it fetches weights first
// and then waits for it. The kernels for warps do not say when the next may start.
constexpr bool launches_depend(Mma mma, Launches launches) {
  return launches != Launches::kStreams && mma != Mma::kWarp;
}

// What to plan for: `problem.groups` with their n and k, and so many tokens in all groups together.
struct PlanRequest {
  const Problem& problem;
  std::int64_t token_limit = 0;
  SmLimits limits = {};
};

struct ImageLaunch {
  ImageConfig config;
  Mma mma = Mma::kWarpgroup;  // of the kernel that it is for
  int block_count = 0;
  int thread_count = 0;
};

struct GemmLaunch {
  GemmKind kind = GemmKind::kPipelined;
  GemmConfig config;
  std::uint32_t first_group = 0;
  std::uint32_t group_count = 0;
  int block_count = 0;
  int cluster_blocks = 1;  // that follow each other in the grid and compute a tile together
  int thread_count = 0;
  std::uint32_t shared_bytes = 0;
  // Per thread at the start, where warpgroups hand registers over; 0: as many as it likes.
  int register_count = 0;
  // Where the launch's slots and counters for parts of tiles begin in the workspace's, in bytes.
  std::size_t partial_offset = 0;
  std::size_t counter_offset = 0;
};

// Offsets into the workspace, each a multiple of 256; parts that are not needed are empty. The
// counters must be zero before the first launch, and are again after each.
struct WorkspaceLayout {
  std::size_t images = 0;
  std::size_t gates = 0;
  std::size_t gate_stride_elements = 0;
  std::size_t partials = 0;
  std::size_t counters = 0;
  std::size_t counter_bytes = 0;
  std::size_t image_counter_offset = 0;  // among the counters
  std::size_t bytes = 0;
};

struct GemmPlan {
  std::optional<ImageLaunch> images;  // none: the GEMM makes them
  // In order. Launches of different groups are independent of each other; launches of the same
  // group, and all of them after the images, are not.
  std::vector<GemmLaunch> launches;
  WorkspaceLayout workspace;
  std::uint32_t token_limit = 0;
};

// The knobs must be able to run the problem.
GemmPlan make_plan(const GemmKnobs& knobs, const PlanRequest& request);

// Kernels that one call launches.
inline std::int64_t launch_count(const GemmPlan& plan) {
  return static_cast<std::int64_t>(plan.launches.size()) + (plan.images ? 1 : 0);
}

// Whether the groups' entries have tensor maps of packed weights instead of their addresses.
inline bool weights_by_map(const GemmPlan& plan) {
  return plan.launches.front().config.loads == Loads::kBoxes;
}

// A kernel's argument. `workspace` is a device address, as are those in `table`.
ImageArgs image_args(const GemmPlan& plan, const GroupTable& table, std::uint32_t group_count,
                     std::uint8_t* workspace);
GemmArgs gemm_args(const GemmPlan& plan, const GemmLaunch& launch, const GroupTable& table,
                   std::uint8_t* workspace);

}  // namespace thresher::gpu
