// SPDX-License-Identifier: Apache-2.0
// What the run-time compiler is given compiles for Hopper, where there is such a compiler.

#include <gtest/gtest.h>

#include <set>

#include "gpu/runtime/compiler.hpp"
#include "gpu/sm90/choose.hpp"
#include "gpu/sm90/entry_source.hpp"
#include "gpu/sm90/variant.hpp"

namespace thresher::gpu::sm90 {
namespace {

Problem small_problem(Op op) {
  return {.name = "p", .op = op, .groups = {{.m = 40, .n = 200, .k = 336}}};
}

bool can_run(const GemmKnobs& knobs, Op op) {
  const Problem problem = small_problem(op);
  return why_not(knobs, {.problem = problem, .token_limit = token_count(problem)}).empty();
}

GemmPlan plan_for(const GemmKnobs& knobs, Op op = Op::kGemm) {
  const Problem problem = small_problem(op);
  const PlanRequest request{.problem = problem, .token_limit = token_count(problem)};
  EXPECT_EQ(why_not(knobs, request), "");
  return make_plan(knobs, request);
}

// All that have a name, and all that the engine chooses from.
std::set<std::string> all_sources() {
  std::vector<Variant> all = choices();
  for (const Variant& variant : named_variants()) all.push_back(variant);
  std::set<std::string> sources;
  for (const Variant& variant : all) {
    for (const Op op : {Op::kGemm, Op::kDual}) {
      if (!can_run(variant.knobs, op)) continue;
      const GemmPlan plan = plan_for(variant.knobs, op);
      if (plan.images) sources.insert(entry_source(*plan.images));
      for (const GemmLaunch& launch : plan.launches) sources.insert(entry_source(launch));
    }
  }
  return sources;
}

// Around the products of a layer: each step for each type it knows.
std::set<std::string> layer_sources() {
  std::set<std::string> sources;
  for (const LayerStep step : {LayerStep::kGather, LayerStep::kActivate, LayerStep::kCombine}) {
    for (int type = 0; type < 3; ++type) {
      sources.insert(entry_source(LayerConfig{.step = step,
                                              .activations = static_cast<ActivationType>(type),
                                              .type = static_cast<OutputType>(type)}));
    }
  }
  return sources;
}

// Minutes of work in parts, which CTest runs side by side.
constexpr int kPartCount = 6;
class HopperCompile : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, HopperCompile, ::testing::Range(0, kPartCount));

// Spills, and notes such as serialised MMAs, would make a kernel slow without making it wrong.
void expect_clean(const Compiler& compiler, const std::string& source) {
  const Compilation compilation = compiler.compile({.name = "entry.cu",
                                                    .source = source,
                                                    .headers = headers_of(source, kKernelSources),
                                                    .architecture = "sm_90a"});
  ASSERT_EQ(compilation.kernels.size(), 1u);
  EXPECT_FALSE(compilation.kernels.front().spills()) << source;
  EXPECT_TRUE(compilation.notes.empty()) << source << compilation.notes.front();
}

TEST_P(HopperCompile, NoSpillsAndNoNotes) {
  NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  if (!compiler.compiles_for("sm_90a")) GTEST_SKIP() << compiler.version() << " is too old";
  int index = 0;
  for (const std::string& source : all_sources()) {
    if (index++ % kPartCount == GetParam()) expect_clean(compiler, source);
  }
}

TEST(HopperCompileLayer, NoSpillsAndNoNotes) {
  NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  if (!compiler.compiles_for("sm_90a")) GTEST_SKIP() << compiler.version() << " is too old";
  for (const std::string& source : layer_sources()) expect_clean(compiler, source);
}

}  // namespace
}  // namespace thresher::gpu::sm90
