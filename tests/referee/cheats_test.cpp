// SPDX-License-Identifier: Apache-2.0
// Every trick under tests/cheats enters a match and must lose it by the check that is made for it.
// A cheat that hides behind an honest contestant would be accepted, or rejected for its speed
// alone, if that check were not there.
#include <gtest/gtest.h>

#include <set>

#include "quick_match.hpp"
#include "referee/fault.hpp"

namespace thresher {
namespace {

using namespace testing;
namespace check = referee::check;

struct Cheat {
  const char* file;
  VerdictKind kind;
  std::set<std::string> checks;  // any of them: which one comes first may be a matter of time
  std::string reason = {};       // must occur in the verdict's reason
  Suite (*suite)() = tiny_suite;
};

std::ostream& operator<<(std::ostream& stream, const Cheat& cheat) { return stream << cheat.file; }

constexpr VerdictKind kWrong = VerdictKind::kWrong;
constexpr VerdictKind kInvalid = VerdictKind::kInvalid;

// What cheats return that try to break out and were refused, and that would be right otherwise.
const std::string kRefused = "run returned 77";

// clang-format off
const Cheat kCheats[] = {
    {"writes_nothing.c", kWrong, {check::kPoison}},
    {"writes_half.c", kWrong, {check::kPoison}},
    {"writes_zeros.c", kWrong, {check::kNumerics}},
    {"writes_nan.c", kWrong, {check::kNumerics}},
    {"stale_output.c", kWrong, {check::kReplay}},
    {"replay_by_problem.c", kWrong, {check::kReplay}},
    {"replay_by_pointer.c", kWrong, {check::kReplay}},
    {"replay_by_first_bytes.c", kWrong, {check::kReplay}},
    {"cheap_when_timed.c", kWrong, {check::kTimedOutput}},
    {"every_seventh_wrong.c", kWrong, {check::kTimedOutput}},
    {"done_early.c", kWrong, {check::kPoison}, "", heavy_suite},
    {"answers_a_moment_early.c", kWrong, {check::kPoison}},
    {"writes_late.c", kInvalid, {check::kLateWrite}},
    {"overwrites_inputs.c", kInvalid, {check::kExit}, "signal 11"},
    {"truncates_outputs.c", kInvalid, {check::kError}, kRefused},
    {"writes_beyond.c", kInvalid, {check::kGuard}},
    {"ignores_stride.c", kInvalid, {check::kGuard}},
    {"public_shapes_only.c", kWrong, {check::kHiddenShapes}},
    {"small_shapes_only.c", kWrong, {check::kHiddenShapes}, "", wide_suite},
    {"few_groups_only.c", kWrong, {check::kHiddenShapes}, "", crowd_suite},
    {"few_rows_only.c", kWrong, {check::kHiddenShapes}, "", tall_suite},
    {"short_sums_only.c", kWrong, {check::kHiddenShapes}, "", heavy_suite},
    {"declines_hidden_shapes.c", kInvalid, {check::kDeclined}, "not one of mine"},
    {"drops_last_block.c", kWrong, {check::kNumerics}},
    {"skips_small_terms.c", kWrong, {check::kNumerics}},
    {"accumulates_in_bf16.c", kWrong, {check::kNumerics}},
    {"activations_of_8_bits.c", kWrong, {check::kPrecision, check::kNumerics}, "", long_suite},
    {"activations_of_8_bits_in_blocks.c", kWrong, {check::kPrecision, check::kTimedOutput}, "", long_suite},
    {"activations_of_8_bits_in_part.c", kWrong, {check::kPrecision}, "", long_suite},
    {"rounds_toward_zero.c", kWrong, {check::kPrecision, check::kNumerics, check::kTimedOutput}, "", long_suite},
    {"accumulates_in_fp16.c", kWrong, {check::kPrecision, check::kNumerics}, "", long_suite},
    {"accumulates_blocks_in_bf16.c", kWrong, {check::kPrecision, check::kTimedOutput}, "", long_suite},
    {"precise_when_exact.c", kWrong, {check::kPrecision, check::kNumerics}, "", long_suite},
    {"first_group_only.c", kWrong, {check::kNumerics}},
    {"corners_only.c", kWrong, {check::kNumerics}, "row 0, column 1:", wide_suite},
    {"outer_rows_only.c", kWrong, {check::kNumerics}, "row 1, column 0:", wide_suite},
    {"skips_one_column.c", kWrong, {check::kNumerics}, "row 0, column 1234:", wide_suite},
    {"corners_when_timed.c", kWrong, {check::kTimedOutput}, "group 0, row 0, column 1:", crowd_suite},
    {"skips_last_tail.c", kWrong, {check::kTimedOutput}, "group 19, row 2, column 157:", crowd_suite},
    {"first_groups_only.c", kWrong, {check::kTimedOutput}, "group 6, row 0, column 0:", crowd_suite},
    {"one_in_ten_thousand.c", kWrong, {check::kTimedOutput}, "", crowd_suite},
    {"hangs.c", kInvalid, {check::kTimeout}, "problem 'tiny_gemm': no answer to 'run' within the 3 s of"},
    {"forks_without_end.c", kInvalid, {check::kTimeout}},
    {"crashes.c", kInvalid, {check::kExit}, "problem 'tiny_gemm': ended during 'run': was ended by signal 11 (Segmentation fault: it used memory"},
    {"exits.c", kInvalid, {check::kExit}, "exit code 0"},
    {"prints_to_stdout.c", kInvalid, {check::kProtocol}, "a new record'; standard output belongs to the protocol, print to standard error"},
    {"prints_by_printf.c", kInvalid, {check::kProtocol}, "standard output belongs to the protocol, print to standard error"},
    {"prints_without_end.c", kInvalid, {check::kProtocol}, "endlessly"},
    {"floods_stderr.c", kInvalid, {check::kProtocol}, "stderr"},
    {"forges_answers.c", kInvalid, {check::kProtocol}},
    {"answers_twice.c", kInvalid, {check::kProtocol}},
    {"reaches_network.c", kInvalid, {check::kError}, kRefused},
    {"writes_outside.c", kInvalid, {check::kError}, kRefused},
    {"attacks_referee.c", kInvalid, {check::kError}, kRefused},
    {"wakes_itself.c", kInvalid, {check::kError}, kRefused},
    {"does_not_compile.c", kInvalid, {check::kBuild}, "does_not_compile.c does not compile:\n"},
    {"compiles_in_the_time.c", kInvalid, {check::kBuild}, "/proc/uptime"},
    {"lacks_entry_points.c", kInvalid, {check::kStart}, "thresher_contestant_prepare"},
    {"speaks_other_version.py", kInvalid, {check::kStart}, "version 99"},
    {"closes_stdout.py", kInvalid, {check::kExit}},
    {"wrong_token.py", kInvalid, {check::kProtocol}},
};
// clang-format on

Match match_against(const std::string& cheat, Suite suite) {
  return {.champion = variant(""),
          .challenger = contestant_of_file("tests/cheats/" + cheat),
          .suite = std::move(suite),
          .options = quick_options()};
}

class Cheats : public ::testing::TestWithParam<Cheat> {};

TEST_P(Cheats, Loses) {
  const Cheat& cheat = GetParam();
  Match match = match_against(cheat.file, cheat.suite());
  if (cheat.checks.contains(check::kTimeout)) match.options.call_timeout_seconds = 3;
  const MatchRecord record = judge(match);
  const Verdict& verdict = record.verdict;
  SCOPED_TRACE(verdict.reason + ", seed " + std::to_string(record.seed));
  EXPECT_EQ(to_string(verdict.kind), to_string(cheat.kind));
  EXPECT_TRUE(cheat.checks.contains(verdict.check)) << "caught by " << verdict.check;
  EXPECT_NE(verdict.reason.find(cheat.reason), std::string::npos);
}

std::string name_of(const ::testing::TestParamInfo<Cheat>& info) {
  return std::filesystem::path(info.param.file).stem();
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Cheats, ::testing::ValuesIn(kCheats), name_of);

// Light takes most of a millisecond for it, whatever the machine: waking a process takes far less.
Suite light_suite() {
  Suite suite{.name = "light"};
  suite.problems.push_back(make_problem({1}, 8192, 8192));
  suite.problems[0].name = "light_gemm";
  return suite;
}

TEST(CheatsThatNeedMore, FasterThanLight) {
#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
  GTEST_SKIP() << "a sanitizer's own work takes longer than light";
#endif
  // On a crowded machine even a call that does nothing may take as long as light; then its values
  // give it away instead.
  MatchRecord record = judge(match_against("faster_than_light.c", light_suite()));
  for (int i = 0; i < 4 && record.verdict.check == check::kTimedOutput; ++i) {
    record = judge(match_against("faster_than_light.c", light_suite()));
  }
  SCOPED_TRACE(record.verdict.reason);
  EXPECT_EQ(to_string(record.verdict.kind), "invalid");
  EXPECT_EQ(record.verdict.check, check::kSpeedOfLight);
}

TEST(CheatsThatNeedMore, MemoryHasAnEnd) {
#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
  GTEST_SKIP() << "a sanitizer's process cannot be limited in its address space";
#endif
  const MatchRecord record = judge(match_against("eats_memory.c", tiny_suite()));
  SCOPED_TRACE(record.verdict.reason);
  EXPECT_EQ(record.verdict.check, check::kError);
  EXPECT_NE(record.verdict.reason.find("run returned 78"), std::string::npos);
}

// They say so when something secret can be foreseen or comes again, and are honest otherwise:
// nothing may come of it, and the match is played to its end.
TEST(CheatsThatNeedMore, SecretsStaySecret) {
  for (const char* file : {"foresees_poison.c", "remembers_processes.c", "counts_on_order.c",
                           "starts_before_the_clock.c", "remembers_in_the_page_cache.c"}) {
    const MatchRecord record = judge(match_against(file, crowd_suite()));
    SCOPED_TRACE(std::string(file) + ": " + record.verdict.reason);
    EXPECT_EQ(record.verdict.reason.find("run returned 76"), std::string::npos);
    EXPECT_EQ(record.samples.heats.size(), 2u);
  }
}

// Twice as fast by the median, and no champion: what a user waits for is all calls. Which heats are
// sure of it is the machine's business (analysis_test.cpp has the reasons).
TEST(CheatsThatNeedMore, SlowCallsLoseWhatTheMedianGains) {
  for (const char* file : {"every_fifth_slow.c", "seldom_slow.c", "slow_on_and_off.c"}) {
    Match match = match_against(file, tiny_suite());
    match.champion = contestant_of_file("tests/cheats/steady_champion.c");
    match.options.analysis.heats_min = match.options.analysis.heats_max = 4;
    match.options.blocks_per_problem = 8;
    match.options.seconds_max = 12;  // a heat of which is too short for a pilot to ask for more
    const MatchRecord record = judge(match);
    SCOPED_TRACE(std::string(file) + ": " + record.verdict.reason);
    EXPECT_NE(to_string(record.verdict.kind), "accepted");
    ASSERT_TRUE(record.verdict.estimate);
  }
}

// As a champion they would keep the title by having every match void. What they go by says nothing
// of who they are: some heats have a slow champion, others a slow copy.
TEST(CheatsThatNeedMore, NobodyKnowsWhichArmItIs) {
  for (const char* file : {"knows_its_files.c", "knows_its_group.c"}) {
    Match match = match_against(file, crowd_suite());
    std::swap(match.champion, match.challenger);
    match.options.thread_count = 1;
    match.options.analysis.heats_min = match.options.analysis.heats_max = 5;
    MatchRecord record = judge(match);
    // By chance the same arm was the slow one in every heat.
    for (int i = 0; i < 2 && record.verdict.check == check::kControls; ++i) record = judge(match);
    SCOPED_TRACE(std::string(file) + ": " + record.verdict.reason);
    EXPECT_NE(record.verdict.check, check::kControls);
    EXPECT_TRUE(record.verdict.estimate);
  }
}

// Its own calls suffer from its threads, the champion's do not: whoever burns time burns his own.
TEST(CheatsThatNeedMore, BurningWhileIdleDoesNotPay) {
  const MatchRecord record = judge(match_against("burns_while_idle.c", tiny_suite()));
  SCOPED_TRACE(record.verdict.reason);
  EXPECT_NE(to_string(record.verdict.kind), "accepted");
  EXPECT_EQ(record.samples.heats.size(), 2u);
}

}  // namespace
}  // namespace thresher
