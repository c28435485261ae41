// SPDX-License-Identifier: Apache-2.0
// Rows that follow each other come back to where the outputs' own rows lie, and so does whatever
// was written beside them.
#include "measure/rows_together.hpp"

#include <gtest/gtest.h>

#include "measure/placed_problem.hpp"

namespace thresher::measure {
namespace {

Problem three_groups(Activations activations) {
  return {.name = "p",
          .activations = activations,
          .output = Output::kFp16,
          .groups = {{0, 40, 64}, {3, 40, 64}, {5, 40, 64}}};
}

TEST(RowsTogether, AreRightOnTheCpu) {
  const Engine engine({.thread_count = 2});
  for (const Activations activations : {Activations::kNvfp4, Activations::kBf16}) {
    const Problem problem = three_groups(activations);
    const Inputs inputs = make_inputs(problem, InputFamily::kExact, 9);
    GuardedOutputs outputs(problem, {.row_gap_elements = 3, .misalignment_elements = 1});
    const PlacedOutputs own(engine, outputs);
    const PlacedProblem placed(engine, problem, inputs);
    std::vector<GroupOperands> groups = placed.operands(own);
    for (GroupOperands& group : groups) group.rows = {};
    RowsTogether together(engine, problem, inputs, outputs);
    outputs.poison(4);
    together.send();
    const Plan plan = engine.plan(problem);
    engine.run(plan, {.groups = groups, .rows = together.rows()}, engine.workspace(plan));
    EXPECT_EQ(outputs.poisoned_elements().size(), 8u * 40) << "nothing has come back yet";
    together.fetch();
    const Conformance conformance = check_outputs(problem, inputs, outputs.views(), {});
    EXPECT_TRUE(conformance.ok) << conformance.first_failure;
    EXPECT_EQ(outputs.find_trespass(), "");
  }
}

TEST(RowsTogether, ShowWhatWasWrittenBesideThem) {
  const Engine engine({.thread_count = 1});
  const Problem problem = three_groups(Activations::kNvfp4);
  const Inputs inputs = make_inputs(problem, InputFamily::kExact, 9);
  GuardedOutputs outputs(problem, {.row_gap_elements = 3});
  RowsTogether together(engine, problem, inputs, outputs);
  const Rows rows = together.rows();
  EXPECT_EQ(rows.c_stride_elements, 43);
  // Before the first row, in a gap, in the gap between two groups, and behind the last row.
  for (const std::ptrdiff_t element : {-1, 40, 3 * 43 - 1, 8 * 43 - 3}) {
    outputs.poison(4);
    together.send();
    static_cast<std::uint8_t*>(rows.c)[2 * element] ^= 1;
    together.fetch();
    EXPECT_NE(outputs.find_trespass(), "") << element;
  }
}

TEST(RowsTogether, NeedOneShape) {
  EXPECT_TRUE(RowsTogether::fit({.groups = {{0, 16, 32}, {2, 16, 32}}}));
  EXPECT_FALSE(RowsTogether::fit({.groups = {{1, 16, 32}, {2, 17, 32}}}));
  EXPECT_FALSE(RowsTogether::fit({.groups = {{1, 16, 32}, {2, 16, 48}}}));
  EXPECT_FALSE(RowsTogether::fit({.groups = {{0, 16, 32}}}));
}

}  // namespace
}  // namespace thresher::measure
