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
    {"done_early.c", kWrong, {check::kPoison}},
    {"writes_late.c", kInvalid, {check::kLateWrite}},
    {"overwrites_inputs.c", kInvalid, {check::kExit}, "signal 11"},
    {"truncates_outputs.c", kInvalid, {check::kError}, kRefused},
    {"writes_beyond.c", kInvalid, {check::kGuard}},
    {"ignores_stride.c", kInvalid, {check::kGuard}},
    {"public_shapes_only.c", kWrong, {check::kHiddenShapes}},
    {"declines_hidden_shapes.c", kInvalid, {check::kDeclined}, "not one of mine"},
    {"drops_last_block.c", kWrong, {check::kNumerics}},
    {"skips_small_terms.c", kWrong, {check::kNumerics}},
    {"accumulates_in_bf16.c", kWrong, {check::kNumerics}},
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
    {"prints_without_end.c", kInvalid, {check::kProtocol}, "endlessly"},
    {"floods_stderr.c", kInvalid, {check::kProtocol}, "stderr"},
    {"forges_answers.c", kInvalid, {check::kProtocol}},
    {"answers_twice.c", kInvalid, {check::kProtocol}},
    {"reaches_network.c", kInvalid, {check::kError}, kRefused},
    {"writes_outside.c", kInvalid, {check::kError}, kRefused},
    {"attacks_referee.c", kInvalid, {check::kError}, kRefused},
    {"wakes_itself.c", kInvalid, {check::kError}, kRefused},
    {"does_not_compile.c", kInvalid, {check::kBuild}, "does_not_compile.c does not compile:\n"},
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
  const MatchRecord record = judge(match_against(cheat.file, cheat.suite()));
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

TEST(CheatsThatNeedMore, FasterThanLight) {
#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
  GTEST_SKIP() << "a sanitizer's own work takes longer than light";
#endif
  // On a crowded machine even a call that does nothing may take as long as light; then its values
  // give it away instead.
  MatchRecord record = judge(match_against("faster_than_light.c", heavy_suite()));
  for (int i = 0; i < 4 && record.verdict.check == check::kTimedOutput; ++i) {
    record = judge(match_against("faster_than_light.c", heavy_suite()));
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

// Its own calls suffer from its threads, the champion's do not: whoever burns time burns his own.
TEST(CheatsThatNeedMore, BurningWhileIdleDoesNotPay) {
  const MatchRecord record = judge(match_against("burns_while_idle.c", tiny_suite()));
  SCOPED_TRACE(record.verdict.reason);
  EXPECT_NE(to_string(record.verdict.kind), "accepted");
  EXPECT_EQ(record.samples.heats.size(), 2u);
}

}  // namespace
}  // namespace thresher
