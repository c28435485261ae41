// SPDX-License-Identifier: Apache-2.0
#include "cpu/pages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace thresher::cpu {
namespace {

TEST(PageStore, DealsOutPiecesThatAreApartAndAligned) {
  PageStore store;
  std::vector<Pages> pieces;
  for (const std::size_t bytes : {1u, 64u, 65u, 1000000u, 3000000u}) {
    for (int i = 0; i < 9; ++i) {
      pieces.push_back(store.take(bytes));
      std::memset(pieces.back().data(), static_cast<int>(pieces.size()), bytes);
    }
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::uint8_t* data = pieces[i].data();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
    EXPECT_TRUE(std::all_of(data, data + pieces[i].bytes(), [&](std::uint8_t byte) {
      return byte == i + 1;
    })) << i;
  }
}

// The address sanitizer would tell of memory that went too early, and of memory that never goes.
TEST(PageStore, APieceOutlivesTheStore) {
  std::optional<PageStore> store(std::in_place);
  Pages small = store->take(100);
  const Pages large = store->take(std::size_t{20} << 20);
  store.reset();
  std::memset(small.data(), 7, small.bytes());
  std::memset(large.data(), 7, large.bytes());
  const Pages moved = std::move(small);
  EXPECT_EQ(moved.data()[99], 7);
  EXPECT_EQ(large.bytes(), std::size_t{20} << 20);
}

// Rounded up to whole pages, the largest sizes would be none at all.
TEST(Pages, SizesThatNoMemoryHas) {
  PageStore store;
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 62, SIZE_MAX / 2 + 1}) {
    EXPECT_THROW(Pages pages(bytes), NoMemory) << bytes;
    EXPECT_THROW(store.take(bytes), NoMemory) << bytes;
  }
}

}  // namespace
}  // namespace thresher::cpu
