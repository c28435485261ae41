// SPDX-License-Identifier: Apache-2.0
// The pitches under pitches/gpu/: complete, runnable from the GPU's baseline, with the seeds' own
// numbers.
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/backends.hpp"
#include "gemm/suite.hpp"
#include "tank/pitch/constraint.hpp"
#include "tank/pitch/pitch.hpp"
#include "tank/season/season.hpp"

namespace thresher {
namespace {

std::map<std::string, Pitch> shipped_gpu_pitches() {
  std::map<std::string, Pitch> pitches;
  for (const auto& entry :
       std::filesystem::directory_iterator(THRESHER_SOURCE_DIR "/pitches/gpu")) {
    if (entry.path().extension() != ".toml") continue;
    EXPECT_EQ(pitch_file_faults(entry.path()), std::vector<std::string>{});
    Pitch pitch = load_pitch(entry.path());
    pitches.emplace(pitch.name, std::move(pitch));
  }
  return pitches;
}

// Those that turn knobs, as they would run against the baseline.
std::vector<Pitch> ready_pitches() {
  std::vector<Pitch> ready;
  for (const auto& [name, pitch] : shipped_gpu_pitches()) {
    if (pitch.contestant.kind != ContestantKind::kVariant) continue;
    ready.push_back(pitch);
    ready.back().contestant = contestant_against(pitch, baseline(backend_named("gpu")));
  }
  return ready;
}

TEST(ShippedGpuPitches, AreTheSeedsContestants) {
  const std::map<std::string, Pitch> pitches = shipped_gpu_pitches();
  for (const char* name :
       {"pipeline_stages", "tile_shape", "weight_tile", "tall_tile", "bulk_store_epilogue",
        "vector_store", "warp_specialisation", "stream_parallelism", "graph", "grouped_launch",
        "balanced_schedule", "split_k", "fused_dual", "two_pass_dual", "small_token_tile",
        "prologue_inside", "three_warpgroups", "one_wave"}) {
    EXPECT_TRUE(pitches.contains(name)) << name;
  }
  for (const auto& [name, pitch] : pitches) EXPECT_EQ(pitch.backend, "gpu") << name;
}

TEST(ShippedGpuPitches, CarryTheSeedsPredictions) {
  const std::map<std::string, Pitch> pitches = shipped_gpu_pitches();
  const std::map<std::string, std::pair<double, double>> predicted = {
      {"pipeline_stages", {1.5, 1.8}},
      {"tile_shape", {2, 3}},
      {"bulk_store_epilogue", {1.12, 1.15}},
      {"warp_specialisation", {1.25, 1.4}},
      {"stream_parallelism", {4, 7}}};
  for (const auto& [name, range] : predicted) {
    EXPECT_EQ(pitches.at(name).claim.low, range.first) << name;
    EXPECT_EQ(pitches.at(name).claim.high, range.second) << name;
    EXPECT_NE(pitches.at(name).evidence.find("SHARK"), std::string::npos)
        << name << " does not say which document its claim is from";
  }
}

TEST(ShippedGpuPitches, SayWhatAJudgeNeeds) {
  for (const auto& [name, pitch] : shipped_gpu_pitches()) {
    for (const std::string& text :
         {pitch.author, pitch.mechanism, pitch.bottleneck, pitch.evidence, pitch.rollback}) {
      EXPECT_FALSE(text.empty()) << name;
    }
    EXPECT_NE(pitch.title, name);
  }
}

TEST(ShippedGpuPitches, TurnTheBaselineIntoSomethingThatRuns) {
  for (const Pitch& pitch : ready_pitches()) {
    EXPECT_NE(pitch.contestant.variant, baseline(backend_named("gpu")).variant) << pitch.name;
    EXPECT_FALSE(find_veto(pitch, builtin_constraints(), {.suite = pitch.suite})) << pitch.name;
    for (const std::string& suite : {std::string("seeds"), pitch.suite}) {
      for (const Problem& problem : load_suite(suite).problems) {
        const Support support = backend_of_variant(pitch.contestant.variant)
                                    .supports(problem, pitch.contestant.variant, {});
        EXPECT_TRUE(support.ok) << pitch.name << ", " << problem.name << ": " << support.why_not;
      }
    }
  }
}

// A season goes on from whoever won: the ideas must bear each other.
TEST(ShippedGpuPitches, RunOnTopOfTheEnginesDefault) {
  const Contestant champion{.kind = ContestantKind::kVariant,
                            .name = "gpu_sm90",
                            .variant = "gpu_sm90",
                            .backend = "gpu"};
  for (const auto& [name, pitch] : shipped_gpu_pitches()) {
    if (pitch.contestant.kind != ContestantKind::kVariant) continue;
    const std::string variant = contestant_against(pitch, champion).variant;
    for (const Problem& problem : load_suite(pitch.suite).problems) {
      const Support support = backend_of_variant(variant).supports(problem, variant, {});
      EXPECT_TRUE(support.ok) << name << ", " << problem.name << ": " << support.why_not;
    }
  }
}

TEST(GpuBaseline, RunsEverySuite) {
  const Contestant baseline = thresher::baseline(backend_named("gpu"));
  EXPECT_EQ(baseline.backend, "gpu");
  EXPECT_EQ(backend_named("gpu").turned(baseline.variant, {}), baseline.name);
  for (const std::string& name : builtin_suite_names()) {
    for (const Problem& problem : load_suite(name).problems) {
      const Support support =
          backend_of_variant(baseline.variant).supports(problem, baseline.variant, {});
      EXPECT_TRUE(support.ok) << name << ", " << problem.name << ": " << support.why_not;
    }
  }
}

}  // namespace
}  // namespace thresher
