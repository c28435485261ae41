// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/weight_tiles.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "gemm/inputs.hpp"
#include "gpu/gemm/kernels/weight_decode.cuh"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"

namespace thresher::gpu {
namespace {

struct Shape {
  std::int64_t n;
  std::int64_t k;
};
constexpr Shape kShapes[] = {{1, 16},   {7, 48},    {64, 64},  {128, 64},
                             {129, 80}, {300, 144}, {256, 256}};

// All codes and all finite scales, negative ones included.
GroupInputs full_inputs(Shape shape, Op op) {
  const Problem problem{.name = "pack", .op = op, .groups = {{.m = 0, .n = shape.n, .k = shape.k}}};
  return make_inputs(problem, InputFamily::kFull, 7).groups.front();
}

// Weights as an engine is given them.
WeightMatrices matrices_of(const GroupInputs& inputs, Op op, Activations activations) {
  return {.op = op, .b = inputs.b.view(), .up = inputs.b_up.view(), .activations = activations};
}

std::vector<std::uint8_t> packed(const WeightMatrices& matrices) {
  std::vector<std::uint8_t> bytes(tiles_for(matrices).bytes());
  pack_weights(matrices, bytes);
  return bytes;
}

TEST(WeightTiles, UnpackToTheVeryBytes) {
  for (const Shape shape : kShapes) {
    for (const Op op : {Op::kGemm, Op::kDual}) {
      const GroupInputs inputs = full_inputs(shape, op);
      for (const Activations activations : {Activations::kNvfp4, Activations::kBf16}) {
        const WeightMatrices matrices = matrices_of(inputs, op, activations);
        const WeightTiles tiles = tiles_for(matrices);
        EXPECT_EQ(tiles.operand,
                  activations == Activations::kBf16 ? hw::Operand::kBf16 : hw::Operand::kFp16);
        SCOPED_TRACE(::testing::Message() << shape.n << " x " << shape.k << " " << to_string(op));
        const Nvfp4Matrix unpacked = unpack_weights(tiles, packed(matrices));
        EXPECT_EQ(unpacked.codes, inputs.b.codes);
        EXPECT_EQ(unpacked.scales, inputs.b.scales);
        EXPECT_EQ(unpacked.rows, shape.n);
        EXPECT_EQ(unpacked.k_elements, shape.k);
        if (op == Op::kGemm) continue;
        const Nvfp4Matrix up = unpack_weights(tiles, packed(matrices), 1);
        EXPECT_EQ(up.codes, inputs.b_up.codes);
        EXPECT_EQ(up.scales, inputs.b_up.scales);
      }
    }
  }
}

// fp16 and NVFP4 activations are multiplied in the same type, bf16 in another.
TEST(WeightTiles, AreOneCopyForFp16AndNvfp4) {
  const GroupInputs inputs = full_inputs({129, 80}, Op::kGemm);
  const auto bytes_for = [&](Activations activations) {
    return packed(matrices_of(inputs, Op::kGemm, activations));
  };
  EXPECT_EQ(bytes_for(Activations::kNvfp4), bytes_for(Activations::kFp16));
  EXPECT_NE(bytes_for(Activations::kNvfp4), bytes_for(Activations::kBf16));
}

// Nine per sixteen of a byte where nothing is padded, and the scales' signs.
TEST(WeightTiles, TakeSoManyBytes) {
  constexpr std::size_t kSigns = 256 * 128 / 16 / 8;
  EXPECT_EQ((WeightTiles{.op = Op::kGemm, .n = 256, .k_elements = 128}.bytes()),
            256 * 128 * 9 / 16 + kSigns);
  EXPECT_EQ((WeightTiles{.op = Op::kDual, .n = 128, .k_elements = 128}.bytes()),
            256 * 128 * 9 / 16 + kSigns);
  EXPECT_EQ((WeightTiles{.op = Op::kGemm, .n = 1, .k_elements = 16}.bytes()), 4608u + 64);
  EXPECT_EQ((WeightTiles{.op = Op::kDual, .n = 65, .k_elements = 80}.bytes()), 4 * (4608u + 64));
}

// So many tiles that several threads pack them, where there are several.
TEST(WeightTiles, OfManyTilesUnpackToTheVeryBytes) {
  const GroupInputs inputs = full_inputs({1100, 4160}, Op::kDual);
  const WeightMatrices matrices = matrices_of(inputs, Op::kDual, Activations::kNvfp4);
  const WeightTiles tiles = tiles_for(matrices);
  ASSERT_GE(tiles.row_tile_count() * tiles.k_tile_count(), 1024);
  const std::vector<std::uint8_t> bytes = packed(matrices);
  EXPECT_EQ(unpack_weights(tiles, bytes).codes, inputs.b.codes);
  EXPECT_EQ(unpack_weights(tiles, bytes, 1).codes, inputs.b_up.codes);
  EXPECT_EQ(unpack_weights(tiles, bytes, 1).scales, inputs.b_up.scales);
}

// A fragment whose eight values are all `code`, under `scale` in both rows, as it is packed.
PackedFragment fragment_of(std::uint8_t code, std::uint8_t scale, hw::Operand operand) {
  Nvfp4Matrix matrix{.rows = kTileRows, .k_elements = kTileK};
  matrix.codes.assign(kTileRows * kTileK / 2, static_cast<std::uint8_t>(code | code << 4));
  matrix.scales.assign(kTileRows * kTileK / kStepK, scale);
  const bool is_bf16 = operand == hw::Operand::kBf16;
  const std::vector<std::uint8_t> bytes = packed(
      {.b = matrix.view(), .activations = is_bf16 ? Activations::kBf16 : Activations::kNvfp4});
  const PackedPlace place(0, 0);
  PackedFragment fragment;
  std::memcpy(&fragment.codes, bytes.data() + place.codes, sizeof fragment.codes);
  std::memcpy(&fragment.scales, bytes.data() + place.scales, sizeof fragment.scales);
  return fragment;
}

template <hw::Operand kOperand>
float low_value(u32 pair) {
  return kOperand == hw::Operand::kFp16 ? hw::fp16_low(pair) : hw::bf16_low(pair);
}
template <hw::Operand kOperand>
float high_value(u32 pair) {
  return kOperand == hw::Operand::kFp16 ? hw::fp16_high(pair) : hw::bf16_high(pair);
}

// Every code under every finite scale, in every register and step.
template <hw::Operand kOperand>
void check_all_products() {
  for (int scale_code = 0; scale_code < 256; ++scale_code) {
    const auto scale = static_cast<std::uint8_t>(scale_code);
    if (nvfp4::is_nan_e4m3(scale)) continue;
    for (std::uint8_t code = 0; code < 16; ++code) {
      const float expected = nvfp4::decode_e2m1(code) * nvfp4::decode_e4m3(scale) / kWeightUnit;
      const PackedFragment packed = fragment_of(code, scale, kOperand);
      for (int step = 0; step < kStepsPerTile; ++step) {
        u32 a[4];
        decode_step<kOperand>(packed, step, a);
        for (const u32 pair : a) {
          ASSERT_EQ(low_value<kOperand>(pair), expected) << scale_code << " " << int{code};
          ASSERT_EQ(high_value<kOperand>(pair), expected) << scale_code << " " << int{code};
        }
        const PackedFragment two[2] = {packed, packed};
        decode_half_steps<kOperand, false>(two, step, a);
        for (const u32 pair : a) ASSERT_EQ(low_value<kOperand>(pair), expected);
        decode_half_steps<kOperand, true>(two, step, a);
        for (const u32 pair : a) ASSERT_EQ(high_value<kOperand>(pair), expected);
      }
    }
  }
}

TEST(WeightDecode, IsExactInFp16) { check_all_products<hw::Operand::kFp16>(); }
TEST(WeightDecode, IsExactInBf16) { check_all_products<hw::Operand::kBf16>(); }

// Neighbouring values of a word differ, so that a bit that strays from one to another shows.
template <hw::Operand kOperand>
void check_words() {
  u32 state = 1;
  for (int repeat = 0; repeat < 20000; ++repeat) {
    state = state * 1664525u + 1013904223u;
    const u32 word = state ^ state >> 13;
    constexpr u32 kOnes = 0xb0b0b0b0;  // four scales of 1
    const PackedFragment packed{.codes = {word, word, word, word}, .scales = {kOnes, kOnes}};
    u32 a[4];
    decode_step<kOperand>(packed, repeat % 4, a);
    for (int i = 0; i < 4; ++i) {
      const auto value = [&](u32 half) {
        constexpr CodeBits kBits = code_bits(kOperand);
        const u32 code = (half >> kBits.sign[i] & 1) << 3 | (half >> kBits.magnitude[i] & 7);
        return nvfp4::decode_e2m1(static_cast<std::uint8_t>(code)) / kWeightUnit;
      };
      ASSERT_EQ(low_value<kOperand>(a[i]), value(word & 0xffff));
      ASSERT_EQ(high_value<kOperand>(a[i]), value(word >> 16));
    }
  }
}

TEST(WeightDecode, KeepsTheValuesOfAWordApartInFp16) { check_words<hw::Operand::kFp16>(); }
TEST(WeightDecode, KeepsTheValuesOfAWordApartInBf16) { check_words<hw::Operand::kBf16>(); }

}  // namespace
}  // namespace thresher::gpu
