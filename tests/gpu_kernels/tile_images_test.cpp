// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/tile_images.cuh"

#include <gtest/gtest.h>

#include <cmath>

#include "emulator/launch.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"

namespace thresher::gpu {
namespace {

// Exactly, in the unit of images that are made by tile, and each value in its place.
TEST(TilePiece, DecodesEveryCodeUnderEveryScale) {
  constexpr float kUnit = activation_unit({.prologue = Prologue::kTile});
  emulator::launch({.block_count = 1, .thread_count = 32, .shared_bytes = 1024}, [&] {
    if (hw::thread_index() != 0) return;
    for (u32 scale = 0; scale < 256; ++scale) {
      TilePiece{.codes = {0x76543210, 0xfedcba98}, .scale = scale}.store(hw::shared_base(),
                                                                         hw::shared_base() + 16);
      for (u32 code = 0; code < 16; ++code) {
        const float got =
            nvfp4::fp16_to_float(hw::load_shared<u16>(hw::shared_base() + 2 * code)) * kUnit;
        const float right = nvfp4::decode_e2m1(static_cast<std::uint8_t>(code)) *
                            nvfp4::decode_e4m3(static_cast<std::uint8_t>(scale));
        if (nvfp4::is_nan_e4m3(static_cast<std::uint8_t>(scale))) {
          EXPECT_TRUE(std::isnan(got)) << scale << " " << code;
        } else {
          EXPECT_EQ(got, right) << scale << " " << code;
        }
      }
    }
  });
}

}  // namespace
}  // namespace thresher::gpu
