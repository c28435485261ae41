// SPDX-License-Identifier: Apache-2.0
// A cluster of blocks that are resident together; a block that is alone is a cluster of one. What
// acts on shared and tensor memory is numbered over the whole cluster, so that a thread can know of
// what another block's threads did.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/knowledge.hpp"
#include "gpu/hw/words.hpp"

namespace thresher::emulator {

struct Block;
struct Thread;

// A shared address as the whole cluster knows it: the block's rank above, counted from 1.
inline constexpr u32 kRankBit = 24;
inline u32 rank_of(gpu::hw::ClusterAddress address) { return (address >> kRankBit) - 1; }
inline gpu::hw::SharedAddress address_in_block(gpu::hw::ClusterAddress address) {
  return address & ((1u << kRankBit) - 1);
}

// The barrier of all threads of a cluster. Arriving and waiting are words of their own.
struct ClusterBarrier {
  u32 phase = 0;
  int arrived_count = 0;
  Knowledge gathered;
  Knowledge released;  // of the last complete phase
  std::vector<Thread*> waiting;
};

// A word that a warp of each block of a pair says together, when one of them has come.
struct PairMeeting {
  Thread* first = nullptr;  // null: nobody has come
  std::string_view word;
  u32 columns = 0;
  u32 place = 0;   // what else both must say alike
  u32 answer = 0;  // for the first
};

struct Cluster {
  Cluster(int block_count, int threads_per_block)
      : thread_count(block_count * threads_per_block), meetings_((block_count + 1u) / 2) {}

  int size() const { return static_cast<int>(blocks.size()); }
  PairMeeting& meeting_of(int rank) { return meetings_[static_cast<std::size_t>(rank / 2)]; }

  // The texts say what the actor did to shared memory, for messages.
  Actor new_actor(std::string write_text, std::string read_text);
  // "thread 5 wrote with no barrier in between", and the like, as a thread of block `rank` sees it.
  std::string describe_write(Actor actor, u32 event, int rank) const;
  std::string describe_read(Actor actor, int rank) const;
  // "thread 5", or "thread 5 of block 1" where that is another block.
  std::string name_of_thread(Actor actor, int rank) const;
  bool is_thread(Actor actor) const { return actor < thread_count; }

  std::vector<Block*> blocks;  // by rank
  int thread_count;            // of all blocks
  int ended_count = 0;         // blocks
  ClusterBarrier barrier;

 private:
  std::vector<PairMeeting> meetings_;  // by pair

  struct ActorText {
    std::string write;
    std::string read;
  };
  std::vector<ActorText> actors_;  // those after the threads
};

}  // namespace thresher::emulator
