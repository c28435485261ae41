// SPDX-License-Identifier: Apache-2.0
#include "measure/cold_copies.hpp"

#include <gtest/gtest.h>

#include "gpu/runtime/gpu.hpp"

namespace thresher::measure {
namespace {

TEST(ColdCopies, ExceedTheCachesOfTheCpu) {
  EXPECT_EQ(cold_copy_count(0), 1u);
  EXPECT_GT(cold_copy_count(std::size_t{1} << 20) * (std::size_t{1} << 20), std::size_t{256} << 20);
  EXPECT_EQ(cold_copy_count(1), 4096u);
}

TEST(ColdCopies, ExceedTheL2OfAGpu) {
  constexpr std::size_t kL2 = std::size_t{50} << 20;
  EXPECT_EQ(gpu::cold_copy_count(1, kL2), 64u);
  EXPECT_EQ(gpu::cold_copy_count(1e9, kL2), 2u);
  EXPECT_GE(static_cast<double>(gpu::cold_copy_count(10e6, kL2)) * 10e6, 2.2 * kL2);
}

}  // namespace
}  // namespace thresher::measure
