// SPDX-License-Identifier: Apache-2.0
#include "referee/match.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "nvfp4/error_message.hpp"
#include "quick_match.hpp"
#include "referee/fault.hpp"
#include "referee/sandbox/scratch.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using namespace testing;

class HonestContestant : public ::testing::TestWithParam<const char*> {};

TEST_P(HonestContestant, PassesEveryGate) {
  const Verdict verdict =
      check_contestant(contestant_of_file(GetParam()), all_kinds_suite(), quick_options());
  EXPECT_EQ(to_string(verdict.kind), "accepted") << verdict.check << ": " << verdict.reason;
}

INSTANTIATE_TEST_SUITE_P(
    Examples, HonestContestant,
    ::testing::Values("examples/contestants/plain.c", "examples/contestants/plain.cpp",
                      "examples/contestants/plain.py"),
    [](const auto& param_info) {
      return std::filesystem::path(param_info.param).extension().string().substr(1);
    });

TEST(HonestVariant, PassesEveryGate) {
  const Verdict verdict = check_contestant(variant(""), all_kinds_suite(), quick_options());
  EXPECT_EQ(to_string(verdict.kind), "accepted") << verdict.check << ": " << verdict.reason;
}

// Somebody else fills the disk that contestants' scratch folders are on, once this one is built.
TEST(Judge, BlamesNobodyForADiskThatFillsDuringACall) {
  const referee::ScratchFolder place(referee::FolderOwner::kReferee);
  const std::filesystem::path small = place.path() / "small";
  std::filesystem::create_directory(small);
  if (mount("none", small.c_str(), "tmpfs", 0, "size=16m") != 0) {
    GTEST_SKIP() << "only root has a disk to fill";
  }
  const std::filesystem::path before = std::filesystem::temp_directory_path();
  setenv("TMPDIR", small.c_str(), 1);
  Match match{.champion = variant(""),
              .challenger = contestant_of_file("tests/cheats/needs_its_scratch.c"),
              .suite = tiny_suite(),
              .options = quick_options()};
  match.options.confinement.without = {referee::layer::kPrivateFiles};
  const auto said_of = [&](const Match& played) -> std::string {
    try {
      const MatchRecord record = judge(played);
      return record.verdict.check + ": " + record.verdict.reason;
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(said_of(match).find("run returned 79"), std::string::npos) << "there is room";
  match.options.progress = [&](const std::string& text) {
    if (!text.ends_with(": built")) return;
    const std::vector<char> filling(1 << 20);
    std::ofstream file(small / "filling", std::ios::binary);
    for (int mib = 0; mib < 32; ++mib) file.write(filling.data(), 1 << 20).flush();
  };
  const std::string said = said_of(match);
  setenv("TMPDIR", before.c_str(), 1);
  umount2(small.c_str(), MNT_DETACH);
  EXPECT_NE(said.find("KiB left, too little to referee with; make room, or set TMPDIR"),
            std::string::npos)
      << said;
}

// How the timing comes out is the machine's business; that it is complete is ours.
TEST(Judge, TimesWhoPassesTheGates) {
  const Match match{.champion = variant(""),
                    .challenger = contestant_of_file("examples/contestants/plain.c"),
                    .suite = tiny_suite(),
                    .options = quick_options()};
  const MatchRecord record = judge(match);
  EXPECT_NE(to_string(record.verdict.kind), "accepted") << record.verdict.reason;
  EXPECT_NE(to_string(record.verdict.kind), "invalid") << record.verdict.reason;
  EXPECT_NE(to_string(record.verdict.kind), "wrong") << record.verdict.reason;
  ASSERT_TRUE(record.verdict.estimate);
  EXPECT_EQ(record.samples.problems, std::vector<std::string>{"tiny_gemm"});
  ASSERT_EQ(record.samples.heats.size(), 2u);
  for (const HeatSamples& heat : record.samples.heats) {
    EXPECT_EQ(heat.match.size() % 3, 0u);  // as many times three as the pilot asked for
    EXPECT_EQ(heat.match.size(), record.samples.heats[0].match.size());
    EXPECT_EQ(heat.same.size() + heat.slowed.size(), heat.match.size());  // the copy plays in all
    EXPECT_GE(std::min(heat.same.size(), heat.slowed.size()), heat.match.size() / 2);
    for (const Block& block : heat.match) {
      for (const double ns : {block.a_ns[0], block.a_ns[1], block.b_ns[0], block.b_ns[1]}) {
        EXPECT_GT(ns, 0);
      }
    }
  }
  EXPECT_NE(record.seed, 0u);
  EXPECT_NE(record.champion_hash, record.challenger_hash);
  // Where the time of each heat went.
  const auto speaks_of_time = [](const std::string& line) {
    return line.find(" s in all: inputs ") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(record.log.begin(), record.log.end(), speaks_of_time), 2);
  const CallTiming single_and_cold{.calls = measure::Surroundings::kAlone, .cold = true};
  EXPECT_EQ(record.verdict.timing, single_and_cold);
  EXPECT_EQ(record.samples.timing, single_and_cold);
  EXPECT_EQ(std::count(record.log.begin(), record.log.end(), "timed: single calls, cold weights"),
            1);
}

// The least of all calls of the champion's copy, which chance has disturbed the least.
double least_ns(const MatchSamples& samples, std::vector<Block> HeatSamples::*control) {
  double least = std::numeric_limits<double>::infinity();
  for (const HeatSamples& heat : samples.heats) {
    for (const Block& block : heat.*control)
      least = std::min({least, block.b_ns[0], block.b_ns[1]});
  }
  return least;
}

// The delay of a short call is shorter than what else happens between two calls, and none of that
// may be booked as delay.
TEST(Judge, TheControlOfAShortCallIsDelayedByItsShare) {
  Match match{.champion = variant(""),
              .challenger = variant(""),
              .suite = tiny_suite(),
              .options = quick_options()};
  match.options.thread_count = 1;
  match.options.blocks_per_problem = 60;
  // Of a crowded machine the least of some hundred calls may still be a disturbed one.
  double ratio = 0;
  for (int attempt = 0; attempt == 0 || (attempt < 3 && ratio >= 1.25); ++attempt) {
    const MatchSamples samples = judge(match).samples;
    ratio = least_ns(samples, &HeatSamples::slowed) / least_ns(samples, &HeatSamples::same);
  }
  EXPECT_LT(ratio, 1.25);
}

// The heats of an earlier stretch count: one more is enough for the two that are asked for.
TEST(Judge, GoesOnAfterEarlierHeats) {
  Match match{.champion = variant(""),
              .challenger = variant(""),
              .suite = tiny_suite(),
              .options = quick_options()};
  match.options.analysis = {.heats_min = 1, .heats_max = 1};
  const MatchRecord first = judge(match);
  ASSERT_EQ(first.samples.heats.size(), 1u);
  EXPECT_EQ(first.earlier_heat_count, 0);
  match.options.analysis = {.heats_min = 2, .heats_max = 2};
  match.options.earlier = first.samples;
  const MatchRecord second = judge(match);
  ASSERT_EQ(second.samples.heats.size(), 2u);
  EXPECT_EQ(second.earlier_heat_count, 1);
  EXPECT_EQ(second.samples.heats[0].match[0].a_ns[0], first.samples.heats[0].match[0].a_ns[0]);
  EXPECT_EQ(second.verdict.estimate->heat_count, 2);

  match.options.cold = false;
  EXPECT_EQ(nvfp4::error_message([&] { judge(match); }),
            "the calls of the earlier heats were timed as single calls, cold weights, these would "
            "be as single calls, warm weights: they cannot be read together");
  match.options.cold = true;
  match.options.earlier.problems = {"another"};
  EXPECT_THROW(judge(match), Error);
}

TEST(Judge, WarmMatchesRunToo) {
  Match match{.champion = variant(""),
              .challenger = variant(""),
              .suite = tiny_suite(),
              .options = quick_options()};
  match.options.cold = false;
  const MatchRecord record = judge(match);
  EXPECT_EQ(record.samples.heats.size(), 2u);
  ASSERT_TRUE(record.verdict.timing);
  EXPECT_EQ(to_string(*record.verdict.timing), "single calls, warm weights");
}

TEST(Judge, StopsWhenTheTimeIsOver) {
  Match match{.champion = variant(""),
              .challenger = contestant_of_file("examples/contestants/plain.c"),
              .suite = heavy_suite(),
              .options = quick_options()};
  match.options.seconds_max = 0.5;
  const MatchRecord record = judge(match);
  EXPECT_EQ(to_string(record.verdict.kind), "unclear") << record.verdict.reason;
  EXPECT_EQ(record.verdict.check, referee::check::kTime);
}

TEST(Judge, SaysThatTheChampionFailed) {
  const Match match{.champion = contestant_of_file("tests/cheats/writes_zeros.c"),
                    .challenger = variant(""),
                    .suite = tiny_suite(),
                    .options = quick_options()};
  const std::string why = nvfp4::error_message([&] { judge(match); });
  EXPECT_NE(why.find("the champion 'writes_zeros' failed"), std::string::npos) << why;
}

TEST(Judge, SaysThatAVariantCannotRunTheSuite) {
  Suite suite = tiny_suite();
  suite.problems[0].activations = Activations::kFp16;
  const Verdict verdict = check_contestant(variant("cpu_amx"), suite, quick_options());
  EXPECT_EQ(to_string(verdict.kind), "invalid");
  EXPECT_TRUE(verdict.check == "declined" || verdict.check == "start") << verdict.check;
}

TEST(Judge, ACudaSourceNeedsLaunches) {
  Contestant contestant = contestant_of_file("examples/cuda/plain_gemm.cu");
  const Verdict verdict = check_contestant(contestant, tiny_suite(), quick_options());
  EXPECT_EQ(to_string(verdict.kind), "invalid");
  EXPECT_EQ(verdict.check, referee::check::kBuild);
  EXPECT_EQ(verdict.reason, "a CUDA source enters by a pitch that says how it is launched");
}

TEST(Judge, BothPlayOnOneBackend) {
  const Match match{.champion = variant(""),
                    .challenger = variant("gpu_sm90"),
                    .suite = tiny_suite(),
                    .options = quick_options()};
  EXPECT_EQ(nvfp4::error_message([&] { judge(match); }),
            "the champion '' runs on the cpu, the challenger 'gpu_sm90' on the gpu: a match is "
            "between two on the CPU or two on a GPU");
}

TEST(Judge, SaysWhyThereIsNoGpu) {
  const std::string why = why_no_device({.device = "gpu"});
  if (why.empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(nvfp4::error_message(
                [] { check_contestant(variant("gpu_sm90"), tiny_suite(), quick_options()); }),
            why);
}

// Who gives the seed gives the secrets away, and the verdict says so.
TEST(Seed, GivenIsNoSecret) {
  MatchOptions options = quick_options();
  const auto not_protected_by = [&] {
    const Verdict verdict = check_contestant(variant(""), tiny_suite(), options);
    const std::vector<std::string>& missing = verdict.missing_protections;
    return std::any_of(missing.begin(), missing.end(), [](const std::string& one) {
      return one.find("secret inputs (the seed was given") == 0;
    });
  };
  EXPECT_FALSE(not_protected_by());
  options.seed = 7;
  EXPECT_TRUE(not_protected_by());
}

}  // namespace
}  // namespace thresher
