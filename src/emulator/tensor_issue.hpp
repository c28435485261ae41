// SPDX-License-Identifier: Apache-2.0
// What a thread issues to the tensor cores: of its own block, or, as a pair's leader, of both
// blocks of its pair. Each block then reads its own shared memory at the addresses that the word
// names, and its own tensor memory in the columns that it names.
#pragma once

#include <array>
#include <vector>

#include "emulator/block.hpp"
#include "emulator/tensor_core.hpp"
#include "gpu/hw/sm100/descriptors.hpp"

namespace thresher::emulator {

using gpu::hw::SharedAddress;

inline constexpr int kPairBlocks = 2;

// The blocks that a word acts on, by their place in the pair: its block alone, or both.
struct TensorBlocks {
  std::array<Block*, kPairBlocks> of{};
  int count = 1;

  Block* const* begin() const { return of.data(); }
  Block* const* end() const { return of.data() + count; }
};

// `count` is what the word says, 1 or 2; whatever forbids it is a fault.
TensorBlocks tensor_blocks(const Thread& thread, int count, const char* word);
// Likewise of a word that the leader of a pair says for both.
TensorBlocks tensor_blocks_of_leader(const Thread& thread, int count, const char* word);

TensorCore& tensor_core(Block& block);

// Of 32 rows, or of twice as many.
void issue_copy(Thread& thread, const TensorBlocks& blocks, TensorAddress destination,
                u64 descriptor, u32 rows);
void issue_multiply(Thread& thread, const TensorBlocks& blocks, const gpu::hw::BlockScaledMma& mma);
// An arrival at the barrier of this address in every one of the blocks.
void issue_commit(Thread& thread, std::vector<Block*> blocks, SharedAddress barrier);

}  // namespace thresher::emulator
