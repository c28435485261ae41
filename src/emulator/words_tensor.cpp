// SPDX-License-Identifier: Apache-2.0
// The words of tcgen05.
#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "emulator/tensor_descriptor.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::emulator {

void TensorOperation::advance() {
  if (done_) return;
  done_ = true;
  const TensorStep step = std::move(thread_.in_flight.front());
  thread_.in_flight.pop_front();
  step.run();
}

}  // namespace thresher::emulator

namespace thresher::gpu::hw {

using emulator::Barrier;
using emulator::Block;
using emulator::fault;
using emulator::kTensorQuarters;
using emulator::MatrixView;
using emulator::self;
using emulator::TensorAccess;
using emulator::TensorCore;
using emulator::TensorMemory;
using emulator::TensorThread;
using emulator::TensorWarp;
using emulator::TensorWord;
using emulator::Thread;
using emulator::Warp;

namespace {

constexpr u32 kColumnMask = 0xffff;
constexpr u32 kLoadInFlight = 0x7fa5'5a5a;  // what a register holds until its load is waited for

TensorCore& tensor_core(Block& block) {
  if (block.tensor == nullptr) block.tensor = std::make_unique<TensorCore>();
  return *block.tensor;
}

// The next event of the thread's MMAs and copies.
u32 next_event(Thread& thread) {
  TensorThread& tensor = thread.tensor;
  if (tensor.actor == 0) {
    tensor.actor = thread.block->new_actor(
        "", fmt::format("MMAs or copies of scales of thread {} may still be reading: the thread "
                        "has not seen their commit",
                        thread.index));
  }
  return ++tensor.event_count;
}

void start(Thread& thread, u32 event, std::function<void()> run) {
  thread.tensor.in_flight.push_back({std::move(run), event});
  thread.block->grid->start(
      std::make_shared<emulator::TensorOperation>(*thread.block, thread.tensor));
}

// A word that commits behind it wait for.
void issue_word(Thread& thread, u32 event, std::function<void()> run) {
  thread.tensor.issued = thread.knowledge.without(thread.actor());
  start(thread, event, std::move(run));
}

void check_place(const Thread& thread, const char* what, TensorAddress first, u32 columns,
                 u32 alignment) {
  if (first >> 16 != 0) {
    fault(thread, "has {} begin in lane {} of tensor memory, and they begin in lane 0", what,
          first >> 16);
  }
  const std::string wrong = tensor_core(*thread.block).memory.misplaced(first, columns, alignment);
  if (!wrong.empty()) {
    fault(thread, "has {} in {} columns of tensor memory from {} on, {}", what, columns,
          first & kColumnMask, wrong);
  }
}

// Rows of a matrix as the tensor core reads them, `chunks` of 16 bytes each.
void note_rows(Thread& thread, u32 event, const char* what, const MatrixView& view, u32 rows,
               int chunks) {
  emulator::SharedMemory& shared = thread.block->shared;
  const Thread* const pointer = &thread;
  const emulator::Access access{.threads = &pointer,
                                .actor = thread.tensor.actor,
                                .event = event,
                                .by = " by tcgen05",
                                .async = true};
  for (u32 row = 0; row < rows; ++row) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const SharedAddress address = view.chunk_address(static_cast<int>(row), chunk);
      const std::string misplaced = shared.misplaced(address, 16, 16);
      if (!misplaced.empty()) {
        fault(thread, "gives tcgen05 a descriptor of {} whose row {} lies at {:#x}, {}", what, row,
              address, misplaced);
      }
      shared.note_read(address, 16, access);
    }
  }
}

void note_operand(Thread& thread, u32 event, const char* what, u64 descriptor, u32 rows) {
  const std::string wrong = emulator::operand_fault(descriptor, static_cast<int>(rows));
  if (!wrong.empty()) fault(thread, "gives an MMA a descriptor of {} that {}", what, wrong);
  note_rows(thread, event, what, emulator::decode_tensor_descriptor(descriptor), rows, 2);
}

u32 scale_columns(u32 rows) { return (rows + 31) / 32; }

bool overlap(u32 a, u32 a_columns, u32 b, u32 b_columns) {
  return a < b + b_columns && b < a + a_columns;
}

// Where sums and scales lie, and whether they may be touched.
void note_mma(Thread& thread, u32 event, const BlockScaledMma& mma, u32 columns) {
  const u32 b_columns = scale_columns(columns);
  check_place(thread, "sums", mma.sums, columns, 1);
  check_place(thread, "scales of A", mma.a_scales, kScaleColumns, kScaleColumns);
  check_place(thread, "scales of B", mma.b_scales, b_columns, 2);
  const std::pair<u32, u32> scales[] = {{mma.a_scales, kScaleColumns}, {mma.b_scales, b_columns}};
  for (const auto& [first, count] : scales) {
    if (overlap(mma.sums, columns, first, count)) {
      fault(thread, "has sums in columns {} to {} of tensor memory and scales in {} to {} of them",
            mma.sums, mma.sums + columns - 1, first, first + count - 1);
    }
  }
  TensorMemory& memory = tensor_core(*thread.block).memory;
  TensorAccess access{
      .thread = &thread, .word = TensorWord::kMma, .actor = thread.tensor.actor, .event = event};
  memory.note_read({.first = mma.a_scales, .columns = kScaleColumns, .what = "scales of A"},
                   access);
  memory.note_read({.first = mma.b_scales, .columns = b_columns, .what = "scales of B"}, access);
  access.first_column = mma.sums;
  access.columns = columns;
  const TensorMemory::Area sums{.first = mma.sums, .columns = columns, .what = "sums"};
  if (mma.add) memory.note_read(sums, access);
  memory.note_write(sums, access);
}

void arrive_for(const Thread& thread, Barrier& barrier, u32 event,
                const emulator::Knowledge& issued) {
  if (barrier.arrivals_missing == 0) {
    fault(thread,
          "has a commit arrive at the barrier at {:#x}, which has all {} arrivals of phase "
          "{}",
          barrier.address, barrier.arrivals_per_phase, barrier.phase);
  }
  --barrier.arrivals_missing;
  barrier.gathered.see(thread.tensor.actor, event);
  barrier.gathered.join(issued);
  barrier.last_copy_event = barrier.phase + 1;
  thread.block->grid->complete_phase_if_due(barrier);
}

// Every warp of tensor_* words together; true in the thread that acts for all.
bool meet(Thread& thread, const char* word) {
  thread.block->grid->pause(thread);
  return thread.warp().meeting.join(thread, word);
}

void check_allocation(const Thread& thread, u32 columns) {
  if (columns < 32 || columns > kTensorColumns || !std::has_single_bit(columns)) {
    fault(thread, "allocates {} columns of tensor memory, no power of two from 32 to 512", columns);
  }
}

void check_load(Thread& thread, TensorAddress first, u32 columns) {
  const u32 quarter = static_cast<u32>(warp_index()) % kTensorQuarters;
  const u32 lane = first >> 16;
  if (lane != quarter * kLanesPerWarp) {
    fault(thread, "loads lanes {} on of tensor memory, and its warp reaches {} to {}", lane,
          quarter * kLanesPerWarp, quarter * kLanesPerWarp + kLanesPerWarp - 1);
  }
  const std::string wrong = tensor_core(*thread.block).memory.misplaced(first, columns, 1);
  if (!wrong.empty()) {
    fault(thread, "loads {} columns of tensor memory from {} on, {}", columns, first & kColumnMask,
          wrong);
  }
}

}  // namespace

void tensor_allocate(SharedAddress where, u32 columns) {
  Thread& thread = self();
  Block& block = *thread.block;
  check_allocation(thread, columns);
  TensorCore& core = tensor_core(block);
  if (core.allocates_no_more) {
    fault(thread, "allocates tensor memory after tensor_allocate_no_more");
  }
  if (!meet(thread, "tensor_allocate")) return;
  const u32 first = core.memory.allocate(columns, block.grid->random().below(kTensorColumns));
  if (first == TensorMemory::kNowhere) {
    fault(thread,
          "allocates {} columns of tensor memory beside {} of its block: it would wait for "
          "ever",
          columns, core.memory.allocated_columns());
  }
  store_shared_bytes(where, &first, sizeof first);
  thread.warp().meeting.release();
}

void tensor_free(TensorAddress first, u32 columns) {
  Thread& thread = self();
  TensorMemory& memory = tensor_core(*thread.block).memory;
  memory.check_idle(std::min(first & kColumnMask, kTensorColumns),
                    std::min(columns, kTensorColumns - std::min(first, kTensorColumns)), thread);
  if (!meet(thread, "tensor_free")) return;
  if (!memory.release(first, columns)) {
    fault(thread, "frees {} columns of tensor memory from {} on, which is no allocation", columns,
          first);
  }
  memory.forget(first, columns);
  thread.warp().meeting.release();
}

void tensor_allocate_no_more(Site site) {
  if (leaves_out(site, "tensor_allocate_no_more")) return;
  Thread& thread = self();
  if (!meet(thread, "tensor_allocate_no_more")) return;
  tensor_core(*thread.block).allocates_no_more = true;
  thread.warp().meeting.release();
}

void tensor_fence_before(Site site) {
  if (leaves_out(site, "tensor_fence_before")) return;
  Thread& thread = self();
  const TensorWarp& warp = thread.warp().tensor;
  if (warp.actor != 0) thread.knowledge.see(warp.actor, warp.waited_count);
}

void tensor_fence_after(Site site) {
  if (leaves_out(site, "tensor_fence_after")) return;
  Thread& thread = self();
  thread.tensor.fenced.join(thread.knowledge);
}

void tensor_copy_scales(TensorAddress destination, u64 descriptor) {
  Thread& thread = self();
  Block& block = *thread.block;
  block.grid->pause(thread);
  const u32 event = next_event(thread);
  const std::string wrong = emulator::scale_source_fault(descriptor);
  if (!wrong.empty()) fault(thread, "copies scales by a descriptor that {}", wrong);
  const MatrixView view = emulator::decode_tensor_descriptor(descriptor);
  note_rows(thread, event, "scales", view, kLanesPerWarp, 1);
  check_place(thread, "a copy of scales", destination, kScaleColumns, kScaleColumns);
  TensorMemory& memory = tensor_core(block).memory;
  memory.note_write(
      {.first = destination, .columns = kScaleColumns, .what = "scales"},
      {.thread = &thread, .word = TensorWord::kCopy, .actor = thread.tensor.actor, .event = event});
  issue_word(thread, event, [&block, &memory, view, destination] {
    for (u32 lane = 0; lane < kTensorLanes; ++lane) {
      const u8* const row =
          block.shared.data(view.chunk_address(static_cast<int>(lane % kLanesPerWarp), 0));
      for (u32 i = 0; i < kScaleColumns; ++i) {
        std::memcpy(&memory.at(lane, destination + i), row + 4 * i, sizeof(u32));
      }
    }
  });
}

void tensor_multiply(const BlockScaledMma& mma) {
  Thread& thread = self();
  Block& block = *thread.block;
  block.grid->pause(thread);
  const u32 event = next_event(thread);
  const std::string wrong = emulator::instruction_fault(mma.instruction);
  if (!wrong.empty()) fault(thread, "issues an MMA whose instruction descriptor {}", wrong);
  const emulator::InstructionView view = emulator::decode_instruction(mma.instruction);
  note_operand(thread, event, "A", mma.a, view.rows);
  note_operand(thread, event, "B", mma.b, view.columns);
  note_mma(thread, event, mma, view.columns);
  const emulator::TensorMma work{.a = emulator::decode_tensor_descriptor(mma.a),
                                 .b = emulator::decode_tensor_descriptor(mma.b),
                                 .columns = view.columns,
                                 .negate = view.negate_a != view.negate_b,
                                 .sums = mma.sums,
                                 .a_scales = mma.a_scales,
                                 .b_scales = mma.b_scales,
                                 .add = mma.add,
                                 .model = block.grid->options().tensor_sums};
  TensorMemory& memory = tensor_core(block).memory;
  issue_word(thread, event, [&block, &memory, work] { multiply(work, block.shared, memory); });
}

void tensor_commit(SharedAddress barrier_address, Site site) {
  if (leaves_out(site, "tensor_commit")) return;
  Thread& thread = self();
  thread.block->grid->pause(thread);
  const u32 event = next_event(thread);
  Barrier& barrier = thread.block->barrier_at(thread, barrier_address);
  if (!barrier.fenced) {
    fault(thread, "commits to the barrier at {:#x}, which had no barrier_init_fence",
          barrier_address);
  }
  start(thread, event, [&thread, &barrier, event, issued = thread.tensor.issued] {
    arrive_for(thread, barrier, event, issued);
  });
}

void tensor_load_columns(TensorAddress first, float* values, u32 columns) {
  Thread& thread = self();
  Warp& warp = thread.warp();
  check_load(thread, first, columns);
  const int lane = lane_index();
  warp.given[static_cast<std::size_t>(lane)] = first;
  warp.tensor.arriving.push_back({lane, values, first & kColumnMask, columns, {}});
  std::fill_n(values, columns, std::bit_cast<float>(kLoadInFlight));
  if (!meet(thread, "tensor_load")) return;
  TensorWarp& tensor = warp.tensor;
  if (tensor.actor == 0) tensor.actor = thread.block->new_actor("", "");
  ++tensor.load_count;
  const u32 quarter = static_cast<u32>(warp_index()) % kTensorQuarters;
  for (const Thread* const other : warp.meeting.arrived()) {
    if (warp.given[static_cast<std::size_t>(other->index % kWarpThreads)] != first) {
      fault(*other, "loads from another place of tensor memory than thread {} of its warp",
            thread.index);
    }
    tensor_core(*thread.block)
        .memory.note_read({.first = first & kColumnMask,
                           .columns = columns,
                           .quarter = quarter,
                           .what = "values"},
                          {.thread = other,
                           .word = TensorWord::kLoad,
                           .actor = tensor.actor,
                           .event = tensor.load_count});
  }
  tensor.loads.insert(tensor.loads.end(), tensor.arriving.begin(), tensor.arriving.end());
  tensor.arriving.clear();
  warp.meeting.release();
}

void tensor_wait_for(const float* values, const Site& site) {
  if (leaves_out(site, "tensor_wait_loads")) return;
  Thread& thread = self();
  TensorWarp& tensor = thread.warp().tensor;
  tensor.named[static_cast<std::size_t>(lane_index())] = values;
  if (!meet(thread, "tensor_wait_loads")) return;
  TensorMemory& memory = tensor_core(*thread.block).memory;
  const u32 quarter = static_cast<u32>(warp_index()) % kTensorQuarters;
  for (TensorWarp::Load& load : tensor.loads) {
    const u32 lane = quarter * kLanesPerWarp + static_cast<u32>(load.lane);
    for (u32 i = static_cast<u32>(load.complete.size()); i < load.columns; ++i) {
      load.complete.push_back(std::bit_cast<float>(memory.at(lane, load.first_column + i)));
    }
  }
  std::erase_if(tensor.loads, [&](const TensorWarp::Load& load) {
    if (tensor.named[static_cast<std::size_t>(load.lane)] != load.values) return false;
    std::copy(load.complete.begin(), load.complete.end(), load.values);
    return true;
  });
  tensor.waited_count = tensor.load_count;
  thread.warp().meeting.release();
}

}  // namespace thresher::gpu::hw
