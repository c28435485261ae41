// SPDX-License-Identifier: Apache-2.0
// How the tokens of a group are cut into tiles.
//
// By group: into as few tiles as the widest one allows. The last two share what the others leave
// equally, and each is rounded up to a width that the kernels have a main loop for: the widest,
// three quarters or half of it. More loops would be less padding, but a kernel of many is one whose
// registers the compiler cannot keep apart. Fixed: every tile has the widest's width, whatever is
// in it. Kernels cut every group anew, so the rule does without divisions by what is not a
// constant.
#pragma once

#include "gpu/hw/types.hpp"
#include "rounding.hpp"

namespace thresher::gpu {

enum class Widths : u8 { kByGroup, kFixed };

struct TokenCut {
  int tokens = 128;  // of the widest tile, a multiple of the granule
  Widths widths = Widths::kByGroup;
  int granule = 8;  // of widths

  bool operator==(const TokenCut&) const = default;

  // The widths that there are: from `narrowest` in steps to `tokens`.
  THRESHER_DEVICE constexpr int step() const {
    const int quarter = tokens / 4 / granule * granule;
    return quarter > granule ? quarter : granule;
  }
  THRESHER_DEVICE constexpr int narrowest() const {
    if (widths == Widths::kFixed) return tokens;
    return tokens - 2 * step() > granule ? tokens - 2 * step() : granule;
  }
};

// The tiles of one group: all are `widest` but the last two.
struct TokenTiles {
  u32 count = 0;
  u32 widest = 0;
  u32 before_last = 0;  // the width of the last but one, if there are two
  u32 last = 0;

  // How many are the widest without further looking.
  THRESHER_DEVICE constexpr u32 full_count() const { return count < 2 ? 0 : count - 2; }

  THRESHER_DEVICE constexpr u32 width_of(u32 tile) const {
    if (tile < full_count()) return widest;
    return tile + 1 < count ? before_last : last;
  }
  THRESHER_DEVICE constexpr u32 first_token(u32 tile) const {
    return tile + 1 == count ? column_count() - last : tile * widest;
  }
  THRESHER_DEVICE constexpr u32 column_count() const {
    return full_count() * widest + before_last + last;
  }
  // The tile that has a column.
  THRESHER_DEVICE constexpr u32 tile_of(u32 column) const {
    if (column + last >= column_count()) return count - 1;
    return column / widest < full_count() ? column / widest : count - 2;
  }
};

THRESHER_DEVICE constexpr TokenTiles cut_tokens(TokenCut cut, u32 token_count) {
  const u32 widest = static_cast<u32>(cut.tokens);
  const u32 count = divide_up(token_count, widest);
  if (count == 0) return {0, widest, 0, 0};
  if (cut.widths == Widths::kFixed) return {count, widest, count > 1 ? widest : 0, widest};
  const u32 narrowest = static_cast<u32>(cut.narrowest());
  const auto stepped = [=](u32 tokens) {
    if (tokens <= narrowest) return narrowest;
    return narrowest + round_up(tokens - narrowest, static_cast<u32>(cut.step()));
  };
  if (count == 1) return {1, widest, 0, stepped(token_count)};
  const u32 shared = token_count - (count - 2) * widest;
  const u32 before_last = stepped(divide_up(shared, 2));
  return {count, widest, before_last, stepped(shared - before_last)};
}

}  // namespace thresher::gpu
