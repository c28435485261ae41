// SPDX-License-Identifier: Apache-2.0
// Where inputs lie in shared and in device memory, on a driver whose device memory is the host's.
#include "referee/stage/gpu_stage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "gpu/runtime/fake_driver.hpp"
#include "support/scene.hpp"

namespace thresher::referee {
namespace {

using thresher::testing::make_problem;

class GpuStageTest : public ::testing::Test {
 protected:
  GpuStage stage_of(Room room = Room::kForAll) {
    return GpuStage(device_, std::vector<GpuEntry>{{problem_, {2, 4}}}, room);
  }

  static const std::byte* device_bytes(const GpuStage& stage, std::int64_t offset) {
    return stage.device_memory().pointer<const std::byte>(static_cast<std::size_t>(offset));
  }

  template <typename Record>
  static Record record_at(const GpuStage& stage, std::int64_t offset, int index) {
    Record record;
    std::memcpy(&record, stage.arena().data() + offset + index * sizeof record, sizeof record);
    return record;
  }

  gpu::testing::FakeDriver fake_;
  gpu::Device device_{fake_.driver};
  const Problem problem_ = make_problem({3, 0, 5}, 7, 48, Op::kDual);
  Random random_{1};
};

TEST_F(GpuStageTest, WeightsLieInBothMemoriesAtTheSameOffsets) {
  GpuStage stage = stage_of();
  stage.put(problem_, make_inputs(problem_, InputFamily::kNatural, 1));
  const StagedProblem staged = stage.put(problem_, make_inputs(problem_, InputFamily::kFull, 2));
  const auto record = record_at<GroupRecord>(stage, staged.table_offset, 2);
  const std::vector<std::uint8_t>& codes = staged.inputs.groups[2].b_up.codes;
  EXPECT_EQ(std::memcmp(stage.arena().data() + record.up_codes, codes.data(), codes.size()), 0);
  EXPECT_EQ(std::memcmp(device_bytes(stage, record.up_codes), codes.data(), codes.size()), 0);
  EXPECT_TRUE(stage.weights_intact(staged));
}

TEST_F(GpuStageTest, ActivationsLieOnTheDeviceOnly) {
  GpuStage stage = stage_of();
  const StagedProblem staged = stage.put(problem_, make_inputs(problem_, InputFamily::kNatural, 1));
  const std::vector<std::int64_t> places = stage.draw_places(problem_, 4, random_);
  ASSERT_EQ(places.size(), 4u);
  std::vector<UnboundCall> calls;
  for (const std::int64_t place : places) {
    calls.push_back({staged.id, place, {{64, 7}, {-1, 7}, {1024, 8}}});
  }
  const std::int64_t list = stage.put_batch(staged, calls);
  for (int i = 0; i < 4; ++i) stage.put_activations(problem_, staged.inputs, places[i]);
  stage.sync();

  const auto& codes = staged.inputs.groups[2].a.codes;
  for (int i = 0; i < 4; ++i) {
    const auto call = record_at<BatchRecord>(stage, list, i);
    EXPECT_EQ(call.id, staged.id);
    const auto record = record_at<CallRecord>(stage, call.table_offset, 2);
    EXPECT_EQ(record.c, 1024);
    EXPECT_EQ(record.c_stride, 8);
    EXPECT_EQ(std::memcmp(device_bytes(stage, record.a), codes.data(), codes.size()), 0);
    EXPECT_TRUE(stage.call_intact(problem_, staged.inputs, places[i]));
  }
  const auto begin = stage.arena().data();
  const auto end = begin + stage.arena().bytes();
  EXPECT_EQ(std::search(begin, end, reinterpret_cast<const std::byte*>(codes.data()),
                        reinterpret_cast<const std::byte*>(codes.data()) + codes.size()),
            end);
}

TEST_F(GpuStageTest, PlacesOfABatchDoNotOverlapAndChange) {
  GpuStage stage = stage_of();
  std::set<std::int64_t> first_places;
  for (int i = 0; i < 40; ++i) {
    std::vector<std::int64_t> places = stage.draw_places(problem_, 4, random_);
    first_places.insert(places[0]);
    std::sort(places.begin(), places.end());
    for (std::size_t j = 1; j < places.size(); ++j) EXPECT_GE(places[j] - places[j - 1], 512);
    EXPECT_LE(places.back() + 512, static_cast<std::int64_t>(stage.device_memory().bytes()));
    for (const std::int64_t place : places) EXPECT_EQ(place % 64, 0);
  }
  EXPECT_GT(first_places.size(), 20u);
}

TEST_F(GpuStageTest, NoticesChangesInEitherMemory) {
  GpuStage stage = stage_of();
  const StagedProblem staged = stage.put(problem_, make_inputs(problem_, InputFamily::kNatural, 1));
  const auto record = record_at<GroupRecord>(stage, staged.table_offset, 0);
  auto* on_device = const_cast<std::byte*>(device_bytes(stage, record.b_codes));
  *on_device ^= std::byte{1};
  EXPECT_FALSE(stage.weights_intact(staged));
  *on_device ^= std::byte{1};
  EXPECT_TRUE(stage.weights_intact(staged));
  stage.arena().data()[record.b_scales] ^= std::byte{1};
  EXPECT_FALSE(stage.weights_intact(staged));

  const std::int64_t place = stage.draw_places(problem_, 1, random_)[0];
  stage.put_activations(problem_, staged.inputs, place);
  stage.sync();
  *const_cast<std::byte*>(device_bytes(stage, place)) ^= std::byte{1};
  EXPECT_FALSE(stage.call_intact(problem_, staged.inputs, place));
}

TEST_F(GpuStageTest, WeightsCanBeWrittenAgain) {
  GpuStage stage = stage_of();
  StagedProblem staged = stage.reserve(problem_);
  EXPECT_EQ(stage.reserve(problem_).id, staged.id + 1);
  for (const std::uint64_t seed : {1, 2}) {
    staged.inputs = make_inputs(problem_, InputFamily::kNatural, seed);
    EXPECT_FALSE(stage.weights_intact(staged));
    stage.write(staged);
    EXPECT_TRUE(stage.weights_intact(staged));
  }
}

// Groups of other sizes leave other gaps between the buffers at the same place.
TEST_F(GpuStageTest, ActivationsOfAnotherProblemAtTheSamePlaceAreNoChange) {
  const Problem other = make_problem({5, 3, 1}, 7, 80);
  const std::vector<GpuEntry> entries{{problem_, {1, 1}}, {other, {1, 1}}};
  GpuStage stage(device_, entries, Room::kForAll);
  const std::int64_t place = stage.draw_places(other, 1, random_)[0];
  for (const Problem* problem : {&other, &problem_, &other}) {
    const Inputs inputs = make_inputs(*problem, InputFamily::kFull, 1);
    stage.put_activations(*problem, inputs, place);
    stage.sync();
    EXPECT_TRUE(stage.call_intact(*problem, inputs, place));
  }
}

TEST_F(GpuStageTest, SharesWholeBlocksOnly) {
  EXPECT_EQ(whole_blocks(0), std::size_t{2} << 20);
  EXPECT_EQ(whole_blocks(2 << 20), std::size_t{2} << 20);
  EXPECT_EQ(whole_blocks((2 << 20) + 1), std::size_t{4} << 20);
  EXPECT_EQ(stage_of().device_memory().bytes() % kSharedBlockBytes, 0u);
}

TEST_F(GpuStageTest, ClearMakesRoomForTheNext) {
  GpuStage stage = stage_of(Room::kForOneByOne);
  for (int i = 0; i < 5; ++i) {
    stage.clear();
    EXPECT_EQ(stage.put(problem_, make_inputs(problem_, InputFamily::kFull, 1)).table_offset, 0);
  }
}

}  // namespace
}  // namespace thresher::referee
