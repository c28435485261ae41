// SPDX-License-Identifier: Apache-2.0
// What the run-time compiler is given compiles for Hopper, where there is such a compiler.

#include <gtest/gtest.h>

#include "gpu/compiler.hpp"
#include "gpu/kernels/entry_source.hpp"

namespace thresher::gpu {
namespace {

Problem small_problem(Op op) {
  return {.name = "p", .op = op, .groups = {{.m = 40, .n = 200, .k = 336}}};
}

GemmPlan plan_for(const GemmKnobs& knobs, Op op = Op::kGemm) {
  const Problem problem = small_problem(op);
  const PlanRequest request{.problem = problem, .token_limit = token_count(problem)};
  EXPECT_EQ(why_not(knobs, request), "");
  return make_plan(knobs, request);
}

// Spills, and notes such as serialised MMAs, would make a kernel slow without making it wrong.
TEST(HopperCompile, NoSpillsAndNoNotes) {
  NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  if (!compiler.compiles_for("sm_90a")) GTEST_SKIP() << compiler.version() << " is too old";
  const auto expect_clean = [&](const std::string& source) {
    const Compilation compilation =
        compiler.compile({.name = "entry.cu",
                          .source = source,
                          .headers = headers_of(source, kernel_sources()),
                          .architecture = "sm_90a"});
    ASSERT_EQ(compilation.kernels.size(), 1u);
    EXPECT_FALSE(compilation.kernels.front().spills()) << source;
    EXPECT_TRUE(compilation.notes.empty()) << source << compilation.notes.front();
  };
  for (const GemmKnobs& knobs :
       {GemmKnobs{}, GemmKnobs{.kind = GemmKind::kPlain}, GemmKnobs{.tokens = 16, .stages = 6},
        GemmKnobs{.tokens = 256, .stages = 3}, GemmKnobs{.specialised = false},
        GemmKnobs{.store = Store::kStaged}, GemmKnobs{.stages = 7, .store = Store::kVectors},
        GemmKnobs{.widths = Widths::kFixed}, GemmKnobs{.schedule = Schedule::kBalanced},
        GemmKnobs{.tokens = 16, .weight_rows = 256, .stages = 8},
        GemmKnobs{.weight_rows = 256,
        .stages = 6,
        .fragment_steps = 2,
        .store = Store::kVectors,
        .schedule = Schedule::kBalanced}}) {
    for (const Op op : {Op::kGemm, Op::kDual}) {
      const GemmPlan plan = plan_for(knobs, op);
      expect_clean(entry_source(plan.images));
      for (const GemmLaunch& launch : plan.launches) expect_clean(entry_source(launch));
    }
  }
}

}  // namespace
}  // namespace thresher::gpu
