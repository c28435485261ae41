// SPDX-License-Identifier: Apache-2.0
// A resident block: its threads, warps and warpgroups, its shared memory and barriers, as plain
// state. The words (words_*.cpp) act on it; the grid decides who runs.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emulator/barrier.hpp"
#include "emulator/cluster.hpp"
#include "emulator/convergence.hpp"
#include "emulator/copies.hpp"
#include "emulator/fibre.hpp"
#include "emulator/knowledge.hpp"
#include "emulator/meeting.hpp"
#include "emulator/mma.hpp"
#include "emulator/shared_memory.hpp"
#include "emulator/tensor_core.hpp"
#include "gpu/hw/sm90/tensor_map.hpp"

namespace thresher::emulator {

class Grid;
struct Block;
struct Warp;

// What a thread waits for, kept for the report of a deadlock.
struct Wait {
  enum class Kind : u8 { kNothing, kBarrier, kNamed, kMeeting, kRegisters, kCluster, kPair };
  Kind kind = Kind::kNothing;
  const Barrier* barrier = nullptr;
  u32 parity = 0;
  bool cluster_wide = false;  // whether it learns what other blocks' arrivals tell
  int named_id = 0;
  const Meeting* meeting = nullptr;
  int registers = 0;
  const char* word = "";  // that a pair says
};

struct Thread {
  Block* block = nullptr;
  int index = 0;
  int index_in_cluster = 0;
  std::unique_ptr<Fibre> fibre;
  Wait wait;
  bool ended = false;

  Knowledge knowledge;
  int registers = 0;
  u32 cluster_arrivals = 0;  // at the cluster's barrier, and how often it has waited there
  u32 cluster_waits = 0;

  // Global memory: what it knew when it last said fence_device or fence_async_global, and what it
  // will know when it says fence_device next.
  Views released;
  Views to_acquire;
  Knowledge known_to_copies;
  std::set<const gpu::hw::TensorMap*> maps_fenced;  // in global memory: it may copy by them

  // Copies to global memory. Groups are counted from 1; their actor exists from the first copy on.
  std::deque<std::shared_ptr<CopyToGlobal>> copies;
  u32 copy_groups_committed = 0;
  u32 copy_groups_waited = 0;  // that have left shared memory
  Actor copy_actor = 0;        // they have left shared memory
  Actor arrival_actor = 0;     // they have arrived

  // Copies of pieces to shared memory, likewise.
  std::deque<std::shared_ptr<CopyPiece>> pieces;
  u32 piece_groups_committed = 0;
  Actor piece_actor = 0;

  MmaThread mma;
  TensorThread tensor;
  WarpThread together;

  Warp& warp() const;
  Warpgroup& warpgroup() const;
  std::string name() const;

  Actor actor() const { return static_cast<Actor>(index_in_cluster); }
  u32 event() const { return knowledge.seen(actor()); }
  // Begins a new event, after the thread has handed on what it knew.
  void advance() { knowledge.see(actor(), event() + 1); }
  // Copies and MMAs may see its stores to shared memory so far.
  void fence_async();
};

// What a lane brings to an MMA of its warp.
struct WarpMma {
  float* d = nullptr;
  const u32* a = nullptr;
  const u32* b = nullptr;
};

struct Warp {
  Meeting meeting;
  int elected_lane;
  std::array<u32, gpu::hw::kWarpThreads> given{};  // by lane: what the word was told
  std::array<u32, gpu::hw::kWarpThreads> taken{};  // and what it answers
  std::array<std::array<u32, 4>, gpu::hw::kWarpThreads> matrices_given{};
  std::array<std::array<u32, 4>, gpu::hw::kWarpThreads> matrices_taken{};
  std::array<std::array<u32, 4>, gpu::hw::kWarpThreads> rows_taken{};  // by the lane that named it
  std::array<WarpMma, gpu::hw::kWarpThreads> mmas{};
  TensorWarp tensor;
  AlignedWords aligned;
};

struct OthersWork {
  u32 event = 0;  // the last
  std::string what;
};

struct Block {
  Block(Grid& owner, int block_index, std::shared_ptr<Cluster> of_cluster);

  // `user` may be a thread of another block of the cluster.
  Barrier& barrier_at(const Thread& user, SharedAddress address);
  Actor new_actor(std::string write_text, std::string read_text) {
    return cluster->new_actor(std::move(write_text), std::move(read_text));
  }
  // The other block of its pair; null: there is none.
  Block* peer() const;
  bool has_ended() const { return ended_count == static_cast<int>(threads.size()); }

  Grid* grid;
  std::shared_ptr<Cluster> cluster;
  int index;
  int rank;    // in the cluster
  u32 number;  // of the cluster's first block among the blocks of all launches
  SharedMemory shared;
  Counters fenced_device;  // what threads that said fence_device knew
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<std::unique_ptr<Warpgroup>> warpgroups;
  std::map<SharedAddress, Barrier> barriers;
  // What others started, or do themselves, that its own barriers do not count: copies to its shared
  // memory, commits of another block's thread, and what such threads read and write there. Somebody
  // must know that they are over before it ends.
  std::map<Actor, OthersWork> others_work;
  std::unique_ptr<TensorCore> tensor;  // from its first use on
  std::array<NamedBarrier, 16> named;
  int ended_count = 0;
  int last_ended_index = 0;
  long long registers_free = 0;
  std::vector<Thread*> waiting_for_registers;
};

// The blocks of the thread's cluster whose bits are set, in the order of their ranks; bits of none,
// or of blocks that are not there, are a fault of the word.
std::vector<Block*> blocks_of(const Thread& thread, u32 bits, const char* word);

}  // namespace thresher::emulator
