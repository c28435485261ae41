// SPDX-License-Identifier: Apache-2.0
// The pitches under pitches/ and pitches/more/: complete, runnable from the baseline, with the
// seeds' own numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cpu/variant.hpp"
#include "engine/backends.hpp"
#include "gemm/suite.hpp"
#include "tank/pitch/constraint.hpp"
#include "tank/pitch/pitch.hpp"
#include "tank/season/season.hpp"

namespace thresher {
namespace {

std::map<std::string, Pitch> cpu_pitches() {
  std::map<std::string, Pitch> pitches;
  for (const char* folder : {THRESHER_SOURCE_DIR "/pitches", THRESHER_SOURCE_DIR "/pitches/more"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".toml") continue;
      EXPECT_EQ(pitch_file_faults(entry.path()), std::vector<std::string>{});
      Pitch pitch = load_pitch(entry.path());
      pitches.emplace(pitch.name, std::move(pitch));
    }
  }
  return pitches;
}

TEST(CpuPitches, AreTheSeedsContestantsAndThoseWithoutAnEngine) {
  std::vector<std::string> names;
  for (const auto& [name, pitch] : cpu_pitches()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"fused_dual", "graph", "pipeline_stages", "plain_c",
                                             "skipped_blocks", "stream_parallelism",
                                             "streaming_epilogue", "tile_sizes", "torch_compile",
                                             "triton", "two_pass_dual", "warp_specialisation"}));
}

TEST(CpuPitches, CarryTheSeedsPredictions) {
  const std::map<std::string, Pitch> pitches = cpu_pitches();
  const std::map<std::string, std::pair<double, double>> predicted = {
      {"pipeline_stages", {1.5, 1.8}},      {"tile_sizes", {2, 3}},
      {"streaming_epilogue", {1.12, 1.15}}, {"warp_specialisation", {1.25, 1.4}},
      {"stream_parallelism", {4, 7}},       {"triton", {1.02, 1.07}},
      {"torch_compile", {10, 50}}};
  for (const auto& [name, range] : predicted) {
    EXPECT_EQ(pitches.at(name).claim.low, range.first) << name;
    EXPECT_EQ(pitches.at(name).claim.high, range.second) << name;
    EXPECT_NE(pitches.at(name).evidence.find("SHARK"), std::string::npos)
        << name << " does not say which document its claim is from";
  }
}

TEST(CpuPitches, SayWhatAJudgeNeeds) {
  for (const auto& [name, pitch] : cpu_pitches()) {
    for (const std::string& text :
         {pitch.author, pitch.mechanism, pitch.bottleneck, pitch.evidence, pitch.rollback}) {
      EXPECT_FALSE(text.empty()) << name;
    }
    EXPECT_NE(pitch.title, name);
  }
}

// Every knob is one that the baseline has not turned yet, but for the two controls.
TEST(CpuPitches, ChangeTheBaselineIntoSomethingThatRuns) {
  for (const auto& [name, pitch] : cpu_pitches()) {
    if (pitch.contestant.kind != ContestantKind::kVariant) continue;
    const Suite suite = load_suite(pitch.suite);
    const Contestant baseline = thresher::baseline(backend_named("cpu"));
    Pitch ready = pitch;
    ready.contestant = contestant_against(pitch, baseline);
    const bool is_control = name == "graph" || name == "two_pass_dual";
    EXPECT_EQ(ready.contestant.variant == baseline.variant, is_control) << name;
    // A machine without AVX2 has no panels, prefetches and streaming stores, and says so.
    if (find_veto(ready, builtin_constraints(), {.suite = suite.name})) continue;
    for (const Problem& problem : suite.problems) {
      const Support support =
          cpu::supports(cpu::variant_from_name(ready.contestant.variant), problem, 2);
      EXPECT_TRUE(support.ok) << name << ": " << support.why_not;
    }
  }
}

TEST(CpuPitches, NameEveryFileTheyRun) {
  for (const auto& [name, pitch] : cpu_pitches()) {
    const std::vector<std::string>& command = pitch.contestant.command;
    const std::filesystem::path& folder = pitch.contestant.folder;
    EXPECT_EQ(std::count_if(command.begin(), command.end(),
                            [&folder](const std::string& word) {
                              return std::filesystem::exists(folder / word);
                            }),
              command.empty() ? 0 : 2)
        << name << ": serve.py and the program, so that both count in the contestant's hash";
  }
}

TEST(Baseline, RunsEverySuite) {
  for (const std::string& name : builtin_suite_names()) {
    const Suite suite = load_suite(name);
    const Contestant baseline = thresher::baseline(backend_named("cpu"));
    EXPECT_EQ(baseline.kind, ContestantKind::kVariant);
    const cpu::Variant variant = cpu::variant_from_name(baseline.variant);
    EXPECT_EQ(cpu::name(variant), baseline.name);
    for (const Problem& problem : suite.problems) {
      const Support support = cpu::supports(variant, problem, 1);
      EXPECT_TRUE(support.ok) << name << ", " << problem.name << ": " << support.why_not;
    }
  }
}

}  // namespace
}  // namespace thresher
