// SPDX-License-Identifier: Apache-2.0
// A season on a GPU, with a referee that needs none: its record, its vetoes, its lessons.
#include <gtest/gtest.h>

#include "engine/backends.hpp"
#include "tank/fake_season.hpp"
#include "tank/pitch/constraint.hpp"
#include "tank/scratch_folder.hpp"
#include "tank/season/scoreboard.hpp"
#include "tank/season/season.hpp"

namespace thresher {
namespace {

using namespace testing;

Pitch gpu_pitch(const std::string& name, double claim, const std::string& contestant) {
  return parse_pitch(fmt::format("name = \"{}\"\nsuite = \"seeds\"\nbackend = \"gpu\"\n"
                                 "claim = {:.3f}\nmechanism = \"less work\"\n"
                                 "bottleneck = \"launch cost\"\n[contestant]\n{}\n",
                                 name, claim, contestant),
                     name + ".toml");
}

struct GpuPlayed {
  ScratchFolder folder;
  Ledger ledger{folder / "ledger.db"};
  FakeMachine machine;
  SeasonSetup setup = fake_setup("s");

  GpuPlayed() {
    setup.rules.backend = "gpu";
    setup.rules.suite = {
        .name = "seeds",
        .problems = {{.name = "one", .groups = {{.m = 176, .n = 4096, .k = 4096}}},
                     {.name = "two", .op = Op::kDual, .groups = {{.m = 64, .n = 512, .k = 512}}}}};
    setup.champion = baseline(backend_named("gpu"));
    setup.limits = SmLimits{.sm_count = 114};
    setup.environment = {{"device", "NVIDIA Test"}};
    setup.rates = {.read_gb_per_s = 4000,
                   .nvfp4_gop_per_s = 800000,
                   .fp16_gop_per_s = 800000,
                   .bf16_gop_per_s = 800000};
    machine.speed_of_setting = {{"graph=on", 1.10}, {"launches=streams", 0.90}};
    setup.pitches = {gpu_pitch("graph", 1.2, "knobs = {graph = \"on\"}"),
                     gpu_pitch("streams", 1.5, "knobs = {launches = \"streams\"}")};
  }

  void play() { play_season(ledger, setup, fake_tools(machine)); }
  std::vector<LedgerEntry> entries(const std::string& kind) const {
    return ledger.entries("s", kind);
  }
  std::string veto_of(const std::string& pitch) const {
    for (const LedgerEntry& entry : entries("veto")) {
      if (entry.data.at("pitch") == pitch) return entry.data.at("constraint");
    }
    return "none";
  }
};

TEST(GpuSeason, RemembersItsDevice) {
  GpuPlayed season;
  season.play();
  const nlohmann::json start = season.entries("season").front().data;
  EXPECT_EQ(start.at("backend"), "gpu");
  EXPECT_EQ(start.at("environment").at("gpu").at("sm_count"), 114);
  EXPECT_EQ(start.at("contestant").at("backend"), "gpu");
  const SeasonRecord record = read_season(season.ledger, "s");
  EXPECT_EQ(record.limits.sm_count, 114);
  EXPECT_EQ(record.champion.backend, "gpu");
  EXPECT_EQ(record.champion.variant,
            "gpu_sm90:kernel=plain,launches=per_group,graph=on,dual=two_pass");
  const Scoreboard board = scoreboard(season.ledger, "s");
  EXPECT_EQ(board.backend, "gpu");
  EXPECT_EQ(board.device, "NVIDIA Test");
}

TEST(GpuSeason, PlaysPitchesOfItsBackendOnly) {
  GpuPlayed season;
  season.setup.pitches.push_back(fake_pitch("for_cpus", 1.5, "knobs = {stages = 4}"));
  season.play();
  EXPECT_EQ(season.veto_of("for_cpus"), "backend");
  EXPECT_EQ(season.veto_of("graph"), "none");

  GpuPlayed on_cpu;
  on_cpu.setup = fake_setup("s");
  on_cpu.setup.pitches = {gpu_pitch("graph", 1.2, "knobs = {graph = \"on\"}")};
  on_cpu.play();
  EXPECT_EQ(on_cpu.veto_of("graph"), "backend");
}

// Two passes over 128 rows cannot be shared by two warpgroups; fused they can.
TEST(GpuSeason, WhatCannotRunWaitsForAnotherChampion) {
  GpuPlayed season;
  season.machine.speed_of_setting = {{"dual=two_pass", 0.8}, {"kernel=plain", 0.5}};
  season.setup.pitches = {gpu_pitch("pipelined", 2.0, "knobs = {kernel = \"pipelined\"}"),
                          gpu_pitch("fused", 1.1, "knobs = {dual = \"fused\"}")};
  season.play();
  EXPECT_EQ(season.veto_of("pipelined"), "support");
  std::vector<std::string> champions;
  for (const LedgerEntry& entry : season.entries("champion")) {
    champions.push_back(entry.data.at("champion"));
  }
  EXPECT_EQ(champions, (std::vector<std::string>{"gpu_sm90:kernel=plain,launches=per_group",
                                                 "gpu_sm90:launches=per_group"}));
}

TEST(GpuSeason, LearnsInTheGpusWords) {
  GpuPlayed season;
  season.play();
  bool learned = false;
  for (const Constraint& one : learned_constraints(season.ledger)) {
    if (!one.id.ends_with("_streams")) continue;
    learned = true;
    EXPECT_EQ(describe_predicate(one), "backend gpu, launches = streams");
    const ConstraintContext there{
        .suite = "seeds", .season = "s", .champion_hash = one.champion_hash, .device = ""};
    const auto is_vetoed = [&](const char* knobs) {
      Pitch pitch = gpu_pitch("again", 2, knobs);
      pitch.contestant = contestant_against(pitch, baseline(backend_named("gpu")));
      return find_veto(pitch, {one}, there).has_value();
    };
    EXPECT_TRUE(is_vetoed("knobs = {launches = \"streams\"}"));
    EXPECT_FALSE(is_vetoed("knobs = {launches = \"streams\", tokens = 64}"));
    EXPECT_FALSE(is_vetoed("knobs = {launches = \"grouped\"}"));
  }
  EXPECT_TRUE(learned);
}

TEST(GpuSeason, SharksJudgeGpuVariants) {
  GpuPlayed season;
  season.play();
  for (const LedgerEntry& entry : season.entries("ballot")) {
    const std::string reason = entry.data.at("reason");
    if (entry.data.at("shark") == "Theorist" && entry.data.at("pitch") == "graph") {
      EXPECT_NE(reason.find("launches take"), std::string::npos) << reason;
      EXPECT_NE(reason.find("the model gives"), std::string::npos) << reason;
    }
    if (entry.data.at("shark") == "Pragmatist") {
      EXPECT_NE(reason.find("1 knob turned"), std::string::npos) << reason;
    }
  }
}

}  // namespace
}  // namespace thresher
