// SPDX-License-Identifier: Apache-2.0
// What surrounds a matrix product in a GPU peer: NVFP4 weights expanded to 16 bits, the gate of a
// dual GEMM. Both are bound by memory, as anybody would write them who wants them fast.
#pragma once

#include "bench/gpu_peer_args.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::bench {

namespace hw = gpu::hw;

template <hw::Operand kOperand>
THRESHER_DEVICE u32 pack_pair(float low, float high) {
  if constexpr (kOperand == hw::Operand::kFp16) {
    return hw::pack_fp16x2(low, high);
  } else {
    return hw::pack_bf16x2(low, high);
  }
}

// Exponent and mantissa of a small float lie side by side, as FP32 wants them; the factor makes up
// for the other bias, and turns subnormals into what they stand for.
THRESHER_DEVICE float decode_e2m1(u32 code) {
  return hw::bits_to_float((code & 7) << 22 | (code & 8) << 28) * 0x1p126f;
}
THRESHER_DEVICE float decode_e4m3(u32 code) {
  return hw::bits_to_float((code & 0x7f) << 20 | (code & 0x80) << 24) * 0x1p120f;
}

template <hw::Operand kOperand>
THRESHER_DEVICE gpu::U32x4 expand_word(u32 codes, float scale) {
  const auto pair = [&](int i) {
    return pack_pair<kOperand>(decode_e2m1(codes >> 8 * i) * scale,
                               decode_e2m1(codes >> (8 * i + 4)) * scale);
  };
  return {pair(0), pair(1), pair(2), pair(3)};
}

// A thread has all its loads under way at once, and neighbours store side by side.
template <hw::Operand kOperand>
THRESHER_DEVICE void expand_kernel(const ExpandArgs& args) {
  const u64 first = static_cast<u64>(hw::block_index()) * kExpandWordsPerBlock +
                    static_cast<u64>(hw::thread_index());
  u32 codes[kExpandWordsPerThread] = {};
  u8 scales[kExpandWordsPerThread] = {};
  THRESHER_UNROLL
  for (int i = 0; i < kExpandWordsPerThread; ++i) {
    const u64 word = first + i * kExpandThreads;
    if (word >= args.word_count) continue;
    codes[i] = hw::load_global(args.codes + word);
    scales[i] = hw::load_global(args.scales + word / 2);
  }
  THRESHER_UNROLL
  for (int i = 0; i < kExpandWordsPerThread; ++i) {
    const u64 word = first + i * kExpandThreads;
    if (word >= args.word_count) continue;
    hw::store_global(args.out + word, expand_word<kOperand>(codes[i], decode_e4m3(scales[i])));
  }
}

// silu(gate) * up of one row, each product times its factor first.
struct GatedRow {
  const float* gate;
  const float* up;
  float gate_factor;
  float up_factor;

  THRESHER_DEVICE float value(float gate_product, float up_product) const {
    const float g = gate_product * gate_factor;
    return g / (1.0f + expf(-g)) * (up_product * up_factor);
  }

  template <hw::Operand kOperand>
  THRESHER_DEVICE gpu::U32x2 four(u32 column) const {
    const gpu::U32x4 g = hw::load_global(reinterpret_cast<const gpu::U32x4*>(gate + column));
    const gpu::U32x4 u = hw::load_global(reinterpret_cast<const gpu::U32x4*>(up + column));
    const auto at = [this](u32 gate_bits, u32 up_bits) {
      return value(hw::bits_to_float(gate_bits), hw::bits_to_float(up_bits));
    };
    return {pack_pair<kOperand>(at(g.x, u.x), at(g.y, u.y)),
            pack_pair<kOperand>(at(g.z, u.z), at(g.w, u.w))};
  }

  template <hw::Operand kOperand>
  THRESHER_DEVICE gpu::u16 one(u32 column) const {
    const float result = value(hw::load_global(gate + column), hw::load_global(up + column));
    return static_cast<gpu::u16>(pack_pair<kOperand>(result, 0.0f));
  }
};

template <hw::Operand kOperand>
THRESHER_DEVICE void gate_kernel(const GateArgs& args) {
  const GateRow* entry = args.rows + hw::block_index();
  const u32 n = hw::load_global(&entry->n);
  const auto* products = reinterpret_cast<const float*>(hw::load_global(&entry->products));
  auto* c = reinterpret_cast<gpu::u16*>(hw::load_global(&entry->c));
  const GatedRow row{products, products + n, hw::load_global(&entry->gate_factor),
                     hw::load_global(&entry->up_factor)};
  const u32 thread = static_cast<u32>(hw::thread_index());
  if (n % 4 == 0) {  // and so every row of the three is aligned to four columns
    for (u32 column = 4 * thread; column < n; column += 4 * kGateThreads) {
      hw::store_global(reinterpret_cast<gpu::U32x2*>(c + column), row.four<kOperand>(column));
    }
  } else {
    for (u32 column = thread; column < n; column += kGateThreads) {
      hw::store_global(c + column, row.one<kOperand>(column));
    }
  }
}

}  // namespace thresher::bench
