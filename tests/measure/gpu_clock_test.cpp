// SPDX-License-Identifier: Apache-2.0
// A GPU's clock on a driver of our own: what is launched and timed in which surroundings. Every
// pair of events is a quarter of a millisecond apart there.
#include "measure/gpu_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/backend.hpp"
#include "gpu/gemm_device.hpp"
#include "gpu/runtime/fake_driver.hpp"
#include "gpu/runtime/fake_nvrtc.hpp"
#include "measure/layer_trial.hpp"
#include "nvfp4/error_message.hpp"

namespace thresher::measure {
namespace {

using gpu::testing::FakeDriver;
using gpu::testing::FakeNvrtc;

class GpuClockTest : public ::testing::Test {
 protected:
  GpuClockTest() {
    fake_.driver.cuFuncGetParamInfo = nullptr;  // kernels differ in their arguments
    engine_.emplace(gpu::open_device(gpu::gpu_backend(),
                                     {.device = gpu::Device(fake_.driver),
                                      .compiler = gpu::Compiler(FakeNvrtc::make()),
                                      .cache = gpu::CubinCache(),
                                      .driver_version = 13000},
                                     "gpu:0"));
  }

  // A clock for an entrant that writes down which copies it was called with.
  std::unique_ptr<Clock> clock_of(Surroundings surroundings, bool graph = true) {
    auto clock =
        make_clock(*engine_, {.surroundings = surroundings, .graph = graph, .copy_count = kCopies});
    entrants_ = {{.name = "e", .enqueue = [this](std::size_t copy) { copies_.push_back(copy); }}};
    clock->get_ready(entrants_);
    copies_.clear();
    fake_.calls.clear();
    fake_.launches.clear();
    return clock;
  }

  static constexpr std::size_t kCopies = 3;
  static constexpr double kSampleUs = 250;
  static constexpr std::size_t kCalls = 18;  // of a sample: at least 16, and every copy as often

  FakeDriver fake_;
  std::optional<Engine> engine_;
  std::vector<Entrant> entrants_;
  std::vector<std::size_t> copies_;
};

TEST_F(GpuClockTest, BackToBackASampleIsAReplayOfManyCalls) {
  const auto clock = clock_of(Surroundings::kBackToBack);
  EXPECT_NE(clock->stream(), nullptr);
  EXPECT_FALSE(clock->checks_every_sample());
  EXPECT_GE(clock->settling_seconds(), 1);
  EXPECT_EQ(clock->description(), "back to back, sustained load");
  clock->queue({0, 0});
  clock->queue({0});  // before the first is read
  EXPECT_EQ(fake_.calls_of("cuGraphLaunch"), 3);
  EXPECT_EQ(fake_.calls_of("cuEventRecord"), 6);
  EXPECT_EQ(fake_.calls_of("cuStreamSynchronize"), 0) << "the device has no pause";
  EXPECT_TRUE(copies_.empty());
  EXPECT_EQ(clock->collect_us(), (std::vector<double>{kSampleUs / kCalls, kSampleUs / kCalls}));
  EXPECT_EQ(clock->collect_us().size(), 1u);
  EXPECT_EQ(clock->run_untimed(0), kCopies - 1);
}

TEST_F(GpuClockTest, WithoutAGraphCallsAreLaunchedAndTakeTurnsAtCopies) {
  const auto clock = clock_of(Surroundings::kBackToBack, false);
  clock->queue({0});
  EXPECT_EQ(fake_.calls_of("cuGraphLaunch"), 0);
  ASSERT_EQ(copies_.size(), kCalls);
  for (std::size_t i = 0; i < kCalls; ++i) EXPECT_EQ(copies_[i], i % kCopies);
}

TEST_F(GpuClockTest, AForeignKernelStandsBeforeEveryCallAndItsTimeIsTakenOff) {
  const auto clock = clock_of(Surroundings::kForeign, false);
  EXPECT_EQ(clock->description(), "among foreign kernels, sustained load");
  clock->queue({0});
  EXPECT_EQ(fake_.launches.size(), 2 * kCalls) << "as many alone, then one before each call";
  EXPECT_EQ(copies_.size(), kCalls);
  EXPECT_EQ(clock->collect_us(), std::vector<double>{0});  // both take as long here
}

TEST_F(GpuClockTest, AloneASampleIsOneCall) {
  const auto clock = clock_of(Surroundings::kAlone);
  EXPECT_EQ(clock->settling_seconds(), 0);
  for (int i = 0; i < 4; ++i) clock->queue({0});
  EXPECT_EQ(fake_.calls_of("cuGraphLaunch"), 0);
  EXPECT_EQ(fake_.calls_of("cuStreamSynchronize"), 4);
  EXPECT_EQ(copies_, (std::vector<std::size_t>{0, 1, 2, 0}));
  EXPECT_EQ(clock->collect_us(), std::vector<double>{kSampleUs});
}

// A series that was broken off leaves samples behind, which are nobody's then.
TEST_F(GpuClockTest, BeginsAnewWithOtherEntrants) {
  const auto clock = clock_of(Surroundings::kBackToBack);
  clock->queue({0, 0});
  clock->get_ready(entrants_);
  clock->queue({0});
  EXPECT_EQ(clock->collect_us().size(), 1u);
}

// It has the device to itself when it is asked, for more calls than one of our samples has; the
// foreign kernels between them are its own, and their time is taken off.
TEST_F(GpuClockTest, AsksWhoComputesElsewhere) {
  std::vector<std::vector<std::size_t>> asked;
  for (const Surroundings surroundings :
       {Surroundings::kForeign, Surroundings::kBackToBack, Surroundings::kAlone}) {
    SCOPED_TRACE(std::string(to_string(surroundings)));
    const bool is_foreign = surroundings == Surroundings::kForeign;
    const bool is_alone = surroundings == Surroundings::kAlone;
    const std::size_t calls = is_alone ? 1 : 4 * kCalls;
    const auto clock = make_clock(*engine_, {.surroundings = surroundings, .copy_count = kCopies});
    // So many us for whatever surrounds calls, and 7 for a call.
    entrants_ = {{.name = "here", .enqueue = [](std::size_t) {}},
                 {.name = "elsewhere", .ask_us = [&](const std::vector<std::size_t>& copies) {
                    asked.push_back(copies);
                    const auto count = std::count(copies.begin(), copies.end(), kForeignCall);
                    return 50.0 + 7.0 * static_cast<double>(copies.size() - count);
                  }}};
    clock->get_ready(entrants_);
    EXPECT_EQ(clock->timed_apart(0).how, "");
    EXPECT_EQ(clock->timed_apart(1).taken_off_us, 50);
    EXPECT_EQ(asked.back(), std::vector<std::size_t>(is_foreign ? calls : 1, kForeignCall));
    fake_.calls.clear();
    clock->queue({0, 1});
    EXPECT_EQ(fake_.calls.back(), "cuStreamSynchronize") << "nobody else has work there";
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < calls; ++i) {
      if (is_foreign) expected.push_back(kForeignCall);
      expected.push_back(is_alone ? 1 : i % kCopies);  // alone, copies take turns by samples
    }
    EXPECT_EQ(asked.back(), expected);
    const std::vector<double> us = clock->collect_us();
    ASSERT_EQ(us.size(), 2u);
    EXPECT_DOUBLE_EQ(us[1], 7);
    EXPECT_EQ(clock->run_untimed(1), is_alone ? 2 : kCopies - 1);
  }
}

// A device that computes nothing: the layer's call is queued, captured and timed in all three ways,
// and what it left behind is found to be wrong.
TEST_F(GpuClockTest, ALayerIsTimedInEverySurroundings) {
  fake_.parameter_bytes = {8};
  for (const Surroundings surroundings :
       {Surroundings::kForeign, Surroundings::kBackToBack, Surroundings::kAlone}) {
    LayerTrial trial(*engine_, layer_model_from_text("64x64x4x2"),
                     {.tokens_max = 3, .surroundings = surroundings, .seconds = 0.01});
    fake_.calls.clear();
    EXPECT_NE(nvfp4::error_message([&] { trial.run(3); }).find("64x64x4x2: token 2 of 3 is"),
              std::string::npos);
    const bool replays = surroundings != Surroundings::kAlone;
    EXPECT_EQ(fake_.calls_of("cuGraphLaunch") > 0, replays) << to_string(surroundings);
    EXPECT_EQ(fake_.calls_of("cuEventElapsedTime") > 0, true) << to_string(surroundings);
  }
}

}  // namespace
}  // namespace thresher::measure
