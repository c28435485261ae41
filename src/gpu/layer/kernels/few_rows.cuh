// SPDX-License-Identifier: Apache-2.0
// The products of a layer for few tokens, where weights are all there is to move: straight from x
// (or from what the first product left) and from the weights in memory to registers. Nothing is
// sorted, gathered or brought into another layout before, so two such launches and a combine are a
// call.
//
// A piece is an octet of rows that share an expert (few_book.cuh) times kStrips strips of 16 packed
// rows of weights. Blocks take pieces in turn; in a piece warps take k tiles in turn, and their
// sums are added up in the order of the warps. So a row's result depends on no other row.
//
// Every warp has the loads of kTiles k tiles on their way, weights of all strips and tokens: as
// soon as one has been multiplied its registers are loaded again, with the next piece's where this
// one's end. mma.sync because its operands come from registers: weights are decoded there, and a
// lane's part of the tokens' is four bytes at a time of its own token.
#pragma once

#include "gpu/gemm/kernels/gemm_values.cuh"
#include "gpu/gemm/kernels/weight_decode.cuh"
#include "gpu/hw/hw.cuh"
#include "gpu/layer/kernels/few_book.cuh"
#include "gpu/layer/kernels/layer_values.cuh"

namespace thresher::gpu {

template <LayerConfig kConfig>
class FewRows {
 public:
  THRESHER_DEVICE explicit FewRows(const LayerArgs& args)
      : args_(args),
        book_(hw::shared_base()),
        warp_(static_cast<u32>(hw::warp_index())),
        lane_(static_cast<u32>(hw::lane_index())) {}

  // The ids have been there since before the kernel before this one, if that is the first product.
  THRESHER_DEVICE void run() {
    if (kIsFirst) hw::wait_for_previous_kernel();
    book_.write(args_);
    if (!kIsFirst) hw::wait_for_previous_kernel();
    hw::start_next_kernel();
    if (kIsFirst && hw::block_index() == 0) write_rows();
    const u32 piece_count = book_.octet_count() * groups_of_strips();
    const u32 step = static_cast<u32>(hw::block_count());
    u32 piece = static_cast<u32>(hw::block_index());
    if (piece >= piece_count) return;
    Place here = place_of(piece);
    THRESHER_UNROLL
    for (u32 i = 0; i < kTiles; ++i) load(here, i, i);
    for (u32 turn = 0; piece < piece_count; piece += step, turn ^= 1) {
      const u32 next = piece + step;
      const Place there = next < piece_count ? place_of(next) : Place{};
      compute(here, there, turn);
      here = there;
    }
  }

 private:
  static constexpr bool kIsFirst = kConfig.step == LayerStep::kFirst;
  static constexpr u32 kStrips = kConfig.strips;
  static constexpr u32 kTiles = few_tiles(kConfig.strips);
  static constexpr u32 kPitch = few_sums_pitch(kConfig.strips);
  static constexpr u32 kStripBytes = kSubTileCodeBytes / 4;
  static constexpr u32 kStripScaleBytes = kSubTileScaleBytes / 4;
  static constexpr u32 kWarps = kLayerThreads / hw::kWarpThreads;
  static constexpr float kUnit = kWeightUnit * activation_unit(kConfig.activations);
  static constexpr hw::Operand kOperand = operand_of(kConfig.activations);
  static constexpr OutputType kOperandType =
      kOperand == hw::Operand::kFp16 ? OutputType::kFp16 : OutputType::kBf16;

  // A piece, as a lane sees it.
  struct Place {
    // Of the first and of the second half of the strips: where their matrix's tiles begin, and
    // where in a tile the lane's codes and scales are.
    u64 tiles[2] = {};
    u32 codes[2] = {};
    u32 scales[2] = {};
    const u8* tokens = nullptr;  // of the lane's column, or of another where that is nobody's
    u32 octet = 0;
    u32 strips = 0;  // which group of them
    bool exists = false;
  };

  THRESHER_DEVICE u32 k() const { return kIsFirst ? args_.hidden : args_.intermediate; }
  THRESHER_DEVICE u32 k_tiles() const { return (k() + kTileK - 1) / kTileK; }
  THRESHER_DEVICE u32 column_count() const { return kIsFirst ? args_.intermediate : args_.hidden; }
  // Gate and up are two matrices, whose strips a piece has half and half.
  THRESHER_DEVICE bool is_paired() const {
    return kIsFirst && args_.first_kind == FewKind::kPaired;
  }
  THRESHER_DEVICE bool is_single() const {
    return !kIsFirst || args_.first_kind == FewKind::kSingle;
  }
  // Of a piece.
  THRESHER_DEVICE u32 columns() const { return is_single() ? 16 * kStrips : 8 * kStrips; }
  THRESHER_DEVICE u32 groups_of_strips() const {
    return (column_count() + columns() - 1) / columns();
  }

  // So that the combine finds rows where they are: every slot's at its own number.
  THRESHER_DEVICE void write_rows() const {
    const u32 rows = args_.token_count * args_.slot_count();
    for (u32 row = static_cast<u32>(hw::thread_index()); row < rows; row += kLayerThreads) {
      const u32 group = book_.group(row);
      hw::store_global(args_.row_of_slot + row, group == kLayerNoRow ? kLayerNoRow : row);
      hw::store_global(args_.group_of_row + row, group);
    }
  }

  // What it loads is not looked at yet: the loads are on their way while the piece before is
  // multiplied.
  THRESHER_DEVICE Place place_of(u32 piece) const {
    Place place{
        .octet = piece / groups_of_strips(), .strips = piece % groups_of_strips(), .exists = true};
    const u32 first = book_.member(place.octet, 0);
    const LayerExpert& expert = args_.experts[book_.group(first)];
    const bool paired = is_paired();
    place.tiles[0] = hw::load_global(!kIsFirst     ? &expert.down
                                     : is_single() ? &expert.up
                                                   : &expert.first);
    place.tiles[1] = paired ? hw::load_global(&expert.up) : place.tiles[0];
    constexpr u32 kHalf = kStrips / 2;
    const u32 strip = place.strips * (paired ? kHalf : kStrips);
    place_half(place, 0, strip);
    place_half(place, 1, paired ? strip : strip + kHalf);
    place_tokens(place, first);
    return place;
  }

  THRESHER_DEVICE void place_half(Place& place, u32 half, u32 strip) const {
    constexpr u32 kStripsPerTile = kTileRows / 16;
    const u32 tile = strip / kStripsPerTile * k_tiles() * kTileBytes;
    place.codes[half] = tile + strip % kStripsPerTile * kStripBytes + lane_ * 16;
    place.scales[half] =
        tile + kTileCodeBytes + strip % kStripsPerTile * kStripScaleBytes + lane_ / 4 * 8;
  }

  // Columns of an MMA do not meet: what comes of a column that is nobody's is not stored.
  THRESHER_DEVICE void place_tokens(Place& place, u32 first) const {
    const u32 own = book_.member(place.octet, lane_ / 4);
    const u32 member = own == FewBook::kNobody ? first : own;
    const u32 quarter = lane_ % 4 * 2;  // of eight values
    if constexpr (kIsFirst) {
      place.tokens = args_.x + member / args_.slot_count() * args_.x_row_bytes +
                     quarter * static_cast<u32>(element_bytes(kConfig.type));
    } else {
      place.tokens = args_.h + (u64{member} * args_.intermediate + quarter) * 2;
    }
  }

  // K tile `index` among the warp's: weights and tokens.
  THRESHER_DEVICE void load(const Place& place, u32 index, u32 slot) {
    const u32 tile = index * kWarps + warp_;
    if (!place.exists || tile >= k_tiles()) return;
    THRESHER_UNROLL
    for (u32 strip = 0; strip < kStrips; ++strip) {
      constexpr u32 kHalf = kStrips / 2;
      const u32 half = strip / kHalf;
      const auto* tiles = reinterpret_cast<const u8*>(place.tiles[half]) + tile * kTileBytes;
      fragments_[slot][strip] =
          PackedFragment::load(tiles + place.codes[half] + strip % kHalf * kStripBytes,
                               tiles + place.scales[half] + strip % kHalf * kStripScaleBytes);
    }
    load_tokens(place, tile, tokens_[slot]);
  }

  // Pairs of the lane's token that its part of the operand is made of; zeros beyond k, where
  // weights are zeros too.
  THRESHER_DEVICE void load_tokens(const Place& place, u32 tile,
                                   u32 (&tokens)[kStepsPerTile][2]) const {
    constexpr u32 kBytes = kIsFirst ? static_cast<u32>(element_bytes(kConfig.type)) : 2;
    const u8* from = place.tokens + tile * (kTileK * kBytes);
    if ((tile + 1) * kTileK <= k()) {
      THRESHER_UNROLL
      for (u32 step = 0; step < kStepsPerTile; ++step) {
        tokens[step][0] = load_pair(from + step * kStepK * kBytes);
        tokens[step][1] = load_pair(from + (step * kStepK + 8) * kBytes);
      }
      return;
    }
    THRESHER_UNROLL
    for (u32 step = 0; step < kStepsPerTile; ++step) {
      const bool exists = tile * kTileK + step * kStepK < k();
      THRESHER_UNROLL
      for (u32 i = 0; i < 2; ++i) {
        tokens[step][i] = exists ? load_pair(from + (step * kStepK + 8 * i) * kBytes) : 0;
      }
    }
  }

  // Where nothing is to be converted, nothing waits for the load before the MMA does.
  THRESHER_DEVICE static u32 load_pair(const u8* from) {
    if constexpr (!kIsFirst || kConfig.type == kOperandType) {
      return hw::load_global(reinterpret_cast<const u32*>(from));
    } else {
      static_assert(kConfig.type == OutputType::kFp32);
      const auto words = hw::load_global(reinterpret_cast<const U32x2*>(from));
      return pack_pair<kOperandType>(hw::bits_to_float(words.x), hw::bits_to_float(words.y));
    }
  }

  THRESHER_DEVICE void compute(const Place& here, const Place& there, u32 turn) {
    float sums[kStrips][4];
    THRESHER_UNROLL
    for (u32 strip = 0; strip < kStrips; ++strip) {
      THRESHER_UNROLL
      for (u32 i = 0; i < 4; ++i) sums[strip][i] = 0.0f;
    }
    const u32 rounds = (k_tiles() + kWarps * kTiles - 1) / (kWarps * kTiles);
    for (u32 round = 0; round + 1 < rounds; ++round) {
      THRESHER_UNROLL
      for (u32 i = 0; i < kTiles; ++i) {
        multiply(i, sums);
        load(here, (round + 1) * kTiles + i, i);
      }
    }
    THRESHER_UNROLL
    for (u32 i = 0; i < kTiles; ++i) {
      if (((rounds - 1) * kTiles + i) * kWarps + warp_ < k_tiles()) multiply(i, sums);
      load(there, i, i);
    }
    const hw::SharedAddress shared =
        hw::shared_base() + kFewBookBytes + turn * kWarps * kFewColumns * kPitch * 4;
    leave(here, sums, shared);
    hw::sync_block();
    finish(here, shared);
  }

  THRESHER_DEVICE void multiply(u32 slot, float (&sums)[kStrips][4]) const {
    THRESHER_UNROLL
    for (int step = 0; step < kStepsPerTile; ++step) {
      THRESHER_UNROLL
      for (u32 strip = 0; strip < kStrips; ++strip) {
        u32 weights[4];
        decode_step<kOperand>(fragments_[slot][strip], step, weights);
        hw::mma_warp<kOperand>(sums[strip], weights, tokens_[slot][step]);
      }
    }
  }

  THRESHER_DEVICE static hw::SharedAddress sum_address(hw::SharedAddress shared, u32 warp,
                                                       u32 column, u32 row) {
    return shared + ((warp * kFewColumns + column) * kPitch + row) * 4;
  }

  // A warp's sums, for all to add up.
  THRESHER_DEVICE void leave(const Place& place, const float (&sums)[kStrips][4],
                             hw::SharedAddress shared) const {
    const u32 column = lane_ % 4 * 2;
    THRESHER_UNROLL
    for (u32 i = 0; i < 2; ++i) {
      if (book_.member(place.octet, column + i) == FewBook::kNobody) continue;
      THRESHER_UNROLL
      for (u32 strip = 0; strip < kStrips; ++strip) {
        const u32 at = strip * 16 + lane_ / 4;
        hw::store_shared(sum_address(shared, warp_, column + i, at), sums[strip][i]);
        hw::store_shared(sum_address(shared, warp_, column + i, at + 8), sums[strip][2 + i]);
      }
    }
  }

  THRESHER_DEVICE static float total(hw::SharedAddress shared, u32 column, u32 row) {
    float sum = 0.0f;
    THRESHER_UNROLL
    for (u32 warp = 0; warp < kWarps; ++warp) {
      sum += hw::load_shared<float>(sum_address(shared, warp, column, row));
    }
    return sum;
  }

  THRESHER_DEVICE void finish(const Place& place, hw::SharedAddress shared) const {
    const u32 own = columns();
    for (u32 i = static_cast<u32>(hw::thread_index()); i < kFewColumns * own; i += kLayerThreads) {
      const u32 member = book_.member(place.octet, i / own);
      if (member == FewBook::kNobody) return;
      const u32 column = place.strips * own + i % own;
      if (column >= column_count()) continue;
      if constexpr (kIsFirst) {
        store_first(member, column, shared, i / own, i % own);
      } else {
        const LayerExpert& expert = args_.experts[book_.group(member)];
        const Factor factor = load_factor(expert.factor_down, kUnit);
        hw::store_global(args_.y + u64{member} * args_.hidden + column,
                         apply(factor, total(shared, i / own, i % own)));
      }
    }
  }

  THRESHER_DEVICE void store_first(u32 member, u32 column, hw::SharedAddress shared, u32 of_octet,
                                   u32 of_unit) const {
    const u32 group = book_.group(member);
    const LayerExpert& expert = args_.experts[group];
    const Factor factor_up = load_factor(expert.factor_up, kUnit);
    const auto biased = [&](float value, const float* biases) {
      if (biases == nullptr) return value;
      return value + hw::load_global(biases + u64{group} * args_.intermediate + column);
    };
    float value;
    if (is_single()) {
      const float up = biased(apply(factor_up, total(shared, of_octet, of_unit)), args_.up_biases);
      value = activated(args_, up, up);
    } else {
      const bool paired = is_paired();
      const u32 gate_row = paired ? of_unit : of_unit / 8 * 16 + of_unit % 8;
      const u32 up_row = gate_row + (paired ? 8 * kStrips : 8);
      const Factor factor = load_factor(expert.factor, kUnit);
      const float gate =
          biased(apply(factor, total(shared, of_octet, gate_row)), args_.gate_biases);
      const float up = biased(apply(factor_up, total(shared, of_octet, up_row)), args_.up_biases);
      value = paired ? activated(args_, gate, up) : silu(gate) * up;
    }
    hw::store_global(reinterpret_cast<u16*>(args_.h) + u64{member} * args_.intermediate + column,
                     static_cast<u16>(pack_pair<kOperandType>(value, value) & 0xffff));
  }

  const LayerArgs& args_;
  const FewBook book_;
  const u32 warp_;
  const u32 lane_;
  PackedFragment fragments_[kTiles][kStrips];
  u32 tokens_[kTiles][kStepsPerTile][2];
};

}  // namespace thresher::gpu
