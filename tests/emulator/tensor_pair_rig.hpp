// SPDX-License-Identifier: Apache-2.0
// The tile of tensor_rig.hpp by a pair of blocks: 256 rows times N columns, or 128 of which each
// block has 64, 256 deep. Every step can be left out or done wrongly.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "emulator/tensor_rig.hpp"

namespace thresher::emulator {

// Each block's rows; the columns of both are the same.
struct PairTile {
  TensorTile of[2];
  u32 rows;  // of a block

  explicit PairTile(u32 columns, u8 low = 0x30, u8 high = 0x40, u32 block_rows = 128)
      : of{TensorTile(columns, low, high), TensorTile(columns, low, high)}, rows(block_rows) {
    std::reverse(of[1].a_codes.begin(), of[1].a_codes.end());
    std::reverse(of[1].a_scales.begin(), of[1].a_scales.end());
  }
  u32 columns() const { return of[0].columns; }
  double sum(u32 row, u32 column) const { return of[row / rows].sum(row % rows, column); }
};

// What is done otherwise than it should be.
struct PairChanges {
  std::function<void(hw::BlockScaledMma&)> mma = [](hw::BlockScaledMma&) {};
  u32 allocated[2] = {512, 512};  // by rank
  u32 slots[2] = {0, 0};          // where the first column is written, beyond the usual place
  u32 issuer = 0;                 // the rank that multiplies
  bool knows_the_other = true;    // before it allocates
  bool allocates[2] = {true, true};
  int peers_warp = 4;            // that allocates
  bool allocates_alone = false;  // as for one block
  bool peer_fences = true;
  bool peer_puts_scales = true;  // of B
  bool peer_is_ready = true;     // and says so
  bool leader_learns = true;     // what the other block tells
  bool peer_learns = true;       // what the leader's commit tells
  bool peer_has_barrier = true;  // that commits arrive at
  bool second_tile = false;
  bool waits_for_peers_readers = true;
  bool meets_at_end = true;
  bool peer_waits = true;
  bool peer_frees_first = false;
  bool copies_halves = true;  // of B's scales, where a block has 64 rows
};

class PairRig {
 public:
  PairRig(const PairTile& tile, const PairChanges& changes, std::vector<float>* sums)
      : tile_(tile), changes_(changes), sums_(sums) {}

  void operator()() const {
    const auto rank = static_cast<u32>(hw::cluster_rank());
    const hw::SharedAddress base = hw::shared_base();
    if (changes_.knows_the_other) hw::sync_block<2>();
    set_up(base, rank);
    hw::sync_block<2>();
    put(base, rank);
    const auto tensor = hw::load_shared<u32>(slot(base, rank));
    if (hw::warp_index() == 4) {
      if (rank == changes_.issuer && hw::elect_one()) multiply(base, tensor);
      hw::sync_warp();
    } else {
      load(base, tensor, rank);
    }
    if (changes_.meets_at_end && !(changes_.peer_frees_first && rank == 1)) hw::sync_block<2>();
    hw::sync_block();
    hw::tensor_fence_after();
    if (hw::warp_index() == 4) hw::tensor_free<2>(tensor, changes_.allocated[rank]);
    if (changes_.peer_frees_first && rank == 1) hw::sync_block<2>();
  }

  static std::string run(const PairChanges& changes, std::uint64_t seed = 0, u32 columns = 64,
                         u32 block_rows = 128) {
    const PairTile tile(columns, 0x30, 0x40, block_rows);
    return fault_of(options(seed), PairRig(tile, changes, nullptr));
  }

  static LaunchOptions options(std::uint64_t seed, TensorSums sums = TensorSums::kInOrder) {
    return {.block_count = 2,
            .cluster_blocks = 2,
            .thread_count = kTensorThreads,
            .shared_bytes = kBytes,
            .seed = seed,
            .tensor_sums = sums};
  }

 private:
  static constexpr u32 kA = 0;
  static constexpr u32 kB = 16384;
  static constexpr u32 kAScales = 32768;
  static constexpr u32 kBScales = 34816;
  static constexpr u32 kBarriers = 38912;  // ready, done, read, done again
  static constexpr u32 kSlot = kBarriers + 32;
  static constexpr u32 kBytes = kSlot + 32;

  hw::SharedAddress slot(hw::SharedAddress base, u32 rank) const {
    return base + kSlot + changes_.slots[rank];
  }

  void set_up(hw::SharedAddress base, u32 rank) const {
    if (hw::thread_index() == 0) {
      const u32 blocks = changes_.peer_is_ready ? 2 : 1;
      hw::barrier_init(base + kBarriers, blocks * kTensorThreads);
      if (rank == 0 || changes_.peer_has_barrier) hw::barrier_init(base + kBarriers + 8, 1);
      hw::barrier_init(base + kBarriers + 16, changes_.waits_for_peers_readers ? 256 : 128);
      hw::barrier_init(base + kBarriers + 24, 1);
      hw::barrier_init_fence();
    }
    const int warp = rank == 1 ? changes_.peers_warp : 4;
    if (hw::warp_index() != warp || !changes_.allocates[rank]) return;
    if (changes_.allocates_alone) hw::tensor_allocate(slot(base, rank), 512);
    hw::tensor_allocate<2>(slot(base, rank), changes_.allocated[rank]);
    hw::tensor_allocate_no_more<2>();
  }

  // What the block has of both operands, and all scales of B.
  void put(hw::SharedAddress base, u32 rank) const {
    const TensorTile& own = tile_.of[rank];
    const std::span<const u8> b(own.b_codes);
    put_codes(base + kA, std::span(own.a_codes).first(tile_.rows * TensorTile::kRowBytes));
    put_scales(base + kAScales, own.a_scales);
    put_codes(base + kB, b.subspan(rank * b.size() / 2, b.size() / 2));
    if (rank == 0 || changes_.peer_puts_scales) put_b_scales(base + kBScales, own.b_scales);
    if (rank == 0 || changes_.peer_fences) hw::fence_async();
    if (rank == 0 || changes_.peer_is_ready) {
      hw::barrier_arrive_cluster(hw::cluster_address(base + kBarriers, changes_.issuer));
    }
  }

  bool has_halves() const { return tile_.rows == 64; }
  u32 scale_blocks() const { return has_halves() ? 1 : (tile_.columns() + 127) / 128; }

  // By halves of the columns, each of which has a block of its own.
  void put_b_scales(hw::SharedAddress at, std::span<const u8> scales) const {
    if (!has_halves()) return put_scales(at, scales);
    for (u32 half = 0; half < 2; ++half) {
      put_scales(at + half * 512, scales.subspan(half * scales.size() / 2, scales.size() / 2), 2);
    }
  }

  void multiply(hw::SharedAddress base, hw::TensorAddress tensor) const {
    if (changes_.leader_learns) {
      hw::barrier_wait<2>(base + kBarriers, 0);
    } else {
      hw::barrier_wait(base + kBarriers, 0);
    }
    hw::tensor_fence_after();
    tile(base, tensor, base + kBarriers + 8);
    if (!changes_.second_tile) return;
    hw::barrier_wait<2>(base + kBarriers + 16, 0);
    hw::tensor_fence_after();
    tile(base, tensor, base + kBarriers + 24);
  }

  void tile(hw::SharedAddress base, hw::TensorAddress tensor, hw::SharedAddress done) const {
    const u32 blocks = scale_blocks();
    const hw::TensorAddress a_scales = tensor + 256;
    const hw::TensorAddress b_scales = tensor + 288;
    for (u32 step = 0; step < 4; ++step) {
      if (done == base + kBarriers + 8) {
        copy(a_scales + 4 * step, base + kAScales + 512 * step);
        for (u32 i = step * blocks; i < (step + 1) * blocks; ++i) {
          copy_b_scales(b_scales + 4 * i, base + kBScales, i);
        }
      }
      hw::BlockScaledMma mma{
          .sums = tensor,
          .a = hw::tensor_descriptor(base + kA + 32 * step, 1024, hw::Swizzle::k128),
          .b = hw::tensor_descriptor(base + kB + 32 * step, 1024, hw::Swizzle::k128),
          .instruction = hw::block_scaled_instruction(tile_.columns(), 2 * tile_.rows),
          .a_scales = a_scales + 4 * step,
          .b_scales = b_scales + 4 * step * blocks,
          .add = step > 0};
      changes_.mma(mma);
      hw::tensor_multiply<2>(mma);
    }
    hw::tensor_commit<2>(done);
  }

  void copy_b_scales(hw::TensorAddress to, hw::SharedAddress from, u32 i) const {
    if (!has_halves()) return copy(to, from + 512 * i);
    if (!changes_.copies_halves) return copy(to, from + 1024 * i);
    hw::tensor_copy_scales_by_halves(
        to, hw::tensor_descriptor(from + 1024 * i, 128, hw::Swizzle::kNone));
  }

  static void copy(hw::TensorAddress to, hw::SharedAddress from) {
    hw::tensor_copy_scales<2>(to, hw::tensor_descriptor(from, 128, hw::Swizzle::kNone));
  }

  void load(hw::SharedAddress base, hw::TensorAddress tensor, u32 rank) const {
    for (u32 tile = 0; tile < (changes_.second_tile ? 2u : 1u); ++tile) {
      const hw::SharedAddress done = base + kBarriers + 8 + 16 * tile;
      if (rank == 1 && !changes_.peer_waits) continue;
      if (rank == 0 || changes_.peer_learns) {
        hw::barrier_wait<2>(done, 0);
      } else {
        hw::barrier_wait(done, 0);
      }
      hw::tensor_fence_after();
      const u32 lane = static_cast<u32>(hw::thread_index());
      const u32 in_a_row = tile_.columns() / (128 / tile_.rows);
      for (u32 column = 0; column < in_a_row; column += 8) {
        float values[8];
        hw::tensor_load(
            tensor + hw::tensor_address(static_cast<u32>(hw::warp_index()) * 32, column), values);
        hw::tensor_wait_loads(values);
        const u32 row = tile_.rows * rank + lane % tile_.rows;
        const u32 first = lane / tile_.rows * in_a_row + column;
        for (u32 i = 0; sums_ != nullptr && i < 8; ++i) {
          (*sums_)[row * tile_.columns() + first + i] = values[i];
        }
      }
      hw::tensor_fence_before();
      if (tile == 0 && (rank == 0 || changes_.waits_for_peers_readers)) {
        hw::barrier_arrive_cluster(hw::cluster_address(base + kBarriers + 16, 0));
      }
    }
  }

  const PairTile& tile_;
  const PairChanges& changes_;
  std::vector<float>* sums_;
};

}  // namespace thresher::emulator
