// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/cuda_launches.hpp"

#include <gtest/gtest.h>

#include "support/scene.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

using thresher::testing::make_problem;

CudaLaunches good_launches() {
  return {.launches = {{.kernel = "gemm",
                        .grid = {"ceil_div(n, 128)", "ceil_div(m, 64)", "groups"},
                        .block = {"256"},
                        .shared_bytes = "64 * 1024"},
                       {.kernel = "finish", .grid = {"m_sum"}, .block = {"32", "4"}}},
          .prepare = {{.kernel = "pack", .grid = {"sm_count"}, .block = {"128"}}},
          .packed_bytes = "groups * n * k / 2",
          .workspace_bytes = "4 * m_sum * n"};
}

template <typename Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(CudaLaunches, BecomeShapes) {
  const Problem problem = make_problem({70, 0, 10}, 300, 512);
  const CudaLaunchPlan plan = plan_launches(good_launches(), problem, 132);
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].kernel, "gemm");
  EXPECT_EQ(plan.launches[0].shape.grid, (gpu::Dim3{3, 2, 3}));
  EXPECT_EQ(plan.launches[0].shape.block, (gpu::Dim3{256, 1, 1}));
  EXPECT_EQ(plan.launches[0].shape.shared_bytes, 65536u);
  EXPECT_EQ(plan.launches[1].shape.grid, (gpu::Dim3{80, 1, 1}));
  EXPECT_EQ(plan.launches[1].shape.block, (gpu::Dim3{32, 4, 1}));
  EXPECT_EQ(plan.prepare.at(0).shape.grid.x, 132u);
  EXPECT_EQ(plan.packed_bytes, 3 * 300 * 512 / 2);
  EXPECT_EQ(plan.workspace_bytes, 4 * 80 * 300);
}

TEST(CudaLaunches, EmptyGridsAreLeftOut) {
  const Problem problem = make_problem({0, 0}, 300, 512);
  const CudaLaunchPlan plan = plan_launches(good_launches(), problem, 132);
  EXPECT_TRUE(plan.launches.empty());
  EXPECT_EQ(plan.prepare.size(), 1u);
}

TEST(CudaLaunches, ReadBack) {
  EXPECT_EQ(cuda_launches_from_text(to_text(good_launches())), good_launches());
  EXPECT_EQ(cuda_launches_from_text(to_text(CudaLaunches{})), CudaLaunches{});
  EXPECT_THROW(cuda_launches_from_text("{}"), Error);
  EXPECT_THROW(cuda_launches_from_text("x"), Error);
}

TEST(CudaLaunches, FaultsSayWhichLaunchAndWhy) {
  const auto after = [](auto change) {
    CudaLaunches launches = good_launches();
    change(launches);
    return error_of([&] { thresher::check(launches); });
  };
  EXPECT_EQ(after([](CudaLaunches&) {}), "no error");
  EXPECT_EQ(after([](CudaLaunches& l) { l.launches.clear(); }),
            "a CUDA source needs at least one launch: kernel, grid and block");
  EXPECT_EQ(after([](CudaLaunches& l) { l.launches[1].kernel = "a b"; }),
            "launch 1: kernel must be the name of an extern \"C\" __global__ function");
  EXPECT_EQ(after([](CudaLaunches& l) { l.launches[0].grid.clear(); }),
            "launch 0: grid has 0 extents; 1 to 3 are allowed");
  EXPECT_EQ(after([](CudaLaunches& l) {
              l.prepare[0].block = {"1", "1", "1", "1"};
            }),
            "prepare launch 0: block has 4 extents; 1 to 3 are allowed");
  EXPECT_EQ(after([](CudaLaunches& l) { l.launches[0].block = {"x"}; }).substr(0, 30),
            "launch 0: the expression \"x\" s");
  EXPECT_EQ(after([](CudaLaunches& l) { l.launches.resize(65, l.launches[0]); }),
            "more than 64 launches");
}

TEST(CudaLaunches, LimitsAreChecked) {
  const Problem problem = make_problem({70}, 300, 512);
  const auto after = [&](auto change) {
    CudaLaunches launches = good_launches();
    change(launches);
    return error_of([&] { plan_launches(launches, problem, 132); });
  };
  EXPECT_EQ(after([](CudaLaunches& l) { l.launches[0].grid[1] = "65536"; }),
            "launch 0: grid[1] is 65536, more than 65535");
  EXPECT_EQ(after([](CudaLaunches& l) { l.launches[0].block = {"1025"}; }),
            "launch 0: block[0] is 1025, more than 1024");
  EXPECT_EQ(after([](CudaLaunches& l) {
              l.launches[0].block = {"64", "32"};
            }),
            "launch 0: a block of 2048 threads; 1 to 1024 are allowed");
  EXPECT_EQ(after([](CudaLaunches& l) { l.launches[0].block = {"0"}; }),
            "launch 0: a block of 0 threads; 1 to 1024 are allowed");
  EXPECT_EQ(after([](CudaLaunches& l) { l.launches[0].shared_bytes = "9999999"; }),
            "launch 0: shared_bytes is 9999999, more than any device has");
  EXPECT_EQ(after([](CudaLaunches& l) { l.workspace_bytes = "2 * 1099511627776"; }),
            "workspace_bytes is 2199023255552, more than 1099511627776");
}

}  // namespace
}  // namespace thresher::referee
