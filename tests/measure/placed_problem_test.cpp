// SPDX-License-Identifier: Apache-2.0
// Problems placed on a device are computed there as the oracle says, from every copy.
#include "measure/placed_problem.hpp"

#include <gtest/gtest.h>

#include "measure/variant_entrant.hpp"

namespace thresher::measure {
namespace {

class OnDevice : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string why = why_no_device({.device = GetParam()});
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(OnDevice, EveryCopyGivesTheRightAnswer) {
  const Engine engine({.device = GetParam()});
  const Problem problem{.name = "p",
                        .op = Op::kDual,
                        .output = Output::kFp16,
                        .groups = {{3, 40, 64}, {0, 40, 64}, {5, 40, 64}}};
  const Inputs inputs = make_inputs(problem, InputFamily::kNatural, 9);
  GuardedOutputs outputs(problem, {.row_gap_elements = 3});
  const PlacedOutputs placed_outputs(engine, outputs);
  const PlacedProblem first(engine, problem, inputs);
  const PlacedProblem second(engine, first);
  const Plan plan = engine.plan(problem);
  const Workspace workspace = engine.workspace(plan);
  for (const PlacedProblem* placed : {&first, &second}) {
    outputs.poison(4);
    placed_outputs.send();
    const std::vector<GroupOperands> groups = placed->operands(placed_outputs);
    engine.run(plan, {.groups = groups}, workspace);
    placed_outputs.fetch();
    const Conformance conformance = check_outputs(problem, inputs, outputs.views(), {});
    EXPECT_TRUE(conformance.ok) << conformance.first_failure;
    EXPECT_EQ(outputs.find_trespass(), "");
  }
}

// What bench times: cold copies, the engine's choice, checked like any other entrant.
TEST_P(OnDevice, VariantsEnterASeries) {
  const Engine engine({.device = GetParam()});
  const Problem problem{.name = "p", .output = Output::kFp16, .groups = {{4, 256, 512}}};
  const Inputs inputs = make_inputs(problem, InputFamily::kNatural, 9);
  ColdProblem cold(engine, problem, inputs);
  EXPECT_GT(cold.copy_count(), 1u);
  VariantEntrant variant(engine, problem, "", cold, false);
  const Entrant entrant = variant.entrant(nullptr);
  for (const std::size_t copy : {std::size_t{0}, cold.copy_count() - 1}) {
    entrant.poison(copy, 7);
    entrant.enqueue(copy);
    engine.synchronize();
    const Conformance conformance =
        check_outputs(entrant.problem, inputs, entrant.fetch(copy), Rigour::kTypical);
    EXPECT_TRUE(conformance.ok) << conformance.first_failure;
    EXPECT_EQ(entrant.find_trespass(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, OnDevice, ::testing::Values("cpu", "emulator", "gpu"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace thresher::measure
