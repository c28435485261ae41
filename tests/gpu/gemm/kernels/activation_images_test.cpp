// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/kernels/activation_images.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "emulator/device_memory.hpp"
#include "emulator/launch.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"

namespace thresher::gpu {
namespace {

constexpr int kTokens = 16;

// Where the value of a token and k of a group stands, as activation_images.cuh says it.
std::size_t value_offset(u32 first_image, u32 token, u32 k, u32 k_tile_count) {
  const u32 image = first_image + token / kTokens * k_tile_count + k / 64;
  const u32 row = token % kTokens;
  const u32 chunk = k % 64 / 8;
  return image * (kTokens * 128u) + row * 128 + (chunk ^ row % 8) * 16 + k % 8 * 2;
}

class ActivationImages : public ::testing::Test {
 protected:
  template <typename T>
  T* allocate(std::size_t count) {
    return static_cast<T*>(memory_.allocate(count * sizeof(T)));
  }

  template <ImageConfig kConfig>
  void run(std::vector<GroupEntry> groups, std::vector<u32> counts, std::size_t image_count) {
    auto* entries = allocate<GroupEntry>(groups.size());
    auto* token_counts = allocate<u32>(counts.size());
    std::memcpy(entries, groups.data(), groups.size() * sizeof(GroupEntry));
    std::memcpy(token_counts, counts.data(), counts.size() * sizeof(u32));
    images_ = allocate<u8>(image_count * image_bytes(kTokens));
    const ImageArgs args{
        .table = {.entries = entries, .token_counts = token_counts, .token_limit = 1000},
        .images = images_,
        .group_count = static_cast<u32>(groups.size())};
    emulator::launch({.block_count = 2, .thread_count = 64, .memory = &memory_},
                     [&] { image_kernel<kConfig>(args); });
  }

  u16 value(u32 first_image, u32 token, u32 k, u32 k_tile_count) const {
    u16 bits;
    std::memcpy(&bits, images_ + value_offset(first_image, token, k, k_tile_count), sizeof bits);
    return bits;
  }

  emulator::DeviceMemory memory_;
  u8* images_ = nullptr;
};

// One token per scale code: 254 tokens of 16 codes each, decoded exactly.
TEST_F(ActivationImages, DecodeEveryCodeUnderEveryScale) {
  constexpr float kUnit = activation_unit(ActivationType::kNvfp4);
  constexpr u32 kScaleCodes = 256;
  auto* codes = allocate<u8>(kScaleCodes * 8);
  auto* scales = allocate<u8>(kScaleCodes);
  for (u32 token = 0; token < kScaleCodes; ++token) {
    scales[token] = static_cast<u8>(token);
    for (u32 i = 0; i < 8; ++i) codes[token * 8 + i] = static_cast<u8>(2 * i | (2 * i + 1) << 4);
  }
  GroupEntry group;
  group.activations = reinterpret_cast<u64>(codes);
  group.activation_scales = reinterpret_cast<u64>(scales);
  group.n = 8;
  group.k = 16;
  run<ImageConfig{.activations = ActivationType::kNvfp4, .cut = {.tokens = kTokens}}>(
      {group}, {kScaleCodes}, kScaleCodes / kTokens);
  for (u32 token = 0; token < kScaleCodes; ++token) {
    for (u32 k = 0; k < 16; ++k) {
      const float got = nvfp4::fp16_to_float(value(0, token, k, 1)) * kUnit;
      const float right =
          nvfp4::decode_e2m1(static_cast<u8>(k)) * nvfp4::decode_e4m3(static_cast<u8>(token));
      if (nvfp4::is_nan_e4m3(static_cast<u8>(token))) {
        EXPECT_TRUE(std::isnan(got)) << token << " " << k;
      } else {
        EXPECT_EQ(got, right) << token << " " << k;
      }
    }
    for (u32 k = 16; k < 64; ++k) EXPECT_EQ(value(0, token, k, 1), 0);
  }
}

// Two groups of different k and a third without tokens between them; bits are copied.
TEST_F(ActivationImages, CopySixteenBitsAndPadWithZeros) {
  constexpr u32 kK[] = {80, 16, 640};
  constexpr u32 kCounts[] = {17, 0, 3};
  std::vector<GroupEntry> groups(3);
  std::vector<u16*> values;
  for (int g = 0; g < 3; ++g) {
    const u32 count = kCounts[g] * kK[g];
    values.push_back(count > 0 ? allocate<u16>(count) : nullptr);
    for (u32 i = 0; i < count; ++i) values[g][i] = static_cast<u16>(i * 40503u + g);
    groups[g].activations = reinterpret_cast<u64>(values[g]);
    groups[g].n = 8;
    groups[g].k = kK[g];
  }
  constexpr u32 kImages0 = 2 * 2;
  run<ImageConfig{.activations = ActivationType::kBf16,
                  .cut = {.tokens = kTokens, .widths = Widths::kFixed}}>(
      groups, {kCounts[0], kCounts[1], kCounts[2]}, kImages0 + 10);
  const auto check_group = [&](int g, u32 first_image, u32 token_tiles, u32 k_tiles) {
    for (u32 token = 0; token < token_tiles * kTokens; ++token) {
      for (u32 k = 0; k < k_tiles * 64; ++k) {
        const bool inside = token < kCounts[g] && k < kK[g];
        const u16 right = inside ? values[g][token * kK[g] + k] : u16{0};
        ASSERT_EQ(value(first_image, token, k, k_tiles), right) << g << " " << token << " " << k;
      }
    }
  };
  check_group(0, 0, 2, 2);
  check_group(2, kImages0, 1, 10);
}

// 17 tokens are a tile of 16 and one of 8: the second one's images are half as large.
TEST_F(ActivationImages, AreAsWideAsTheirTile) {
  constexpr u32 kCount = 17;
  constexpr u32 kK = 128;
  auto* values = allocate<u16>(kCount * kK);
  for (u32 i = 0; i < kCount * kK; ++i) values[i] = static_cast<u16>(i + 1);
  GroupEntry group;
  group.activations = reinterpret_cast<u64>(values);
  group.n = 8;
  group.k = kK;
  run<ImageConfig{.activations = ActivationType::kFp16, .cut = {.tokens = kTokens}}>({group},
                                                                                     {kCount}, 3);
  const std::size_t last_tile = 2 * image_bytes(kTokens);
  for (u32 row = 0; row < 8; ++row) {
    for (u32 k = 0; k < kK; ++k) {
      u16 bits;
      const std::size_t at =
          last_tile + k / 64 * image_bytes(8) + row * 128 + (k % 64 / 8 ^ row) * 16 + k % 8 * 2;
      std::memcpy(&bits, images_ + at, sizeof bits);
      ASSERT_EQ(bits, row == 0 ? values[16 * kK + k] : 0) << row << " " << k;
    }
  }
}

// Tokens beyond the limit that the workspace was made for are left out, whatever the counts say.
TEST_F(ActivationImages, StopAtTheTokenLimit) {
  auto* values = allocate<u16>(1000 * 16);
  GroupEntry group;
  group.activations = reinterpret_cast<u64>(values);
  group.n = 8;
  group.k = 16;
  run<ImageConfig{.activations = ActivationType::kFp16, .cut = {.tokens = kTokens}}>(
      {group, group}, {900, 5000}, (900 + 15) / 16 + (100 + 15) / 16);
}

}  // namespace
}  // namespace thresher::gpu
