// SPDX-License-Identifier: Apache-2.0
// A whole kernel under the emulator: right over many seeds, and each planted fault noticed.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <initializer_list>
#include <string>

#include "emulator/device_memory.hpp"
#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "emulator/pipeline_case.hpp"

namespace thresher::emulator {
namespace {

using gpu::Pipeline;
using gpu::PipelineCase;
using gpu::PipelineConfig;
using gpu::PipelineFault;

struct Outcome {
  std::string fault;
  bool right = false;
};

template <PipelineConfig kConfig>
Outcome run(const PipelineCase& test, int block_count, std::uint64_t seed) {
  DeviceMemory memory;
  memory.add_read_only(test.a_image.data(), test.a_image.size() * 16, "a");
  memory.add_read_only(test.b_image.data(), test.b_image.size(), "b");
  auto* const c = static_cast<gpu::u16*>(memory.allocate(test.c_elements() * 2, "c"));
  const gpu::PipelineArgs args{.a = test.a_image.data(),
                               .b = test.b_image.data(),
                               .c = c,
                               .tile_count = test.tile_count,
                               .step_count = test.step_count};
  Outcome outcome;
  outcome.fault = fault_of({.block_count = block_count,
                            .thread_count = gpu::kPipelineThreads,
                            .shared_bytes = Pipeline<kConfig>::kSharedBytes,
                            .seed = seed,
                            .memory = &memory},
                           [&] { gpu::pipeline_kernel<kConfig>(args); });
  outcome.right = std::equal(test.expected.begin(), test.expected.end(), c);
  return outcome;
}

template <PipelineConfig kConfig>
void expect_right(int tile_count, int step_count, int block_count, int seed_count) {
  const PipelineCase test(kConfig.columns, tile_count, step_count, 1);
  for (int seed = 0; seed < seed_count; ++seed) {
    const Outcome outcome = run<kConfig>(test, block_count, static_cast<std::uint64_t>(seed));
    ASSERT_EQ(outcome.fault, "") << "seed " << seed;
    ASSERT_TRUE(outcome.right) << "seed " << seed;
  }
}

TEST(Pipeline, IsRightInEveryOrder) {
  expect_right<PipelineConfig{.columns = 16, .stage_count = 2}>(3, 5, 2, 60);
  expect_right<PipelineConfig{.columns = 64, .stage_count = 3}>(2, 4, 1, 20);
  expect_right<PipelineConfig{.columns = 176, .stage_count = 2}>(1, 3, 1, 5);
}

TEST(Pipeline, TakesMoreBlocksThanTiles) {
  expect_right<PipelineConfig{.columns = 16, .stage_count = 2}>(3, 1, 5, 5);
}

// The faults one by one: with what words the emulator reports each, whatever the seed. Where two
// are given, the order of events decides which rule is seen to be broken first.
template <PipelineFault kFault>
void expect_reported(std::initializer_list<const char*> words) {
  constexpr PipelineConfig kConfig{.columns = 32, .stage_count = 2, .fault = kFault};
  const PipelineCase test(kConfig.columns, 2, 5, 1);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Outcome outcome = run<kConfig>(test, 1, seed);
    EXPECT_TRUE(std::any_of(words.begin(), words.end(),
                            [&](const char* part) { return contains(outcome.fault, part); }))
        << "seed " << seed << ", wanted: " << *words.begin() << "\nreported: " << outcome.fault;
  }
}

// And those that only a wrong result gives away.
template <PipelineFault kFault>
void expect_wrong() {
  constexpr PipelineConfig kConfig{.columns = 32, .stage_count = 2, .fault = kFault};
  const PipelineCase test(kConfig.columns, 2, 5, 1);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Outcome outcome = run<kConfig>(test, 1, seed);
    EXPECT_TRUE(!outcome.right && outcome.fault.empty())
        << "seed " << seed << " reported: " << outcome.fault;
  }
}

TEST(PipelineFaults, OfBarriers) {
  expect_reported<PipelineFault::kBarrierNotFenced>({"no barrier_init_fence"});
  expect_reported<PipelineFault::kBarrierNotSynced>(
      {"with no sync in between", "where none was initialised"});
  expect_reported<PipelineFault::kArrivalsTooMany>(
      {"reads with no barrier in between", "has all 3 arrivals"});
  expect_reported<PipelineFault::kArrivalsTooFew>({"deadlock"});
  expect_reported<PipelineFault::kParityWrong>({"nobody has written", "has not seen phase"});
  expect_reported<PipelineFault::kReleaseNotAwaited>(
      {"writes shared address", "which has all 1 arrivals"});
  expect_reported<PipelineFault::kReleaseBeforeRead>({"MMAs of warpgroup 0 may still be reading"});
  expect_reported<PipelineFault::kReleaseUnsynced>({"reads with no barrier in between"});
}

TEST(PipelineFaults, OfCopies) {
  expect_reported<PipelineFault::kBytesNotExpected>(
      {"without expecting them", "may still be writing"});
  expect_reported<PipelineFault::kBytesTooMany>({"lacks 16 bytes"});
  expect_reported<PipelineFault::kCopyTooLong>({"writes shared address"});
  expect_reported<PipelineFault::kCopyMisaligned>({"not aligned to 16"});
  expect_reported<PipelineFault::kStoreNotFenced>({"without fence_async"});
  expect_reported<PipelineFault::kStoreNotSynced>({"wrote with no barrier in between"});
  expect_reported<PipelineFault::kStageOverwritten>(
      {"a bulk copy of thread 0 may still be reading"});
  expect_reported<PipelineFault::kCopyNotAwaited>({"ends without waiting for its copies"});
}

TEST(PipelineFaults, OfMmas) {
  expect_reported<PipelineFault::kDescriptorShifted>({"not in the first row"});
  expect_reported<PipelineFault::kDescriptorStride>({"no multiple of its 1024-byte group"});
  expect_wrong<PipelineFault::kSwizzleWrong>();
  expect_reported<PipelineFault::kMmaNotFenced>({"after its last mma_fence"});
  expect_wrong<PipelineFault::kMmaNotAwaited>();
  expect_reported<PipelineFault::kFragmentOverwritten>({"wrote the A registers of an MMA"});
}

// A block of the size real kernels have must not make the tests slow.
TEST(Pipeline, RunsFast) {
  const PipelineCase test(128, 1, 8, 1);
  const std::clock_t start = std::clock();
  const Outcome outcome = run<PipelineConfig{.columns = 128, .stage_count = 4}>(test, 1, 0);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_TRUE(outcome.right) << outcome.fault;
  EXPECT_LT(seconds, 5.0);
}

}  // namespace
}  // namespace thresher::emulator
