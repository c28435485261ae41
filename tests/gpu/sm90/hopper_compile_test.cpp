// SPDX-License-Identifier: Apache-2.0
// What the run-time compiler is given compiles for Hopper, where there is such a compiler.

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "gpu/clean_kernels.hpp"
#include "gpu/gemm/entry_source.hpp"
#include "gpu/gemm/variant.hpp"
#include "gpu/layer/layer_source.hpp"
#include "gpu/sm90/choose.hpp"
#include "gpu/sm90/gemm_support.hpp"

namespace thresher::gpu::sm90 {
namespace {

// What a kernel is compiled for, besides its knobs.
struct Run {
  Op op = Op::kGemm;
  Activations activations = Activations::kNvfp4;
  Output output = Output::kFp16;
};

Problem small_problem(const Run& run) {
  return {.name = "p",
          .op = run.op,
          .activations = run.activations,
          .output = run.output,
          .groups = {{.m = 40, .n = 200, .k = 336}}};
}

// What the knobs can run, first of those types whose turn it is.
std::vector<Run> runs_of(const GemmKnobs& knobs, std::size_t turn) {
  constexpr std::pair<Activations, Output> kTypes[] = {{Activations::kNvfp4, Output::kFp16},
                                                       {Activations::kBf16, Output::kFp32}};
  std::vector<Run> runs;
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    const auto& [activations, output] = kTypes[(turn + i) % std::size(kTypes)];
    for (const Op op : {Op::kGemm, Op::kDual}) {
      const Run run{op, activations, output};
      const Problem problem = small_problem(run);
      if (!why_not(knobs, {.problem = problem, .token_limit = token_count(problem)}).empty()) {
        continue;
      }
      runs.push_back(run);
    }
  }
  return runs;
}

std::set<std::string> sources_of(const GemmKnobs& knobs, const Run& run) {
  const Problem problem = small_problem(run);
  const GemmPlan plan = make_plan(knobs, {.problem = problem, .token_limit = token_count(problem)});
  std::set<std::string> sources;
  if (plan.images) sources.insert(entry_source(*plan.images));
  for (const GemmLaunch& launch : plan.launches) sources.insert(entry_source(launch));
  return sources;
}

// The widest tiles of 192 rows that supports() admits, whole and in parts. Results leave from
// registers, which takes the most of them.
std::vector<Variant> widest_of_192_rows() {
  const auto widest = [](int tokens, int steps, Schedule schedule) {
    return Variant{.knobs = {.tokens = tokens,
                             .weight_rows = 192,
                             .consumer_warpgroups = 3,
                             .fragment_steps = steps,
                             .schedule = schedule}};
  };
  return {widest(80, 4, Schedule::kTiles), widest(56, 4, Schedule::kBalanced),
          widest(176, 2, Schedule::kTiles), widest(160, 2, Schedule::kBalanced)};
}

// All that have a name, and all that the engine chooses from: each for one operation and one pair
// of types, which take turns, or for all that it can run, and then the widest of 192 rows as well.
std::set<std::string> all_sources(bool every) {
  std::vector<Variant> all = choices();
  for (const Variant& variant : named_variants()) all.push_back(variant);
  const std::vector<Variant> widest = widest_of_192_rows();
  if (every) all.insert(all.end(), widest.begin(), widest.end());
  std::set<std::string> sources;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<Run> runs = runs_of(all[i].knobs, i / 2);
    if (!every) runs = {runs.at(i % 2 % runs.size())};
    for (const Run& run : runs) sources.merge(sources_of(all[i].knobs, run));
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

// Minutes of work in parts.
constexpr int kHopperParts = 4;

class HopperCompile : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, HopperCompile, ::testing::Range(0, kHopperParts));
TEST_P(HopperCompile, NoSpillsAndNoNotes) {
  expect_clean_kernels(all_sources(false), "sm_90a", {GetParam(), kHopperParts});
}

// For who has changed a kernel: ctest --preset kernels.
class HopperCompileAll : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, HopperCompileAll, ::testing::Range(0, kHopperParts));
TEST_P(HopperCompileAll, NoSpillsAndNoNotes) {
  expect_clean_kernels(all_sources(true), "sm_90a", {GetParam(), kHopperParts});
}

// The gather keeps 16 bytes on the stack.
TEST(HopperCompileLayer, NoSpillsAndNoNotes) {
  expect_clean_kernels(layer_sources(), "sm_90a", {}, 16);
}

}  // namespace
}  // namespace thresher::gpu::sm90
