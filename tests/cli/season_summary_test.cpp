// SPDX-License-Identifier: Apache-2.0
// A season in words.
#include "cli/season_summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tank/fake_season.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher::cli {
namespace {

std::string summary_of(testing::FakeMachine machine, double seconds = 1e6,
                       std::size_t width = 100) {
  const testing::ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  SeasonSetup setup = testing::fake_setup("s");
  setup.seconds_max = seconds;
  play_season(ledger, setup, testing::fake_tools(machine));
  return season_summary(read_season(ledger, "s"), "out/ledger.db", width);
}

TEST(SeasonSummary, SaysWhatWasAcceptedAndWhatItIsGoodFor) {
  std::string text = summary_of({});
  std::replace(text.begin(), text.end(), '\n', ' ');  // wherever its lines end
  EXPECT_TRUE(text.starts_with("Of 4 pitches that were played 1 was accepted: deeper")) << text;
  EXPECT_NE(text.find("1.10 times as fast (1.09 to"), std::string::npos) << text;
  EXPECT_NE(text.find("With tile = 16x16 the champion is now about 1.10 times"), std::string::npos)
      << text;
  EXPECT_NE(text.find("never timed: other_tasks."), std::string::npos) << text;
  EXPECT_NE(text.find("thresher report --season s"), std::string::npos) << text;
  EXPECT_EQ(text.find("--more"), std::string::npos) << "nothing is open";
}

TEST(SeasonSummary, SaysHowToGoOnWithWhatIsOpen) {
  testing::FakeMachine machine;
  machine.heats_until_clear = {{"tile=16x16", 900}};
  const std::string text = summary_of(machine, 100);
  EXPECT_NE(text.find("none was accepted"), std::string::npos) << text;
  EXPECT_NE(text.find("Still open: deeper."), std::string::npos) << text;
  EXPECT_NE(text.find("thresher season --season s --more 120 "), std::string::npos) << text;
}

// A control takes no title, whatever comes of it, until it enters a round again.
TEST(SeasonSummary, NamesControlsThatWereAccepted) {
  testing::FakeMachine machine;
  machine.speed_of_setting = {{"tile=16x16", 1.1}, {"schedule=sequence", 1.2}};
  const testing::ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  SeasonSetup setup = testing::fake_setup("s");
  setup.rules.control_share = 1;
  setup.rules.tries_max = 1;
  setup.rounds_max = 1;
  play_season(ledger, setup, testing::fake_tools(machine));
  std::string text = season_summary(read_season(ledger, "s"), "out/ledger.db", 100);
  EXPECT_NE(text.find("thresher season --season s --more 120 "), std::string::npos) << text;
  std::replace(text.begin(), text.end(), '\n', ' ');
  EXPECT_NE(text.find("Accepted as a control, with the title still to be played for: in_turn."),
            std::string::npos)
      << text;
}

TEST(SeasonSummary, KeepsToItsWidth) {
  for (const std::size_t width : {60, 80, 100, 140}) {
    std::istringstream lines(summary_of({}, 1e6, width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
  }
}

TEST(SeasonSummary, NamesTheProgramAsItWasCalled) {
  setenv("THRESHER_CALLED_AS", "./run", 1);
  const std::string text = summary_of({});
  unsetenv("THRESHER_CALLED_AS");
  EXPECT_NE(text.find("\n  ./run report --season s "), std::string::npos) << text;
  EXPECT_EQ(text.find("  thresher "), std::string::npos) << text;
}

}  // namespace
}  // namespace thresher::cli
