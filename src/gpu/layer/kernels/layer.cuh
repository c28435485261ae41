// SPDX-License-Identifier: Apache-2.0
// The kernels around the products of a mixture-of-experts layer. Each waits for the one before it
// and may be queued before that has ended.
//
// gather: a block per group and part. Every block counts by itself how many slots belong to groups
// before its own and how many to its own, a stretch of slots per warp; so no block waits for
// another, and rows of a group stand in the order of the slots. Then its warps copy their part of
// the group's rows. Reading all ids in every block is cheap beside the rows they stand for.
// activate: a thread per 16 values, as far as there are rows.
// combine: a thread per 4 columns of a token, which it sums up in the order of the slots.
#pragma once

#include "gpu/hw/hw.cuh"
#include "gpu/layer/kernels/few_rows.cuh"
#include "gpu/layer/kernels/layer_args.hpp"
#include "gpu/layer/kernels/layer_values.cuh"

namespace thresher::gpu {

template <LayerConfig kConfig>
class Gather {
 public:
  THRESHER_DEVICE explicit Gather(const LayerArgs& args)
      : args_(args),
        group_(static_cast<u32>(hw::block_index()) / args.part_count),
        part_(static_cast<u32>(hw::block_index()) % args.part_count) {}

  THRESHER_DEVICE void run() {
    const u32 slots = args_.token_count * args_.top_k;
    const u32 stretch = (slots + kWarps * kStep - 1) / (kWarps * kStep) * kStep;
    const u32 warp = static_cast<u32>(hw::warp_index());
    const u32 first = warp * stretch < slots ? warp * stretch : slots;
    const u32 behind = first + stretch < slots ? first + stretch : slots;
    count(first, behind);
    add_up(warp);
    if (group_ >= args_.expert_count) return shared_rows(warp);
    if (part_ == 0 && warp == 0 && hw::lane_index() == 0) write_count(own_);
    if (own_ > 0 || (group_ == 0 && part_ == 0)) routed_rows(first, behind);
  }

 private:
  static constexpr u32 kWarps = kLayerThreads / hw::kWarpThreads;
  static constexpr u32 kLoads = 4;  // that are on their way together
  static constexpr u32 kStep = kLoads * hw::kWarpThreads;

  // The group of a slot; nobody's is beyond all groups.
  THRESHER_DEVICE u32 group_of(u32 slot, u32 behind) const {
    if (slot >= behind) return kLayerNoRow;
    return args_.group_of(hw::load_global(args_.ids + slot));
  }

  THRESHER_DEVICE void count(u32 first, u32 behind) {
    for (u32 at = first; at < behind; at += kStep) {
      u32 groups[kLoads];
      load(at, behind, groups);
      THRESHER_UNROLL
      for (u32 i = 0; i < kLoads; ++i) {
        before_ += static_cast<u32>(hw::count_bits(hw::ballot(groups[i] < group_)));
        own_ += static_cast<u32>(hw::count_bits(hw::ballot(groups[i] == group_)));
      }
    }
  }

  THRESHER_DEVICE void load(u32 at, u32 behind, u32 (&groups)[kLoads]) const {
    THRESHER_UNROLL
    for (u32 i = 0; i < kLoads; ++i) {
      groups[i] = group_of(at + i * hw::kWarpThreads + static_cast<u32>(hw::lane_index()), behind);
    }
  }

  // From the warps' counts: the group's first row, its rows, and which of them the warp begins
  // with.
  THRESHER_DEVICE void add_up(u32 warp) {
    const hw::SharedAddress counts = hw::shared_base();
    if (hw::lane_index() == 0) hw::store_shared(counts + 8 * warp, U32x2{before_, own_});
    hw::sync_block();
    before_ = own_ = 0;
    for (u32 i = 0; i < kWarps; ++i) {
      const auto of_warp = hw::load_shared<U32x2>(counts + 8 * i);
      if (i == warp) rank_ = own_;
      before_ += of_warp.x;
      own_ += of_warp.y;
    }
  }

  THRESHER_DEVICE void write_count(u32 count) const {
    hw::store_global(args_.counts + group_, count);
    if (group_ + 1 == args_.group_count()) {
      hw::store_global(args_.counts + group_ + 1, before_ + count);
    }
  }

  THRESHER_DEVICE void routed_rows(u32 first, u32 behind) {
    const u32 lane = static_cast<u32>(hw::lane_index());
    const bool writes = part_ == 0;
    for (u32 at = first; at < behind; at += kStep) {
      u32 groups[kLoads];
      load(at, behind, groups);
      for (u32 i = 0; i < kLoads; ++i) {
        const u32 slot = at + i * hw::kWarpThreads + lane;
        const u32 mine = hw::ballot(groups[i] == group_);
        const u32 below = static_cast<u32>(hw::count_bits(mine & ((1u << lane) - 1)));
        if (writes && groups[i] == group_) write_row(before_ + rank_ + below, slot_index(slot));
        if (writes && group_ == 0 && slot < behind && groups[i] == kLayerNoRow) {
          hw::store_global(args_.row_of_slot + slot_index(slot), kLayerNoRow);
        }
        u32 rank = rank_;
        for (u32 left = mine; left != 0; left &= left - 1, ++rank) {
          if (rank % args_.part_count != part_) continue;
          const u32 which = static_cast<u32>(hw::count_bits((left & (0u - left)) - 1));
          copy_routed(before_ + rank, at + i * hw::kWarpThreads + which);
        }
        rank_ = rank;
      }
    }
  }

  // Every token has one; the warps of all parts share them.
  THRESHER_DEVICE void shared_rows(u32 warp) {
    const u32 which = group_ - args_.expert_count;
    before_ += which * args_.token_count;
    if (part_ == 0 && warp == 0 && hw::lane_index() == 0) write_count(args_.token_count);
    for (u32 token = part_ * kWarps + warp; token < args_.token_count;
         token += args_.part_count * kWarps) {
      const u32 row = before_ + token;
      if (hw::lane_index() == 0) {
        write_row(row, token * args_.slot_count() + args_.top_k + which);
      }
      copy(row, token, 1.0f);
    }
  }

  // Of a place among the ids.
  THRESHER_DEVICE u32 slot_index(u32 slot) const {
    return slot / args_.top_k * args_.slot_count() + slot % args_.top_k;
  }

  THRESHER_DEVICE void write_row(u32 row, u32 slot) const {
    hw::store_global(args_.row_of_slot + slot, row);
    hw::store_global(args_.slot_of_row + row, slot);
    hw::store_global(args_.group_of_row + row, group_);
  }

  THRESHER_DEVICE void copy_routed(u32 row, u32 slot) const {
    const float weight = args_.weight_on_input != 0 ? hw::load_global(args_.weights + slot) : 1.0f;
    copy(row, slot / args_.top_k, weight);
  }

  // By a warp together. A weight of 1 changes nothing.
  THRESHER_DEVICE void copy(u32 row, u32 token, float weight) const {
    const u8* x = args_.x + token * args_.x_row_bytes;
    const u32 count = args_.hidden;
    const auto target = ActivationTarget<kConfig.activations>::of_row(
        args_.a, args_.a_scales, row, count, args_.input_scales, group_);
    for (u32 i = static_cast<u32>(hw::lane_index()) * kLayerChunk; i < count;
         i += hw::kWarpThreads * kLayerChunk) {
      LayerValues values =
          LayerValues::load<kConfig.type>(x + i * static_cast<u32>(element_bytes(kConfig.type)));
      THRESHER_UNROLL
      for (u32 j = 0; j < kLayerChunk; ++j) values.of[j] = values.of[j] * weight;
      target.store(values, i);
    }
  }

  const LayerArgs& args_;
  const u32 group_;
  const u32 part_;
  u32 before_ = 0;  // rows of the groups before
  u32 own_ = 0;     // rows of this one
  u32 rank_ = 0;    // the group's row that the warp is at
};

template <LayerConfig kConfig>
THRESHER_DEVICE void activate_values(const LayerArgs& args) {
  const u32 chunks = args.intermediate / kLayerChunk;
  const u64 total = u64{hw::load_global(args.counts + args.group_count())} * chunks;
  const u64 step = static_cast<u64>(hw::block_count()) * kLayerThreads;
  for (u64 i = static_cast<u64>(hw::block_index()) * kLayerThreads +
               static_cast<u64>(hw::thread_index());
       i < total; i += step) {
    const u64 row = i / chunks;
    const u32 first = static_cast<u32>(i % chunks) * kLayerChunk;
    const u64 at = row * args.intermediate + first;
    const u32 group = hw::load_global(args.group_of_row + row);
    LayerValues values;
    if (args.activation == LayerActivation::kNone) {
      values = LayerValues::load_floats(args.gate + at);
    } else {
      const u64 bias = u64{group} * args.intermediate + first;
      const auto biased = [&](const float* sums, const float* biases) {
        LayerValues loaded = LayerValues::load_floats(sums + at);
        if (biases == nullptr) return loaded;
        const LayerValues added = LayerValues::load_floats(biases + bias);
        THRESHER_UNROLL
        for (u32 j = 0; j < kLayerChunk; ++j) loaded.of[j] += added.of[j];
        return loaded;
      };
      values = biased(args.up, args.up_biases);
      const LayerValues gates = args.gate == nullptr ? values : biased(args.gate, args.gate_biases);
      THRESHER_UNROLL
      for (u32 j = 0; j < kLayerChunk; ++j) {
        values.of[j] = activated(args, gates.of[j], values.of[j]);
      }
    }
    const auto target = ActivationTarget<kConfig.activations>::of_row(
        args.h, args.h_scales, row, args.intermediate, args.down_input_scales, group);
    target.store(values, first);
  }
}

// Four columns of a token.
template <OutputType kOut>
class Combine {
 public:
  THRESHER_DEVICE Combine(const LayerArgs& args, u32 token, u32 column)
      : args_(args), token_(token), column_(column) {}

  THRESHER_DEVICE void run() const {
    float sums[kCombineChunk] = {};
    for (u32 first = 0; first < args_.slot_count(); first += kSlots) add(first, sums);
    store(sums);
  }

 private:
  static constexpr u32 kSlots = 4;  // whose loads are on their way together

  struct Term {
    u32 row = kLayerNoRow;
    float weight = 1.0f;
    U32x4 y;
    U32x4 bias;
  };

  THRESHER_DEVICE void add(u32 first, float (&sums)[kCombineChunk]) const {
    Term terms[kSlots];
    THRESHER_UNROLL
    for (u32 i = 0; i < kSlots; ++i) {
      if (first + i >= args_.slot_count()) continue;
      terms[i].row = hw::load_global(args_.row_of_slot + token_ * args_.slot_count() + first + i);
      terms[i].weight = weight_of(first + i);
    }
    THRESHER_UNROLL
    for (u32 i = 0; i < kSlots; ++i) {
      if (terms[i].row == kLayerNoRow) continue;
      terms[i].y = load(args_.y, terms[i].row);
      if (args_.down_biases == nullptr) continue;
      terms[i].bias = load(args_.down_biases, hw::load_global(args_.group_of_row + terms[i].row));
    }
    THRESHER_UNROLL
    for (u32 i = 0; i < kSlots; ++i) {
      if (terms[i].row == kLayerNoRow) continue;
      const u32 y[kCombineChunk] = {terms[i].y.x, terms[i].y.y, terms[i].y.z, terms[i].y.w};
      const u32 bias[kCombineChunk] = {terms[i].bias.x, terms[i].bias.y, terms[i].bias.z,
                                       terms[i].bias.w};
      THRESHER_UNROLL
      for (u32 j = 0; j < kCombineChunk; ++j) {
        float value = hw::bits_to_float(y[j]);
        if (args_.down_biases != nullptr) value += hw::bits_to_float(bias[j]);
        sums[j] = hw::fma(value, terms[i].weight, sums[j]);
      }
    }
  }

  THRESHER_DEVICE U32x4 load(const float* rows, u32 row) const {
    return hw::load_global(
        reinterpret_cast<const U32x4*>(rows + u64{row} * args_.hidden + column_));
  }

  THRESHER_DEVICE float weight_of(u32 slot) const {
    if (slot < args_.top_k) {
      return args_.weight_on_input != 0
                 ? 1.0f
                 : hw::load_global(args_.weights + token_ * args_.top_k + slot);
    }
    if (args_.shared_weights == nullptr) return 1.0f;
    return hw::load_global(args_.shared_weights + token_ * args_.shared_count + slot - args_.top_k);
  }

  THRESHER_DEVICE void store(const float (&sums)[kCombineChunk]) const {
    u8* out =
        args_.out + token_ * args_.out_row_bytes + column_ * static_cast<u32>(element_bytes(kOut));
    if constexpr (kOut == OutputType::kFp32) {
      hw::store_global(reinterpret_cast<U32x4*>(out),
                       U32x4{hw::float_to_bits(sums[0]), hw::float_to_bits(sums[1]),
                             hw::float_to_bits(sums[2]), hw::float_to_bits(sums[3])});
    } else {
      hw::store_global(reinterpret_cast<U32x2*>(out),
                       U32x2{pack_pair<kOut>(sums[0], sums[1]), pack_pair<kOut>(sums[2], sums[3])});
    }
  }

  const LayerArgs& args_;
  const u32 token_;
  const u32 column_;
};

template <OutputType kOut>
THRESHER_DEVICE void combine_tokens(const LayerArgs& args) {
  const u32 chunks = args.hidden / kCombineChunk;
  const u64 total = u64{args.token_count} * chunks;
  const u64 step = static_cast<u64>(hw::block_count()) * kLayerThreads;
  for (u64 i = static_cast<u64>(hw::block_index()) * kLayerThreads +
               static_cast<u64>(hw::thread_index());
       i < total; i += step) {
    Combine<kOut>(args, static_cast<u32>(i / chunks), static_cast<u32>(i % chunks) * kCombineChunk)
        .run();
  }
}

template <LayerConfig kConfig>
THRESHER_DEVICE void surrounding_step(const LayerArgs& args) {
  hw::wait_for_previous_kernel();
  // All blocks are there when the last says this: whoever comes next takes nobody's place.
  hw::start_next_kernel();
  if constexpr (kConfig.step == LayerStep::kGather) {
    Gather<kConfig>(args).run();
  } else if constexpr (kConfig.step == LayerStep::kActivate) {
    activate_values<kConfig>(args);
  } else {
    combine_tokens<kConfig.type>(args);
  }
}

template <LayerConfig kConfig>
THRESHER_DEVICE void layer_kernel(const LayerArgs& args) {
  if constexpr (is_few(kConfig.step)) {
    FewRows<kConfig>(args).run();
  } else {
    surrounding_step<kConfig>(args);
  }
}

}  // namespace thresher::gpu
