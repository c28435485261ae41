// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm100/weight_images.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gemm/inputs.hpp"
#include "thresher/nvfp4.hpp"

namespace thresher::gpu::sm100 {
namespace {

struct Shape {
  std::int64_t n;
  std::int64_t k;
};
constexpr Shape kShapes[] = {{1, 16}, {7, 48}, {128, 256}, {129, 272}, {300, 144}};

// All codes and all finite scales, negative ones included.
GroupInputs full_inputs(Shape shape, Op op) {
  const Problem problem{.name = "pack", .op = op, .groups = {{.m = 0, .n = shape.n, .k = shape.k}}};
  return make_inputs(problem, InputFamily::kFull, 7).groups.front();
}

WeightMatrices matrices_of(const GroupInputs& inputs, Op op) {
  return {.op = op, .b = inputs.b.view(), .up = inputs.b_up.view()};
}

std::vector<std::uint8_t> packed(const WeightMatrices& matrices) {
  std::vector<std::uint8_t> bytes(images_for(matrices).bytes(), 0xa5);
  pack_images(matrices, bytes);
  return bytes;
}

TEST(WeightImages, UnpackToTheVeryBytes) {
  for (const Shape shape : kShapes) {
    for (const Op op : {Op::kGemm, Op::kDual}) {
      SCOPED_TRACE(::testing::Message() << shape.n << " x " << shape.k << " " << to_string(op));
      const GroupInputs inputs = full_inputs(shape, op);
      const WeightMatrices matrices = matrices_of(inputs, op);
      const WeightImages images = images_for(matrices);
      const Nvfp4Matrix unpacked = unpack_images(images, packed(matrices));
      EXPECT_EQ(unpacked.codes, inputs.b.codes);
      EXPECT_EQ(unpacked.scales, inputs.b.scales);
      if (op == Op::kGemm) continue;
      const Nvfp4Matrix up = unpack_images(images, packed(matrices), 1);
      EXPECT_EQ(up.codes, inputs.b_up.codes);
      EXPECT_EQ(up.scales, inputs.b_up.scales);
    }
  }
}

// Said another way than the packer says it: the magnitudes of 256 k are the 128 x 4 blocks that
// cuBLAS and CUTLASS read, one after the other.
TEST(WeightImages, ScalesAreThePublicLayout) {
  const GroupInputs inputs = full_inputs({128, 256}, Op::kGemm);
  const std::vector<std::uint8_t> bytes = packed(matrices_of(inputs, Op::kGemm));
  std::vector<std::uint8_t> magnitudes = inputs.b.scales;
  for (std::uint8_t& scale : magnitudes) scale &= 0x7f;
  const std::vector<std::uint8_t> swizzled = swizzle_scales_128x4(magnitudes, 128, 16);
  ASSERT_EQ(swizzled.size(), 2048u);
  EXPECT_TRUE(std::equal(swizzled.begin(), swizzled.end(), bytes.begin() + 16384));
}

// Likewise: bits 4 to 6 of a byte's address are xored with bits 7 to 9, as TMA's swizzle does it.
TEST(WeightImages, CodesAreInThe128ByteSwizzle) {
  GroupInputs inputs = full_inputs({128, 256}, Op::kGemm);
  for (std::uint8_t& scale : inputs.b.scales) scale &= 0x7f;
  const std::vector<std::uint8_t> bytes = packed(matrices_of(inputs, Op::kGemm));
  for (std::size_t i = 0; i < 16384; ++i) {
    ASSERT_EQ(bytes[i ^ (i >> 7 & 7) << 4], inputs.b.codes[i]) << i;
  }
}

// Boxes of the map are the tiles, one after the other.
TEST(WeightImages, AMapSeesTheirTiles) {
  const WeightImages images{.op = Op::kDual, .n = 129, .k_elements = 272};
  const hw::TensorMapFields map = map_of(images, 4096);
  EXPECT_EQ(map.address, 4096u);
  EXPECT_EQ(map.box[0] * map.box[1], 18432u);
  EXPECT_EQ(map.extents[0] * map.extents[1], 8u * 18432);
  EXPECT_EQ(map.stride_bytes, map.box[0]);
  EXPECT_EQ(map.swizzle, 0u);
}

TEST(WeightImages, TakeSoManyBytes) {
  EXPECT_EQ((WeightImages{.n = 128, .k_elements = 256}.bytes()), 18432u + 256);
  EXPECT_EQ((WeightImages{.op = Op::kDual, .n = 129, .k_elements = 272}.bytes()),
            8 * (18432u + 256));
}

}  // namespace
}  // namespace thresher::gpu::sm100
