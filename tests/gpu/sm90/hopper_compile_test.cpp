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

std::set<std::string> sources_of(const GemmPlan& plan) {
  std::set<std::string> sources;
  if (plan.images) sources.insert(entry_source(*plan.images));
  for (const GemmLaunch& launch : plan.launches) sources.insert(entry_source(launch));
  return sources;
}

// All that have a name, and all that the engine chooses from: each for one operation, which takes
// turns, or for both.
std::set<std::string> all_sources(bool both) {
  std::vector<Variant> all = choices();
  for (const Variant& variant : named_variants()) all.push_back(variant);
  std::set<std::string> sources;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const GemmKnobs& knobs = all[i].knobs;
    const bool is_dual = can_run(knobs, Op::kDual) && (i % 2 != 0 || !can_run(knobs, Op::kGemm));
    for (const Op op : {Op::kGemm, Op::kDual}) {
      if (both ? can_run(knobs, op) : is_dual == (op == Op::kDual)) {
        sources.merge(sources_of(plan_for(knobs, op)));
      }
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
  for (const LayerStep step : {LayerStep::kFirst, LayerStep::kDown}) {
    sources.insert(entry_source(LayerConfig{.step = step, .strips = 2}));
    sources.insert(entry_source(LayerConfig{.step = step, .strips = 4}));
  }
  return sources;
}

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

// Minutes of work in parts, which CTest runs side by side.
constexpr int kHopperParts = 4;

void expect_part_clean(bool both, int part) {
  NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  if (!compiler.compiles_for("sm_90a")) GTEST_SKIP() << compiler.version() << " is too old";
  int index = 0;
  for (const std::string& source : all_sources(both)) {
    if (index++ % kHopperParts == part) expect_clean(compiler, source);
  }
}

class HopperCompile : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, HopperCompile, ::testing::Range(0, kHopperParts));
TEST_P(HopperCompile, NoSpillsAndNoNotes) { expect_part_clean(false, GetParam()); }

// For who has changed a kernel: ctest --preset kernels.
class HopperCompileAll : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, HopperCompileAll, ::testing::Range(0, kHopperParts));
TEST_P(HopperCompileAll, NoSpillsAndNoNotes) { expect_part_clean(true, GetParam()); }

TEST(HopperCompileLayer, NoSpillsAndNoNotes) {
  NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  if (!compiler.compiles_for("sm_90a")) GTEST_SKIP() << compiler.version() << " is too old";
  for (const std::string& source : layer_sources()) expect_clean(compiler, source);
}

}  // namespace
}  // namespace thresher::gpu::sm90
