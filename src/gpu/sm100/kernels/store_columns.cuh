// SPDX-License-Identifier: Apache-2.0
// Four warps take the sums of every tile from tensor memory to C. A thread has one lane: a column
// of C, for all tokens of the tile; a warp's stores of one token are neighbours. With
// store = vectors lanes exchange by twos and store two columns at once, where C's alignment allows
// it; with store = staged rows leave through shared memory (staged_rows.cuh). Sums are handed back
// as soon as the last of them have been loaded. Parts of tiles meet in part_sums.cuh.
#pragma once

#include "gpu/gemm/kernels/gemm_values.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/sm100/kernels/part_sums.cuh"
#include "gpu/sm100/kernels/staged_rows.cuh"
#include "gpu/sm100/kernels/tensor_ring.cuh"

namespace thresher::gpu::sm100 {

// Two elements side by side.
template <int kElementBytes>
struct PairOf {
  using Type = u32;
};
template <>
struct PairOf<4> {
  using Type = U32x2;
};

template <GemmConfig kConfig>
class StoreColumns {
 public:
  THRESHER_DEVICE StoreColumns(const GemmArgs& args, const TensorRing<kConfig>& ring,
                               hw::TensorAddress tensor)
      : args_(args),
        ring_(ring),
        walk_(args, ring.book()),
        parts_(args, ring),
        rows_(ring),
        lanes_(tensor +
               hw::tensor_address(static_cast<u32>(hw::warp_index()) * hw::kLanesPerWarp, 0)) {}

  THRESHER_DEVICE void run() {
    while (walk_.next()) store_tile();
    if constexpr (kStaged) rows_.finish();
  }

 private:
  using Ring = TensorRing<kConfig>;
  using Output = TileOutput<kConfig>;
  static constexpr int kBlocks = Ring::kBlocks;
  static constexpr Product kProduct = kConfig.product;
  static constexpr OutputType kOutput = stored_type(kConfig);
  using Element = StoredElement<kOutput>;
  using Pair = typename PairOf<sizeof(Element)>::Type;
  // Columns of tensor memory at a time; fewer where blocks share the registers of an SM.
  static constexpr int kNarrow = 8;
  static constexpr int kWide = kConfig.blocks_per_sm > 1 ? kNarrow : 16;
  static constexpr bool kParts = has_parts(kConfig);
  static constexpr bool kStaged = kConfig.store == Store::kStaged;
  static_assert(kWide <= kStagedTokens);

  THRESHER_DEVICE void store_tile() {
    Output output(args_, walk_.tile(), walk_.group());
    if constexpr (Ring::kMmaBlocks > 1) output.skip_columns(Ring::rank() * kTileRows);
    if constexpr (Ring::kShared) output.skip_tokens(Ring::first_token(walk_.tile()));
    const u32 width = hw::broadcast(Ring::width(walk_.tile()));
    // Of few k tiles a part may have none, and nothing was multiplied.
    const bool multiplied = !kParts || walk_.tile().k_tile_count > 0;
    if (multiplied) {
      hw::barrier_wait<kBlocks>(ring_.sums_full(position_.stage), position_.parity);
      hw::tensor_fence_after();
    }
    const bool finishes = !kParts || parts_.arrive(walk_.tile());
    u32 token = 0;
    THRESHER_NO_UNROLL
    for (; token + kWide <= width; token += kWide) {
      take_tokens<kWide>(output, {token, width, multiplied, finishes});
    }
    if (token < width) take_tokens<kNarrow>(output, {token, width, multiplied, finishes});
    if (!finishes) parts_.deliver(walk_.tile());
    if (multiplied) position_.advance();
  }

  // A few tokens of a tile.
  struct Step {
    u32 token;
    u32 width;  // of the tile
    bool multiplied;
    bool finishes;  // and does not leave a part in the workspace
  };

  template <int kTokens>
  THRESHER_DEVICE void take_tokens(const Output& output, const Step& step) {
    float sums[kTokens] = {};
    float ups[kTokens] = {};
    if (step.multiplied) load_sums(step, sums, ups);
    if constexpr (kParts) {
      if (!step.finishes) return leave_part(step.token, sums, ups);
      parts_.add(walk_.tile(), 0, step.token, sums);
      if constexpr (kProduct == Product::kDual) parts_.add(walk_.tile(), 1, step.token, ups);
    }
    if constexpr (kStaged) rows_.begin();
    THRESHER_UNROLL
    for (u32 i = 0; i < kTokens; i += 2) {
      store_pair(output, step.token + i, i, &sums[i], &ups[i]);
    }
    if constexpr (kStaged) rows_.send(output, step.token, kTokens);
  }

  // Hands them back with the last of the tile.
  template <int kTokens>
  THRESHER_DEVICE void load_sums(const Step& step, float (&sums)[kTokens],
                                 float (&ups)[kTokens]) const {
    const u32 buffer = position_.stage;
    hw::tensor_load(lanes_ + Ring::sums(buffer, 0) + step.token, sums);
    if constexpr (kProduct == Product::kDual) {
      hw::tensor_load(lanes_ + Ring::sums(buffer, 1) + step.token, ups);
      hw::tensor_wait_loads(ups);
    }
    hw::tensor_wait_loads(sums);
    if (step.token + kTokens < step.width) return;
    hw::tensor_fence_before();
    hand_back(ring_.sums_empty(buffer));
  }

  template <int kTokens>
  THRESHER_DEVICE void leave_part(u32 token, const float (&sums)[kTokens],
                                  const float (&ups)[kTokens]) const {
    parts_.store(walk_.tile(), 0, token, sums);
    if constexpr (kProduct == Product::kDual) parts_.store(walk_.tile(), 1, token, ups);
  }

  // To the thread that multiplies, which may be in the other block of the pair.
  static THRESHER_DEVICE void hand_back(hw::SharedAddress sums_empty) {
    if constexpr (Ring::kMmaBlocks > 1) {
      hw::barrier_arrive_cluster(hw::cluster_address(sums_empty, 0));
    } else {
      hw::barrier_arrive(sums_empty);
    }
  }

  // Of two tokens; `place`: of the first among the few.
  THRESHER_DEVICE void store_pair(const Output& output, u32 token, u32 place, const float* sums,
                                  const float* ups) const {
    const u32 column = static_cast<u32>(hw::thread_index());
    const float values[2] = {value(output, sums[0], ups[0], token, column),
                             value(output, sums[1], ups[1], token + 1, column)};
    Element elements[2];
    round_pair<kOutput>(values, elements);
    if constexpr (kConfig.store == Store::kVectors) {
      if (is_aligned(output)) return store_exchanged(output, token, column, elements);
    }
    THRESHER_UNROLL
    for (u32 i = 0; i < 2; ++i) {
      if constexpr (kStaged) {
        rows_.put(place + i, elements[i]);
      } else {
        store(output, token + i, column, elements[i]);
      }
    }
  }

  // Whether two neighbours that begin at an even column can be stored at once.
  static THRESHER_DEVICE bool is_aligned(const Output& output) {
    return (reinterpret_cast<u64>(output.c) | output.row_bytes) % sizeof(Pair) == 0;
  }

  // Lanes exchange by twos: an even one gets both columns of the first token, an odd one both of
  // the second.
  static THRESHER_DEVICE void store_exchanged(const Output& output, u32 token, u32 column,
                                              const Element (&elements)[2]) {
    const bool odd = column % 2 != 0;
    const Element sent = odd ? elements[0] : elements[1];
    const Element kept = odd ? elements[1] : elements[0];
    const u32 bits = hw::shuffle_xor(bits_of(sent), 1);
    const u32 first = column - (odd ? 1 : 0);
    const u32 of_token = token + (odd ? 1 : 0);
    const u32 low = odd ? bits : bits_of(kept);
    const u32 high = odd ? bits_of(kept) : bits;
    if (of_token >= output.token_count || first >= output.column_count) return;
    if (first + 1 == output.column_count) {
      return store(output, of_token, first, odd ? element_of(bits) : kept);
    }
    hw::store_global(reinterpret_cast<Pair*>(place(output, of_token, first)), pair_of(low, high));
  }

  static THRESHER_DEVICE u32 bits_of(float element) { return hw::float_to_bits(element); }
  static THRESHER_DEVICE u32 bits_of(u16 element) { return element; }
  static THRESHER_DEVICE Element element_of(u32 bits) {
    if constexpr (sizeof(Element) == 4) {
      return hw::bits_to_float(bits);
    } else {
      return static_cast<Element>(bits);
    }
  }
  static THRESHER_DEVICE Pair pair_of(u32 low, u32 high) {
    if constexpr (sizeof(Element) == 4) {
      return {low, high};
    } else {
      return low | high << 16;
    }
  }

  static THRESHER_DEVICE u8* place(const Output& output, u32 token, u32 column) {
    return output.c + u64{token} * output.row_bytes + u64{column} * sizeof(Element);
  }
  static THRESHER_DEVICE void store(const Output& output, u32 token, u32 column, Element element) {
    if (token >= output.token_count || column >= output.column_count) return;
    hw::store_global(reinterpret_cast<Element*>(place(output, token, column)), element);
  }

  static THRESHER_DEVICE float value(const Output& output, float sum, float up, u32 token,
                                     u32 column) {
    if constexpr (kProduct == Product::kDual) {
      return silu(apply(output.factor, sum)) * apply(output.factor_up, up);
    } else if constexpr (kProduct == Product::kUpPass) {
      return silu(output.gate(token, column)) * apply(output.factor_up, sum);
    } else {
      return apply(output.factor, sum);
    }
  }

  const GemmArgs& args_;
  const Ring& ring_;
  WalkOf<kConfig, Walker::kWarp> walk_;
  const PartSums<kConfig> parts_;  // where tiles have parts
  StagedRows<kConfig> rows_;       // where they are staged
  const hw::TensorAddress lanes_;  // the warp's, in the first column
  SumsPosition<kConfig> position_;
};

}  // namespace thresher::gpu::sm100
