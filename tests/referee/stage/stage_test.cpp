// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/stage.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "gemm/fp32_model.hpp"
#include "support/scene.hpp"

namespace thresher::referee {
namespace {

using thresher::testing::make_problem;

const Problem kDual = make_problem({3, 0, 5}, 7, 48, Op::kDual);
const Problem kFloat = make_problem({4}, 9, 32, Op::kGemm, Activations::kBf16);

template <typename Record>
Record record_at(const CpuStage& stage, std::int64_t offset, int index) {
  Record record;
  std::memcpy(&record, stage.arena().data() + offset + index * sizeof record, sizeof record);
  return record;
}

bool holds(const CpuStage& stage, std::int64_t offset, const std::vector<std::uint8_t>& bytes) {
  return std::memcmp(stage.arena().data() + offset, bytes.data(), bytes.size()) == 0;
}

TEST(Stage, TablesPointAtTheWeights) {
  const Problem problems[] = {kDual, kFloat};
  CpuStage stage(problems, Room::kForAll);
  const StagedProblem first = stage.put(kDual, make_inputs(kDual, InputFamily::kNatural, 1));
  const StagedProblem second = stage.put(kFloat, make_inputs(kFloat, InputFamily::kNatural, 2));
  EXPECT_NE(first.id, second.id);
  const auto record = record_at<GroupRecord>(stage, first.table_offset, 2);
  EXPECT_EQ(record.m, 5);
  EXPECT_EQ(record.n, 7);
  EXPECT_EQ(record.k, 48);
  EXPECT_EQ(record.b_global_scale, first.inputs.groups[2].b.global_scale);
  EXPECT_EQ(record.up_global_scale, first.inputs.groups[2].b_up.global_scale);
  EXPECT_TRUE(holds(stage, record.b_codes, first.inputs.groups[2].b.codes));
  EXPECT_TRUE(holds(stage, record.b_scales, first.inputs.groups[2].b.scales));
  EXPECT_TRUE(holds(stage, record.up_codes, first.inputs.groups[2].b_up.codes));
  EXPECT_TRUE(holds(stage, record.up_scales, first.inputs.groups[2].b_up.scales));
  EXPECT_EQ(record_at<GroupRecord>(stage, second.table_offset, 0).up_codes, -1);
}

TEST(Stage, CallsLieAtChangingPlacesBehindTheWeights) {
  const Problem problems[] = {kDual};
  CpuStage stage(problems, Room::kForAll);
  const StagedProblem staged = stage.put(kDual, make_inputs(kDual, InputFamily::kNatural, 1));
  const std::vector<OutputPlace> outputs = {{64, 7}, {-1, 7}, {1024, 8}};
  Random random(3);
  std::set<std::int64_t> places;
  for (int i = 0; i < 50; ++i) {
    const std::int64_t place = stage.draw_place(random);
    places.insert(place);
    const std::int64_t table = stage.put_call(staged, outputs, place);
    const auto record = record_at<CallRecord>(stage, table, 2);
    EXPECT_TRUE(holds(stage, record.a, staged.inputs.groups[2].a.codes));
    EXPECT_TRUE(holds(stage, record.a_scales, staged.inputs.groups[2].a.scales));
    EXPECT_EQ(record.c, 1024);
    EXPECT_EQ(record.c_stride, 8);
    EXPECT_EQ(record.alpha, staged.inputs.groups[2].alpha);
    EXPECT_EQ(record.alpha_up, staged.inputs.groups[2].alpha_up);
    EXPECT_EQ(record.a % 64, 0);
  }
  EXPECT_GT(places.size(), 30u);
  EXPECT_TRUE(stage.weights_intact(staged));
}

TEST(Stage, NoticesChanges) {
  const Problem problems[] = {kDual};
  CpuStage stage(problems, Room::kForAll);
  const StagedProblem staged = stage.put(kDual, make_inputs(kDual, InputFamily::kNatural, 1));
  Random random(3);
  const std::int64_t place = stage.draw_place(random);
  const std::int64_t table = stage.put_call(staged, std::vector<OutputPlace>(3), place);
  EXPECT_TRUE(stage.call_intact(staged, place));
  stage.arena().data()[record_at<CallRecord>(stage, table, 2).a_scales] ^= std::byte{1};
  EXPECT_FALSE(stage.call_intact(staged, place));
  stage.arena().data()[record_at<GroupRecord>(stage, staged.table_offset, 1).up_codes] ^=
      std::byte{1};
  EXPECT_FALSE(stage.weights_intact(staged));
}

TEST(Stage, ClearMakesRoomForTheNext) {
  const Problem problems[] = {kDual, kFloat};
  CpuStage stage(problems, Room::kForOneByOne);
  for (int i = 0; i < 5; ++i) {
    stage.clear();
    const Problem& problem = problems[i % 2];
    EXPECT_EQ(stage.put(problem, make_inputs(problem, InputFamily::kFull, 1)).table_offset, 0);
  }
}

// A row as a set of blocks with their scales, signs aside: what turning it leaves as it is.
std::multiset<std::string> blocks_of(const Nvfp4Matrix& a, std::int64_t row) {
  std::multiset<std::string> blocks;
  const std::int64_t block_count = a.k_elements / kBlockElements;
  for (std::int64_t i = row * block_count; i < (row + 1) * block_count; ++i) {
    std::string block(1, static_cast<char>(a.scales[i]));
    for (int byte = 0; byte < 8; ++byte) {
      block += static_cast<char>(a.codes[i * 8 + byte] & 0x77);
    }
    blocks.insert(block);
  }
  return blocks;
}

TEST(Activations, RedrawnRowsKeepTheirBlocksInAnotherOrder) {
  const Problem problem = make_problem({6, 0, 2}, 3, 160);
  const Inputs before = make_inputs(problem, InputFamily::kNatural, 5);
  Inputs after = before;
  Random random(1);
  redraw_activations(problem, after, random);
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    EXPECT_EQ(before.groups[g].b.codes, after.groups[g].b.codes);
    EXPECT_TRUE(problem.groups[g].m == 0 || before.groups[g].a.scales != after.groups[g].a.scales);
    for (std::int64_t row = 0; row < problem.groups[g].m; ++row) {
      EXPECT_EQ(blocks_of(before.groups[g].a, row), blocks_of(after.groups[g].a, row));
      EXPECT_NE(std::memcmp(before.groups[g].a.codes.data() + row * 80,
                            after.groups[g].a.codes.data() + row * 80, 80),
                0);
    }
  }
}

TEST(Activations, RedrawnFloatsKeepTheirMagnitudes) {
  const Inputs before = make_inputs(kFloat, InputFamily::kNatural, 5);
  Inputs after = before;
  Random random(1);
  redraw_activations(kFloat, after, random);
  EXPECT_NE(before.groups[0].a16, after.groups[0].a16);
  std::multiset<int> magnitudes[2];
  for (std::size_t i = 0; i < 32; ++i) {  // the first row
    magnitudes[0].insert(before.groups[0].a16[i] & 0x7fff);
    magnitudes[1].insert(after.groups[0].a16[i] & 0x7fff);
  }
  EXPECT_EQ(magnitudes[0], magnitudes[1]);
}

TEST(Activations, LateBlocksTurnInEveryRow) {
  const Problem problem = make_problem({6}, 1, 128);
  const Inputs before = make_inputs(problem, InputFamily::kNatural, 5);
  Inputs after = before;
  Random random(1);
  turn_late_blocks(problem, after, random);
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t block = 0; block < 8; ++block) {
      int differing = 0;
      for (std::size_t i = 0; i < 8; ++i) {
        const std::size_t at = row * 64 + block * 8 + i;
        differing += before.groups[0].a.codes[at] != after.groups[0].a.codes[at];
      }
      EXPECT_TRUE(differing == 0 || (differing == 8 && block >= 6));
    }
    EXPECT_NE(std::memcmp(before.groups[0].a.codes.data() + row * 64,
                          after.groups[0].a.codes.data() + row * 64, 64),
              0);
  }
}

// Natural weights with exact activations: in every order of FP32 sums the same bits, the oracle's.
TEST(Stage, ExactActivationsMakeExactSums) {
  Random random(9);
  for (const Activations activations :
       {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
    for (const std::int64_t k : {64, 12992, 109984}) {
      const Problem problem = make_problem({2}, 3, k, Op::kGemm, activations);
      ASSERT_TRUE(has_exact_activations(problem));
      Inputs inputs = make_inputs(problem, InputFamily::kNatural, 5);
      make_factors_exact(inputs);
      draw_exact_activations(problem, inputs, random);
      for (const Order order : {Order::kForwards, Order::kBackwards, Order::kPairwise}) {
        const Buffers outputs = fp32_model(problem, inputs, order);
        const Conformance found = check_outputs(problem, inputs, views_of(outputs), Rigour::kBits);
        EXPECT_TRUE(found.ok) << to_string(activations) << ", k " << k << ": "
                              << found.first_failure;
      }
    }
  }
  EXPECT_FALSE(has_exact_activations(make_problem({1}, 1, 1 << 17)));
}

}  // namespace
}  // namespace thresher::referee
