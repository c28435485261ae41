// SPDX-License-Identifier: Apache-2.0
#include "cpu/run.hpp"

#include <algorithm>
#include <limits>

#include "assert.hpp"
#include "cpu/ring.hpp"

namespace thresher::cpu {
namespace {

// The unit is a power of two, so this rounds nothing.
Factor in_units(Factor factor, float unit) { return {factor.main * unit, factor.rest}; }

// Which product a pass computes. Fused dual and gemm need one pass.
enum class Pass : std::uint8_t { kOnly, kGate, kUp };

// What a task does at a time: up to two panels of weights against all its token tiles.
struct PanelSet {
  const Task* task = nullptr;
  std::int64_t first_panel = 0;  // of C
  int panel_count = 0;           // panels of C
  int weight_panel_count = 0;    // panels of weights: 2 where gate and up are fused
  const std::uint8_t* panels[kSumPanels] = {nullptr, nullptr};
};

// Tasks that may be computed in any order.
struct TaskRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class Runner {
 public:
  Runner(const CpuPlan& plan, const Cut& cut, const CallBuffers& buffers, std::uint8_t* workspace)
      : plan_(plan), cut_(cut), kernels_(*plan.kernels), buffers_(buffers), workspace_(workspace) {}

  std::int64_t pack(std::int64_t tile_index) const;
  void compute(const Task& task, Pass pass, int thread_index) const;

  // roles=split: the two halves of a pair of threads walk the same tasks.
  void decode_tasks(TaskRange tasks, int pair, int pair_count, Pass pass, Ring& ring) const;
  void multiply_tasks(TaskRange tasks, int pair, int pair_count, Pass pass, Ring& ring) const;

 private:
  template <class Work>
  void for_each_panel_set(const Task& task, Pass pass, const Work& work) const;
  template <class Work>
  void for_each_chunk(const Task& task, const Work& work) const;

  const GroupPlan& group(const Task& task) const {
    return plan_.groups[static_cast<std::size_t>(task.group->group_index)];
  }
  const GroupBuffers& buffers_of(const GroupCut& group) const {
    return buffers_.groups[static_cast<std::size_t>(group.group_index)];
  }
  // Where a tile of a group begins in the group's buffers.
  std::int64_t row_of(const GroupCut& group, const TokenTile& tile) const {
    return tile.first_row + (buffers_.rows_follow ? group.first_row : 0);
  }
  static TokenTile token_tile(const Task& task, int index) {
    return tile_of(*task.group, task.first_token_tile + index);
  }
  std::uint8_t* scratch(int thread_index) const {
    return workspace_ + plan_.scratch_offset +
           plan_.scratch_bytes * static_cast<std::size_t>(thread_index);
  }
  float* sums(int thread_index) const { return reinterpret_cast<float*>(scratch(thread_index)); }
  std::uint8_t* decoded(int thread_index, int slot) const {
    const std::size_t slot_bytes = (plan_.scratch_bytes - plan_.sums_bytes) /
                                   (plan_.variant.roles == Roles::kSplit ? kRingSlots : 1);
    return scratch(thread_index) + plan_.sums_bytes + slot_bytes * static_cast<std::size_t>(slot);
  }

  void direct_task(const Task& task, Pass pass, float* sums) const;
  void direct_panels(std::span<const PanelSet> sets, Pass pass, float* sums) const;
  void direct_tiles(std::span<const PanelSet> sets, TileArgs args, float* sums) const;
  void decode_chunk(const PanelSet& set, std::int64_t first, std::int64_t count,
                    std::uint8_t* out) const;
  void multiply_chunk(const PanelSet& set, Pass pass, std::int64_t first, std::int64_t count,
                      const std::uint8_t* decoded, float* sums) const;
  void finish(const PanelSet& set, Pass pass, const TokenTile& tile, const float* sums) const;

  const CpuPlan& plan_;
  const Cut& cut_;
  const Kernels& kernels_;
  const CallBuffers& buffers_;
  std::uint8_t* workspace_;
};

std::int64_t Runner::pack(std::int64_t tile_index) const {
  const GroupCut& group = group_of_tile(cut_, tile_index);
  const TokenTile tile = tile_of(group, tile_index - group.first_tile);
  const GroupBuffers& buffers = buffers_of(group);
  const std::int64_t k = buffers.weights->k_elements;
  const std::int64_t row = row_of(group, tile);
  ActivationRows rows{.row_count = tile.row_count, .k_elements = k};
  if (buffers.a16 != nullptr) {
    rows.values = buffers.a16 + row * k;
  } else {
    rows.codes = buffers.a_codes + row * (k / 2);
    rows.scales = buffers.a_scales + row * (k / kBlockElements);
  }
  return kernels_.pack(rows, workspace_ + tile.activation_offset);
}

template <class Work>
void Runner::for_each_panel_set(const Task& task, Pass pass, const Work& work) const {
  const GroupBuffers& buffers = buffers_of(*task.group);
  const int step = plan_.panel_set_size();
  for (std::int64_t offset = 0; offset < task.panel_count; offset += step) {
    PanelSet set{.task = &task, .first_panel = task.first_panel + offset};
    set.panel_count = static_cast<int>(std::min<std::int64_t>(step, task.panel_count - offset));
    if (plan_.op == Op::kDual && pass == Pass::kOnly) {
      set.weight_panel_count = 2;
      for (int matrix = 0; matrix < 2; ++matrix) {
        set.panels[matrix] = buffers.weights->panel(set.first_panel, matrix);
      }
    } else {
      set.weight_panel_count = set.panel_count;
      for (int i = 0; i < set.panel_count; ++i) {
        set.panels[i] = buffers.weights->panel(set.first_panel + i, pass == Pass::kUp ? 1 : 0);
      }
    }
    work(set);
  }
}

template <class Work>
void Runner::for_each_chunk(const Task& task, const Work& work) const {
  const std::int64_t chunk = plan_.variant.chunk_elements / kSuperblockElements;
  const std::int64_t total = group(task).superblock_count;
  for (std::int64_t first = 0; first < total; first += chunk) {
    work(first, std::min(chunk, total - first));
  }
}

void Runner::compute(const Task& task, Pass pass, int thread_index) const {
  if (!task.group->decode_panels) return direct_task(task, pass, sums(thread_index));
  for_each_panel_set(task, pass, [&](const PanelSet& set) {
    for_each_chunk(task, [&](std::int64_t first, std::int64_t count) {
      decode_chunk(set, first, count, decoded(thread_index, 0));
      multiply_chunk(set, pass, first, count, decoded(thread_index, 0), sums(thread_index));
    });
  });
}

// As many panel sets together as a tile takes panels.
void Runner::direct_task(const Task& task, Pass pass, float* sums) const {
  constexpr std::size_t kSetsMax = kTilePanelsMax / kSumPanels;
  const auto sets_at_once =
      static_cast<std::size_t>(std::max(1, task.group->panels_at_once / kSumPanels));
  PanelSet sets[kSetsMax];
  std::size_t count = 0;
  for_each_panel_set(task, pass, [&](const PanelSet& set) {
    sets[count++] = set;
    if (count < sets_at_once) return;
    direct_panels({sets, count}, pass, sums);
    count = 0;
  });
  if (count > 0) direct_panels({sets, count}, pass, sums);
}

void Runner::direct_panels(std::span<const PanelSet> sets, Pass pass, float* sums) const {
  const Task& task = *sets.front().task;
  for (int index = 0; index < task.token_tile_count; ++index) {
    const TokenTile tile = token_tile(task, index);
    TileArgs args{.activations = workspace_ + tile.activation_offset,
                  .row_count = tile.row_count,
                  .superblock_count = group(task).superblock_count};
    // The first token tile brings the panels into cache; the others find them there.
    if (index == 0) args.prefetch_bytes = std::int64_t{plan_.variant.stages} * kSuperblockBytes;
    direct_tiles(sets, args, sums);
    for (const PanelSet& set : sets) {
      finish(set, pass, tile, sums);
      sums += tile.row_count * kSumColumns;
    }
    sums -= static_cast<std::ptrdiff_t>(sets.size()) * tile.row_count * kSumColumns;
  }
}

// One row of tiles over all panels of the sets: as wide ones as there are, then what is left.
void Runner::direct_tiles(std::span<const PanelSet> sets, TileArgs args, float* sums) const {
  const std::uint8_t* panels[kTilePanelsMax];
  int count = 0;
  for (const PanelSet& set : sets) {
    for (int i = 0; i < set.weight_panel_count; ++i) panels[count++] = set.panels[i];
  }
  const std::int64_t ahead = args.prefetch_bytes;
  int step = sets.front().task->group->panels_at_once;
  for (int panel = 0; panel < count; panel += step) {
    while (step > count - panel) step /= 2;
    std::copy_n(panels + panel, step, args.panels);
    args.sums = sums + (panel / kSumPanels * args.row_count) * kSumColumns +
                panel % kSumPanels * kPanelColumns;
    // Panels follow each other in memory, and each is a stream of its own.
    args.prefetch_bytes = ahead / step;
    args.prefetch_jump_bytes = (step - 1) * args.superblock_count * kSuperblockBytes;
    kernels_.direct_tile(args.row_count, step)(args);
  }
}

void Runner::decode_chunk(const PanelSet& set, std::int64_t first, std::int64_t count,
                          std::uint8_t* out) const {
  const int step = std::min(plan_.tile_panels, set.weight_panel_count);
  for (int panel = 0; panel < set.weight_panel_count; panel += step) {
    const std::uint8_t* panels[kSumPanels] = {nullptr, nullptr};
    for (int i = 0; i < step; ++i) panels[i] = set.panels[panel + i] + first * kSuperblockBytes;
    kernels_.decode(panels, step, count, out);
    out += kernels_.decoded_bytes(step, count);
  }
}

void Runner::multiply_chunk(const PanelSet& set, Pass pass, std::int64_t first, std::int64_t count,
                            const std::uint8_t* decoded, float* sums) const {
  const int step = std::min(plan_.tile_panels, set.weight_panel_count);
  const bool last = first + count == group(*set.task).superblock_count;
  for (int index = 0; index < set.task->token_tile_count; ++index) {
    const TokenTile tile = token_tile(*set.task, index);
    TileArgs args{.activations = workspace_ + tile.activation_offset +
                                 kernels_.activation_bytes(tile.row_count, first),
                  .row_count = tile.row_count,
                  .superblock_count = count,
                  .add = first > 0};
    const TileFunction multiply = kernels_.decoded_tile(tile.row_count, step);
    for (int panel = 0; panel < set.weight_panel_count; panel += step) {
      args.panels[0] = decoded + kernels_.decoded_bytes(panel, count);
      args.sums = sums + panel * kPanelColumns;
      multiply(args);
    }
    if (last) finish(set, pass, tile, sums);
    sums += tile.row_count * kSumColumns;
  }
}

void Runner::finish(const PanelSet& set, Pass pass, const TokenTile& tile,
                    const float* sums) const {
  const GroupPlan& planned = group(*set.task);
  const GroupBuffers& buffers = buffers_of(*set.task->group);
  const std::int64_t column = set.first_panel * kPanelColumns;
  const std::int64_t columns =
      std::min<std::int64_t>(std::int64_t{set.panel_count} * kPanelColumns, planned.n - column);
  FinishArgs args{.sums = sums,
                  .row_count = tile.row_count,
                  .column_count = static_cast<int>(columns),
                  .factor = in_units(buffers.factor, kernels_.unit),
                  .factor_up = in_units(buffers.factor_up, kernels_.unit),
                  .streaming = plan_.variant.store == Store::kStreaming};
  float* gate = reinterpret_cast<float*>(workspace_ + set.task->group->gate_offset) +
                tile.first_row * planned.n + column;
  if (pass == Pass::kGate) {
    args.c = gate;
    args.c_stride_elements = planned.n;
    return plan_.body->finish_gemm[static_cast<int>(Output::kFp32)](args);
  }
  const std::int64_t c_offset = row_of(*set.task->group, tile) * buffers.c_stride_elements + column;
  args.c = static_cast<std::uint8_t*>(buffers.c) + c_offset * bytes_per_element(plan_.output);
  args.c_stride_elements = buffers.c_stride_elements;
  const int output = static_cast<int>(plan_.output);
  if (pass == Pass::kUp) {
    args.gate = gate;
    args.gate_stride_elements = planned.n;
    return plan_.body->finish_second_pass[output](args);
  }
  if (plan_.op == Op::kDual) return plan_.body->finish_dual[output](args);
  plan_.body->finish_gemm[output](args);
}

void Runner::decode_tasks(TaskRange tasks, int pair, int pair_count, Pass pass, Ring& ring) const {
  for (std::int64_t i = pair; i < tasks.count; i += pair_count) {
    const Task task = task_at(plan_, cut_, tasks.first + i);
    for_each_panel_set(task, pass, [&](const PanelSet& set) {
      for_each_chunk(task, [&](std::int64_t first, std::int64_t count) {
        decode_chunk(set, first, count, decoded(2 * pair, ring.wait_for_free_slot()));
        ring.publish();
      });
    });
  }
}

void Runner::multiply_tasks(TaskRange tasks, int pair, int pair_count, Pass pass,
                            Ring& ring) const {
  for (std::int64_t i = pair; i < tasks.count; i += pair_count) {
    const Task task = task_at(plan_, cut_, tasks.first + i);
    for_each_panel_set(task, pass, [&](const PanelSet& set) {
      for_each_chunk(task, [&](std::int64_t first, std::int64_t count) {
        const std::uint8_t* chunk = decoded(2 * pair, ring.wait_for_full_slot());
        multiply_chunk(set, pass, first, count, chunk, sums(2 * pair + 1));
        ring.release();
      });
    });
  }
}

// Threads 2p and 2p + 1 are pair p; a thread left over has nothing to do.
void run_pairs(const Runner& runner, TaskRange tasks, Pass pass, Pool& pool) {
  constexpr int kPairsMax = 256;
  const int pair_count = std::min(pool.thread_count() / 2, kPairsMax);
  Ring rings[kPairsMax];
  pool.run([&](int thread_index) {
    const int pair = thread_index / 2;
    if (pair >= pair_count) return;
    if (thread_index % 2 == 0) {
      runner.decode_tasks(tasks, pair, pair_count, pass, rings[pair]);
    } else {
      runner.multiply_tasks(tasks, pair, pair_count, pass, rings[pair]);
    }
  });
}

void run_tasks(const CpuPlan& plan, const Cut& cut, const Runner& runner, TaskRange tasks,
               Pool& pool) {
  const auto run_pass = [&](Pass pass) {
    if (plan.variant.roles == Roles::kSplit) return run_pairs(runner, tasks, pass, pool);
    pool.for_each_in_stretches(tasks.count, [&](std::int64_t index, int thread_index) {
      runner.compute(task_at(plan, cut, tasks.first + index), pass, thread_index);
    });
  };
  if (!plan.two_pass()) return run_pass(Pass::kOnly);
  run_pass(Pass::kGate);
  run_pass(Pass::kUp);
}

// Packs every token tile; returns tile index * kTileStride + position of the first NaN scale, or a
// number past all of them.
constexpr std::int64_t kTileStride = std::int64_t{1} << 32;
constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();

std::int64_t pack_activations(const Cut& cut, const Runner& runner, Pool& pool) {
  std::atomic<std::int64_t> first_nan{kNowhere};
  pool.for_each(cut.tile_count, [&](std::int64_t index, int) {
    const std::int64_t position = runner.pack(index);
    if (position == kNoNan) return;
    const std::int64_t found = index * kTileStride + position;
    std::int64_t known = first_nan.load();
    while (found < known && !first_nan.compare_exchange_weak(known, found)) {
    }
  });
  return first_nan.load();
}

}  // namespace

NanScale run(const CpuPlan& plan, const Cut& cut, const CallBuffers& buffers,
             std::uint8_t* workspace, Pool& pool) {
  THRESHER_ASSERT(pool.thread_count() == plan.thread_count);
  THRESHER_ASSERT(buffers.groups.size() == plan.groups.size());
  if (cut.task_count == 0) return {};
  const Runner runner(plan, cut, buffers, workspace);
  if (const std::int64_t nan = pack_activations(cut, runner, pool); nan != kNowhere) {
    const TokenTile tile = tile_at(cut, nan / kTileStride);
    const std::int64_t blocks =
        buffers.groups[static_cast<std::size_t>(tile.group_index)].weights->k_elements /
        kBlockElements;
    return {.found = true,
            .group_index = tile.group_index,
            .row = tile.first_row + nan % kTileStride / blocks,
            .block = nan % kTileStride % blocks};
  }
  if (plan.variant.schedule == Schedule::kTogether) {
    run_tasks(plan, cut, runner, {.first = 0, .count = cut.task_count}, pool);
  } else {
    for (const GroupCut& group : cut.groups) {
      run_tasks(plan, cut, runner, {.first = group.first_task, .count = group.task_count}, pool);
    }
  }
  return {};
}

void rehearse(const CpuPlan& plan, Pool& pool) {
  const int times = plan.two_pass() ? 3 : 2;
  for (int i = 0; i < times; ++i) pool.for_each(0, [](std::int64_t, int) {});
}

}  // namespace thresher::cpu
