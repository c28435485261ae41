// SPDX-License-Identifier: Apache-2.0
#include "emulator/tensor_issue.hpp"

#include <cstring>
#include <utility>

#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "emulator/tensor_descriptor.hpp"

namespace thresher::emulator {
namespace {

using gpu::hw::BlockScaledMma;
using gpu::hw::kLanesPerWarp;
using gpu::hw::kScaleColumns;
using gpu::hw::kTensorLanes;

constexpr u32 kColumnMask = 0xffff;

// The next event of the thread's MMAs and copies.
u32 next_event(Thread& thread) {
  TensorThread& tensor = thread.tensor;
  if (tensor.actor == 0) {
    tensor.actor = thread.block->new_actor(
        "", fmt::format("MMAs or copies of scales of {} may still be reading: the thread has not "
                        "seen their commit",
                        thread.block->cluster->size() == 1 ? fmt::format("thread {}", thread.index)
                                                           : thread.name()));
  }
  return ++tensor.event_count;
}

void start(Thread& thread, u32 event, std::function<void()> run) {
  thread.tensor.in_flight.push_back({std::move(run), event});
  thread.block->grid->start(std::make_shared<TensorOperation>(*thread.block, thread.tensor));
}

// A word that commits behind it wait for.
void issue_word(Thread& thread, u32 event, std::function<void()> run) {
  note_alone(thread);
  thread.tensor.issued = thread.knowledge.without(thread.actor());
  start(thread, event, std::move(run));
}

// " of the other block of its pair", where the thread is in another one.
const char* of_other(const Thread& thread, const Block& block) {
  return thread.block == &block ? "" : " of the other block of its pair";
}

void check_place(const Thread& thread, Block& block, const char* what, TensorAddress first,
                 u32 columns, u32 alignment) {
  if (first >> 16 != 0) {
    fault(thread, "has {} begin in lane {} of tensor memory, and they begin in lane 0", what,
          first >> 16);
  }
  const std::string wrong = tensor_core(block).memory.misplaced(first, columns, alignment);
  if (!wrong.empty()) {
    fault(thread, "has {} in {} columns of tensor memory{} from {} on, {}", what, columns,
          of_other(thread, block), first & kColumnMask, wrong);
  }
}

// Rows of a matrix as the tensor core reads them, `chunks` of 16 bytes each.
void note_rows(const Thread& thread, Block& block, u32 event, const char* what,
               const MatrixView& view, u32 rows, int chunks) {
  const Thread* const pointer = &thread;
  const Access access{
      .threads = &pointer,
      .actor = thread.tensor.actor,
      .event = event,
      .by = thread.block == &block ? " by tcgen05" : " of the other block of its pair by tcgen05",
      .async = true};
  for (u32 row = 0; row < rows; ++row) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const SharedAddress address = view.chunk_address(static_cast<int>(row), chunk);
      const std::string misplaced = block.shared.misplaced(address, 16, 16);
      if (!misplaced.empty()) {
        fault(thread, "gives tcgen05 a descriptor of {} whose row {} lies at {:#x}, {}", what, row,
              address, misplaced);
      }
      block.shared.note_read(address, 16, access);
    }
  }
}

void note_operand(const Thread& thread, const TensorBlocks& blocks, u32 event, const char* what,
                  u64 descriptor, u32 rows_per_block) {
  const std::string wrong = operand_fault(descriptor, static_cast<int>(rows_per_block));
  if (!wrong.empty()) fault(thread, "gives an MMA a descriptor of {} that {}", what, wrong);
  const MatrixView view = decode_tensor_descriptor(descriptor);
  for (Block* const block : blocks) {
    note_rows(thread, *block, event, what, view, rows_per_block, 2);
  }
}

u32 scale_columns(u32 rows) { return (rows + 31) / 32; }

// Columns of B and of the sums that follow each other in tensor memory: of 64 rows, half of them
// lie beside the other half, in other lanes.
u32 columns_in_a_row(const InstructionView& view, u32 rows) {
  return rows == gpu::hw::kBlockScaledRows ? view.columns : view.columns / 2;
}

bool overlap(u32 a, u32 a_columns, u32 b, u32 b_columns) {
  return a < b + b_columns && b < a + a_columns;
}

// What a block has in tensor memory, in words; of the other block where the thread is not in it.
struct AreaNames {
  const char* sums;
  const char* a_scales;
  const char* b_scales;
  const char* scales;
};

AreaNames names_of(const Thread& thread, const Block& block) {
  if (thread.block == &block) return {"sums", "scales of A", "scales of B", "scales"};
  return {"its peer's sums", "its peer's scales of A", "its peer's scales of B",
          "its peer's scales"};
}

// Where sums and scales of one block lie, and whether they may be touched. Every block has all
// columns of sums, of its own rows, and the scales of all columns.
void note_mma(Thread& thread, Block& block, u32 event, const BlockScaledMma& mma, u32 rows,
              u32 columns) {
  const u32 a_columns = scale_columns(rows);
  const u32 b_columns = scale_columns(columns);
  check_place(thread, block, "sums", mma.sums, columns, 1);
  check_place(thread, block, "scales of A", mma.a_scales, a_columns, kScaleColumns);
  check_place(thread, block, "scales of B", mma.b_scales, b_columns, 2);
  const std::pair<u32, u32> scales[] = {{mma.a_scales, a_columns}, {mma.b_scales, b_columns}};
  for (const auto& [first, count] : scales) {
    if (overlap(mma.sums, columns, first, count)) {
      fault(thread, "has sums in columns {} to {} of tensor memory and scales in {} to {} of them",
            mma.sums, mma.sums + columns - 1, first, first + count - 1);
    }
  }
  const AreaNames names = names_of(thread, block);
  TensorMemory& memory = tensor_core(block).memory;
  TensorAccess access{
      .thread = &thread, .word = TensorWord::kMma, .actor = thread.tensor.actor, .event = event};
  memory.note_read({.first = mma.a_scales, .columns = a_columns, .what = names.a_scales}, access);
  memory.note_read({.first = mma.b_scales, .columns = b_columns, .what = names.b_scales}, access);
  access.first_column = mma.sums;
  access.columns = columns;
  access.rows = rows;
  const TensorMemory::Area sums{.first = mma.sums, .columns = columns, .what = names.sums};
  if (mma.add) memory.note_read(sums, access);
  memory.note_write(sums, access);
}

// Of 32 rows, every warp's lanes have all; of 64, those of warps 0 and 1 the first 32.
void copy_rows(Block& block, const MatrixView& view, u32 rows, TensorAddress destination) {
  TensorMemory& memory = tensor_core(block).memory;
  for (u32 lane = 0; lane < kTensorLanes; ++lane) {
    const u32 first = rows == kLanesPerWarp ? 0 : lane / rows * kLanesPerWarp;
    const u8* const row =
        block.shared.data(view.chunk_address(static_cast<int>(first + lane % kLanesPerWarp), 0));
    for (u32 i = 0; i < kScaleColumns; ++i) {
      std::memcpy(&memory.at(lane, destination + i), row + 4 * i, sizeof(u32));
    }
  }
}

void arrive_for(const Thread& thread, Block& block, Barrier& barrier, u32 event,
                const Knowledge& issued) {
  if (block.has_ended()) {
    fault(thread, "has a commit arrive at a barrier of block {}, which has ended", block.index);
  }
  if (barrier.arrivals_missing == 0) {
    fault(thread,
          "has a commit arrive at the barrier at {:#x}, which has all {} arrivals of phase "
          "{}",
          barrier.address, barrier.arrivals_per_phase, barrier.phase);
  }
  --barrier.arrivals_missing;
  Knowledge& gathered = thread.block == &block ? barrier.gathered : barrier.gathered_far;
  gathered.see(thread.tensor.actor, event);
  gathered.join(issued);
  barrier.last_copy_event = barrier.phase + 1;
  block.grid->complete_phase_if_due(barrier);
}

}  // namespace

TensorCore& tensor_core(Block& block) {
  if (block.tensor == nullptr) block.tensor = std::make_unique<TensorCore>();
  return *block.tensor;
}

TensorBlocks tensor_blocks(const Thread& thread, int count, const char* word) {
  Block& own = *thread.block;
  int& group = own.grid->tensor_blocks();
  if (group == 0) group = count;
  if (group != count) {
    fault(thread,
          "says {} for {}, and the kernel has said others for {}: all words of tcgen05 in a kernel "
          "are for one block, or all are for pairs",
          word, count == 1 ? "its block" : "a pair of blocks", group == 1 ? "one block" : "pairs");
  }
  if (count == 1) return {.of = {&own}};
  Block* const peer = own.peer();
  if (peer == nullptr) {
    fault(thread, "says {} for a pair of blocks, and its cluster has one block", word);
  }
  if (peer->has_ended()) {
    fault(thread, "says {} for a pair of blocks, of which block {} has ended", word, peer->index);
  }
  TensorBlocks both{.of = {&own, peer}, .count = kPairBlocks};
  if (own.rank % kPairBlocks != 0) std::swap(both.of[0], both.of[1]);
  return both;
}

TensorBlocks tensor_blocks_of_leader(const Thread& thread, int count, const char* word) {
  if (count > 1 && thread.block->rank % kPairBlocks != 0) {
    fault(thread, "says {} for its pair, and is not in the block of even rank, which leads", word);
  }
  return tensor_blocks(thread, count, word);
}

void issue_copy(Thread& thread, const TensorBlocks& blocks, TensorAddress destination,
                u64 descriptor, u32 rows) {
  const u32 event = next_event(thread);
  const std::string wrong = scale_source_fault(descriptor);
  if (!wrong.empty()) fault(thread, "copies scales by a descriptor that {}", wrong);
  const MatrixView view = decode_tensor_descriptor(descriptor);
  for (Block* const block : blocks) {
    note_rows(thread, *block, event, "scales", view, rows, 1);
    check_place(thread, *block, "a copy of scales", destination, kScaleColumns, kScaleColumns);
    tensor_core(*block).memory.note_write(
        {.first = destination, .columns = kScaleColumns, .what = names_of(thread, *block).scales},
        {.thread = &thread,
         .word = TensorWord::kCopy,
         .actor = thread.tensor.actor,
         .event = event});
  }
  issue_word(thread, event, [blocks, view, rows, destination] {
    for (Block* const block : blocks) copy_rows(*block, view, rows, destination);
  });
}

void issue_multiply(Thread& thread, const TensorBlocks& blocks, const BlockScaledMma& mma) {
  const u32 event = next_event(thread);
  const std::string wrong = instruction_fault(mma.instruction, blocks.count);
  if (!wrong.empty()) fault(thread, "issues an MMA whose instruction descriptor {}", wrong);
  const InstructionView view = decode_instruction(mma.instruction);
  const auto count = static_cast<u32>(blocks.count);
  const u32 rows = view.rows / count;
  note_operand(thread, blocks, event, "A", mma.a, rows);
  note_operand(thread, blocks, event, "B", mma.b, view.columns / count);
  const u32 in_a_row = columns_in_a_row(view, rows);
  for (Block* const block : blocks) note_mma(thread, *block, event, mma, rows, in_a_row);
  const TensorMma work{.a = decode_tensor_descriptor(mma.a),
                       .b = decode_tensor_descriptor(mma.b),
                       .rows = rows,
                       .columns = view.columns,
                       .negate = view.negate_a != view.negate_b,
                       .sums = mma.sums,
                       .a_scales = mma.a_scales,
                       .b_scales = mma.b_scales,
                       .add = mma.add,
                       .model = thread.block->grid->options().tensor_sums};
  issue_word(thread, event, [blocks, work] {
    std::vector<TensorSide> sides;
    for (Block* const block : blocks)
      sides.push_back({&block->shared, &tensor_core(*block).memory});
    multiply(work, sides);
  });
}

void issue_commit(Thread& thread, std::vector<Block*> blocks, SharedAddress barrier_address) {
  const u32 event = next_event(thread);
  // Which of them hears first is nobody's to know.
  for (std::size_t i = blocks.size(); i > 1; --i) {
    std::swap(blocks[i - 1], blocks[thread.block->grid->random().below(i)]);
  }
  for (Block* const block : blocks) {
    Barrier& barrier = block->barrier_at(thread, barrier_address);
    if (!barrier.fenced) {
      fault(thread, "commits to the barrier at {:#x}, which had no barrier_init_fence",
            barrier_address);
    }
    if (block != thread.block) {
      block->others_work[thread.tensor.actor] = {
          event, "a commit of another block, which arrives at its barrier, is complete"};
    }
    start(thread, event, [&thread, block, &barrier, event, issued = thread.tensor.issued] {
      arrive_for(thread, *block, barrier, event, issued);
    });
  }
}

}  // namespace thresher::emulator
