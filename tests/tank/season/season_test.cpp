// SPDX-License-Identifier: Apache-2.0
// Seasons with a referee that needs no machine: what they write, in which order, and that a kill at
// any point changes nothing of it.
#include "tank/season/season.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "gemm/random.hpp"
#include "nvfp4/error_message.hpp"
#include "referee/statistics/json.hpp"
#include "tank/child.hpp"
#include "tank/fake_season.hpp"
#include "tank/forecast/forecasts.hpp"
#include "tank/scratch_folder.hpp"
#include "tank/season/seeds_season.hpp"

namespace thresher {
namespace {

using nvfp4::error_message;
using namespace testing;

struct Played {
  ScratchFolder folder;
  Ledger ledger{folder / "ledger.db"};
  FakeMachine machine;
  SeasonSetup setup = fake_setup("s");
  SeasonResult result;

  void play() { result = play_season(ledger, setup, fake_tools(machine)); }
  std::vector<LedgerEntry> entries(const std::string& kind) const {
    return ledger.entries("s", kind);
  }
};

// So many people that they outvote the sharks, and give each pitch these points on everything. The
// best is their pick.
std::vector<Ballot> crowd(const std::map<std::string, double>& points_of_pitch) {
  std::vector<Ballot> ballots;
  for (int person = 0; person < 20; ++person) {
    for (const auto& [pitch, points] : points_of_pitch) {
      ballots.push_back({.shark = fmt::format("person {}", person),
                         .pitch = pitch,
                         .scores = {{"speedup", points},
                                    {"evidence", points},
                                    {"feasibility", points},
                                    {"risk", points}},
                         .forecast = {0.5, 0.0, -0.1, 0.1},
                         .vote = points == kScoreMax,
                         .reason = "seen it"});
    }
  }
  return ballots;
}

// The table of docs/ledger.md: kind to row.
std::map<std::string, std::string> ledger_document() {
  std::ifstream file(THRESHER_SOURCE_DIR "/docs/ledger.md");
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) rows[line.substr(3, line.find('`', 3) - 3)] = line;
  }
  return rows;
}

// Whether `row` has `word`, not as part of another one.
bool names(const std::string& row, const std::string& word) {
  return std::regex_search(row, std::regex("\\b" + word + "\\b"));
}

// Everything about an entry that does not depend on when it was written.
std::vector<std::string> story(const Ledger& ledger) {
  std::vector<std::string> lines;
  for (const LedgerEntry& entry : ledger.entries("s")) {
    lines.push_back(fmt::format("{} {}", entry.kind, entry.data.dump()));
  }
  return lines;
}

TEST(Season, TheFasterPitchBecomesChampion) {
  Played season;
  season.play();
  const auto champions = season.entries("champion");
  ASSERT_EQ(champions.size(), 1u);
  EXPECT_EQ(champions[0].data.at("champion"), "cpu_portable:tile=16x16");
  EXPECT_EQ(champions[0].data.at("previous"), "cpu_portable");
  EXPECT_EQ(season.result.ended_by, "pitches");
  EXPECT_TRUE(season.ledger.audit().ok);
  EXPECT_EQ(season.entries("end").size(), 1u);
}

// Whatever becomes of its file once the match is over.
TEST(Season, TheChampionIsWhoWonTheMatch) {
  Played season;
  SeasonTools tools = fake_tools(season.machine);
  const auto judge = tools.judge;
  tools.judge = [&](const Match& match) {
    MatchRecord record = judge(match);
    record.challenger_hash = "as it played";
    return record;
  };
  season.result = play_season(season.ledger, season.setup, tools);
  ASSERT_FALSE(season.entries("champion").empty());
  EXPECT_EQ(season.entries("champion")[0].data.at("champion_hash"), "as it played");
}

TEST(Season, KnobsAreLaidOverTheNewChampion) {
  Played season;
  season.machine.speed_of_setting = {{"tile=16x16", 1.10}, {"task=128x64", 1.05}};
  season.play();
  std::vector<std::string> names;
  for (const LedgerEntry& entry : season.entries("champion")) {
    names.push_back(entry.data.at("champion"));
  }
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names.back(), "cpu_portable:tile=16x16,task=128x64");
}

TEST(Season, BallotsAreSealedBeforeAnythingIsBuilt) {
  Played season;
  season.play();
  std::set<int> sealed;
  std::map<int, nlohmann::json> ballots;
  for (const LedgerEntry& entry : season.ledger.entries("s")) {
    const int round = entry.data.value("round", 0);
    if (entry.kind == "ballot") {
      EXPECT_FALSE(sealed.contains(round)) << "a ballot after the seal";
      ballots[round].push_back(entry.data);
    }
    if (entry.kind == "seal") {
      sealed.insert(round);
      EXPECT_EQ(entry.data.at("hash"), sha256_hex(ballots[round].dump()));
      EXPECT_EQ(entry.data.at("ballot_count"), ballots[round].size());
    }
    if (entry.kind == "match") {
      EXPECT_TRUE(sealed.contains(round)) << "built before the seal";
    }
  }
  EXPECT_FALSE(sealed.empty());
}

TEST(Season, EveryPanelMemberVotesOnceOnEveryCandidate) {
  Played season;
  season.play();
  std::map<std::string, int> ballots;
  std::map<std::string, int> votes;
  for (const LedgerEntry& entry : season.entries("ballot")) {
    if (entry.data.at("round") != 1) continue;
    ++ballots[entry.data.at("shark")];
    votes[entry.data.at("shark")] += entry.data.at("vote").get<bool>() ? 1 : 0;
    EXPECT_EQ(entry.data.at("scores").size(), 4u);
    EXPECT_FALSE(entry.data.at("reason").get<std::string>().empty());
  }
  ASSERT_EQ(ballots.size(), 4u);
  for (const auto& [shark, count] : ballots) EXPECT_EQ(count, 4) << shark;
  for (const auto& [shark, count] : votes) EXPECT_EQ(count, 1) << shark;
}

TEST(Season, LosersTeachConstraintsThatHangOnTheChampion) {
  Played season;
  season.play();
  const auto lessons = season.entries("constraint");
  ASSERT_FALSE(lessons.empty());
  for (const LedgerEntry& entry : lessons) {
    EXPECT_FALSE(entry.data.at("champion_hash").get<std::string>().empty());
  }
  // Wrong once is out for the season; merely slower comes back against the next champion.
  int wrong = 0;
  for (const LedgerEntry& entry : season.entries("verdict")) {
    wrong += entry.data.at("kind") == "wrong" ? 1 : 0;
  }
  EXPECT_EQ(wrong, 1);
}

// A ceiling belongs to one machine at one moment, and a constraint would outlive it.
TEST(Season, TheSpeedOfLightTeachesNothing) {
  Played season;
  SeasonTools tools = fake_tools(season.machine);
  tools.judge = [](const Match& match) {
    return MatchRecord{.verdict = {.kind = VerdictKind::kInvalid,
                                   .check = "speed_of_light",
                                   .reason = "less than this machine needs at least"},
                       .champion_hash = match.champion.variant,
                       .challenger_hash = match.challenger.variant};
  };
  season.result = play_season(season.ledger, season.setup, tools);
  EXPECT_FALSE(season.entries("verdict").empty());
  EXPECT_TRUE(season.entries("constraint").empty());
}

TEST(Season, NoPitchIsJudgedTwiceAgainstOneChampion) {
  Played season;
  season.play();
  std::set<std::pair<std::string, std::string>> seen;
  for (const LedgerEntry& entry : season.entries("match")) {
    EXPECT_TRUE(seen.emplace(entry.data.at("pitch"), entry.data.at("champion_hash")).second);
  }
  EXPECT_GT(seen.size(), 1u) << "nothing was judged at all";
}

// Knobs are laid over the new champion and may do better there; a whole variant stays what it is.
TEST(Season, WhatStaysTheSameIsNotPlayedAgainAgainstAFasterChampion) {
  Played season;
  season.setup.rules.control_share = 1;
  season.setup.pitches.push_back(
      fake_pitch("whole", 1.2, "variant = \"cpu_portable:task=128x64\""));
  season.play();
  ASSERT_EQ(season.entries("champion").size(), 1u);
  std::map<std::string, int> played;
  for (const LedgerEntry& entry : season.entries("match")) ++played[entry.data.at("pitch")];
  EXPECT_EQ(played["whole"], 1);
  EXPECT_EQ(played["streaming"], 2) << "the same task, as a knob";
}

TEST(Season, AnotherSeasonRemembersTheLosses) {
  Played season;
  season.machine.speed_of_setting = {{"tile=16x16", 0.9}};
  season.play();
  season.setup.rules.season = "t";
  season.play();
  // What it is vetoed by in its first round it cannot have learned itself.
  std::set<std::string> lessons;
  for (const LedgerEntry& entry : season.entries("constraint")) {
    lessons.insert(entry.data.at("id").get<std::string>());
  }
  std::set<std::string> vetoed;
  for (const LedgerEntry& veto : season.ledger.entries("t", "veto")) {
    if (veto.data.at("round") != 1) continue;
    EXPECT_TRUE(lessons.contains(veto.data.at("constraint").get<std::string>())) << veto.data;
    vetoed.insert(veto.data.at("pitch").get<std::string>());
  }
  EXPECT_FALSE(vetoed.empty());
  for (const LedgerEntry& entry : season.ledger.entries("t", "match")) {
    const bool is_first = entry.data.at("round") == 1;
    EXPECT_FALSE(is_first && vetoed.contains(entry.data.at("pitch"))) << entry.data;
  }
}

TEST(Season, ThreeRoundsInVainCallForResearch) {
  Played season;
  season.machine.speed_of_setting = {
      {"tile=16x16", 0.9}, {"task=128x64", 0.8}, {"schedule=sequence", 0.9}, {"task=64x128", 0.9}};
  season.machine.wrong_setting = "none";
  season.setup.rules.tries_max = 1;
  season.setup.rules.control_share = 0;
  season.play();
  ASSERT_EQ(season.entries("round").size(), 4u);
  const auto research = season.entries("research");
  ASSERT_EQ(research.size(), 1u);
  EXPECT_EQ(research[0].data.at("round"), 3);
  EXPECT_EQ(research[0].data.at("findings")[0], "cpu_portable waits for memory");
}

TEST(Season, RunnersUpAreTriedUntilOneIsAccepted) {
  Played season;
  season.setup.rules.control_share = 0;
  season.setup.rules.tries_max = 4;
  season.setup.rounds_max = 1;
  season.setup.votes =
      crowd({{"streaming", 10}, {"other_tasks", 7}, {"in_turn", 4}, {"deeper", 1}});
  season.machine.speed_of_setting = {{"schedule=sequence", 1.2}, {"tile=16x16", 1.2}};
  season.play();
  std::vector<std::pair<std::string, std::string>> tried;
  for (const LedgerEntry& entry : season.entries("verdict")) {
    tried.emplace_back(entry.data.at("pitch"), entry.data.at("kind"));
  }
  EXPECT_EQ(tried,
            (decltype(tried){
                {"streaming", "rejected"}, {"in_turn", "accepted"}, {"other_tasks", "wrong"}}))
      << "what failed in its pilot is put on record at the end";
  EXPECT_EQ(season.entries("round")[0].data.at("outcome"), "accepted");
}

// The people's favourite stays unclear; the next round belongs to those who have not played.
TEST(Season, WhoHasHadAMatchWaitsForThoseWhoHadNone) {
  Played season;
  season.setup.rules.control_share = 0;
  season.setup.rules.tries_max = 2;
  season.setup.rounds_max = 2;
  season.setup.votes = crowd({{"streaming", 10}, {"in_turn", 7}, {"deeper", 1}});
  season.machine.heats_until_clear = {{"task=128x64", 1000}};
  season.machine.speed_of_setting = {{"schedule=sequence", 1.2}, {"tile=16x16", 1.1}};
  season.play();
  const std::vector<LedgerEntry> rounds = season.entries("round");
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0].data.at("winner"), "streaming");
  const nlohmann::json& ranking = rounds[1].data.at("ranking");
  EXPECT_NE(rounds[1].data.at("winner"), "streaming");
  EXPECT_EQ(ranking.back().at("pitch"), "streaming") << ranking;
}

// The winner of the vote loses its match, and all that the vote passed over would have won theirs.
TEST(Season, ControlsAreJudgedButTakeNoTitle) {
  Played season;
  season.setup.rules.control_share = 1;  // every loser is built
  season.setup.rules.tries_max = 1;
  season.setup.rounds_max = 1;
  season.setup.votes =
      crowd({{"other_tasks", 10}, {"streaming", 3}, {"in_turn", 2}, {"deeper", 1}});
  season.machine.wrong_setting = "none";
  season.machine.speed_of_setting = {
      {"tile=16x16", 1.2}, {"task=128x64", 1.2}, {"schedule=sequence", 1.2}, {"task=64x128", 0.9}};
  season.play();
  const nlohmann::json controls = {"streaming", "in_turn", "deeper"};
  const nlohmann::json round = season.entries("round").at(0).data;
  EXPECT_EQ(round.at("winner"), "other_tasks");
  EXPECT_EQ(round.at("outcome"), "rejected");
  EXPECT_EQ(round.at("controls"), controls);
  for (const LedgerEntry& entry : season.entries("verdict")) {
    const bool is_control = entry.data.at("pitch") != "other_tasks";
    EXPECT_EQ(entry.data.at("control"), is_control) << entry.data;
    EXPECT_EQ(entry.data.at("kind"), is_control ? "accepted" : "rejected") << entry.data;
  }
  EXPECT_EQ(season.entries("verdict").size(), 4u);
  EXPECT_TRUE(season.entries("champion").empty());
}

TEST(Season, CredibilityMovesToTheSharkThatSawIt) {
  Played season;
  season.play();
  const auto entries = season.entries("credibility");
  ASSERT_FALSE(entries.empty());
  const auto& weights = entries.back().data.at("weights");
  double sum = 0;
  for (const auto& [shark, weight] : weights.items()) sum += weight.get<double>();
  EXPECT_NEAR(sum, 1, 1e-9);
  // Its pilot is the truth here.
  for (const auto& [shark, weight] : weights.items()) {
    EXPECT_LE(weight.get<double>(), weights.at("Oracle").get<double>()) << shark;
  }
  EXPECT_EQ(last_credibilities(season.ledger), weights.get<Credibilities>());
}

TEST(Season, VotesFromFilesCount) {
  Played season;
  season.setup.rounds_max = 1;
  season.setup.votes = crowd({{"deeper", 0}, {"streaming", 0}, {"in_turn", 10}});
  season.play();
  int ballots = 0;
  for (const LedgerEntry& entry : season.entries("ballot")) {
    ballots += entry.data.at("shark") == "person 7" ? 1 : 0;
  }
  EXPECT_EQ(ballots, 3);
  EXPECT_EQ(season.entries("round")[0].data.at("winner"), "in_turn");
  EXPECT_TRUE(season.entries("credibility").back().data.at("weights").contains("person 7"));
}

TEST(Season, EndsWhenItsTimeIsOver) {
  Played season;
  season.setup.seconds_max = 15;
  season.machine.wrong_setting = "none";
  season.setup.rules.tries_max = 1;
  season.setup.rules.control_share = 0;
  season.play();
  EXPECT_EQ(season.result.ended_by, "time");
  EXPECT_EQ(season.result.rounds_played, 2);
}

// One pitch that wins once it has been given its heats, in a season that has time for them.
struct UnclearAtFirst : Played {
  UnclearAtFirst() {
    setup.rules.control_share = 0;
    machine.heats_until_clear = {{"tile=16x16", 18}};
  }
};

TEST(Season, AnUnclearPitchGoesOnWithItsHeatsUntilItIsDecided) {
  UnclearAtFirst season;
  season.play();
  std::vector<std::int64_t> ids;
  std::vector<int> heats;
  for (const LedgerEntry& entry : season.entries("match")) {
    if (entry.data.at("pitch") != "deeper") continue;
    if (ids.empty()) {
      EXPECT_FALSE(entry.data.contains("continues"));
    } else {
      EXPECT_EQ(entry.data.at("continues"), ids.back());
      EXPECT_EQ(entry.data.at("earlier_heats"), heats.back());
      EXPECT_EQ(entry.data.at("round"), 1);
    }
    ids.push_back(entry.id);
    heats.push_back(static_cast<int>(entry.data.at("samples").get<MatchSamples>().heats.size()));
  }
  EXPECT_EQ(heats, (std::vector{5, 10, 15, 20}));
  ASSERT_EQ(season.entries("champion").size(), 1u);
  EXPECT_EQ(season.entries("champion")[0].data.at("pitch"), "deeper");
  EXPECT_EQ(season.result.ended_by, "pitches");
  // The others get their chance against the new champion.
  EXPECT_GT(season.entries("round").size(), 1u);
}

TEST(Season, WhatIsNearlyDecidedGoesOnBeforeTheNextRound) {
  UnclearAtFirst season;
  season.machine.heats_until_clear = {{"tile=16x16", 8}};
  season.play();
  const std::vector<LedgerEntry> matches = season.entries("match");
  const auto goes_on = std::find_if(matches.begin(), matches.end(), [](const LedgerEntry& entry) {
    return entry.data.contains("continues");
  });
  ASSERT_NE(goes_on, matches.end());
  EXPECT_EQ(goes_on->data.at("pitch"), "deeper");
  EXPECT_TRUE(std::all_of(matches.begin(), goes_on,
                          [](const LedgerEntry& entry) { return entry.data.at("round") == 1; }));
}

TEST(Season, OvertimeEndsWithTheSeasonsTime) {
  UnclearAtFirst season;
  season.machine.heats_until_clear = {{"tile=16x16", 30}};
  season.setup.seconds_max = 75;
  season.play();
  EXPECT_EQ(season.result.ended_by, "time");
  EXPECT_LE(season.machine.seconds, 75 + 5)
      << "a stretch has no more time than the season has left";
  EXPECT_EQ(season.entries("end")[0].data.at("reason"), "time");
}

TEST(Season, WhatCannotBeAcceptedAnyMoreIsNotContinued) {
  UnclearAtFirst season;
  season.machine.speed_of_setting["tile=16x16"] = 0.9;  // at most 0.945x
  season.play();
  for (const LedgerEntry& entry : season.entries("match")) {
    EXPECT_FALSE(entry.data.contains("continues")) << entry.data;
  }
  EXPECT_EQ(season.result.ended_by, "pitches");
}

// How many heats it needs is a guess from few of them: no reason to leave time unused.
TEST(Season, TheTimeOfASeasonIsUsed) {
  UnclearAtFirst season;
  season.machine.heats_until_clear = {{"tile=16x16", 900}};
  season.setup.seconds_max = 200;
  season.play();
  EXPECT_GE(season.machine.seconds, 200);
  EXPECT_EQ(season.result.ended_by, "time");
}

TEST(Season, TheMatchThatIsDecidedSoonestGoesOnFirst) {
  Played season;
  season.setup.rules.control_share = 0;
  season.setup.rules.tries_max = 4;
  season.machine.speed_of_setting = {{"tile=16x16", 1.1}, {"schedule=sequence", 1.1}};
  season.machine.heats_until_clear = {{"tile=16x16", 18}, {"schedule=sequence", 8}};
  season.play();
  for (const LedgerEntry& entry : season.entries("match")) {
    if (!entry.data.contains("continues")) continue;
    EXPECT_EQ(entry.data.at("pitch"), "in_turn");
    break;
  }
  EXPECT_EQ(season.entries("champion").at(0).data.at("pitch"), "in_turn");
}

TEST(Season, AChangedProgramDoesNotGoOnWithTheHeatsOfTheOld) {
  UnclearAtFirst season;
  season.setup.seconds_max = 30;
  season.play();
  ASSERT_EQ(season.result.ended_by, "time");
  SeasonTools tools = fake_tools(season.machine);
  tools.hash = [](const Contestant& one) { return sha256_hex("rebuilt" + one.name); };
  std::vector<std::string> said;
  tools.announce = [&](const std::string& what) { said.push_back(what); };
  season.setup.extension_seconds = 100;
  play_season(season.ledger, season.setup, tools);
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const std::string& line) {
    return line.starts_with("deeper: cannot go on, the program has changed");
  }));
}

TEST(Season, AnExtensionReopensASeasonThatRanOutOfTime) {
  UnclearAtFirst season;
  season.setup.seconds_max = 30;
  season.play();
  ASSERT_EQ(season.result.ended_by, "time");
  ASSERT_TRUE(season.entries("champion").empty());
  season.setup.extension_seconds = 1000;
  season.play();
  ASSERT_EQ(season.entries("champion").size(), 1u);
  EXPECT_EQ(season.entries("extension").size(), 1u);
  EXPECT_EQ(season.entries("end").size(), 2u);
  EXPECT_TRUE(read_season(season.ledger, "s").has_ended);
}

TEST(Season, TheSeedsNameIsReserved) {
  Played season;
  season.setup.rules.season = "seeds";
  EXPECT_EQ(error_message([&] { season.play(); }),
            "'seeds' is the season that ships with the program, reported by others; give yours "
            "another name");
  EXPECT_TRUE(season.ledger.entries().empty());
}

// Its author promises most of all, and the people are for it; the pilot has seen that it is wrong.
TEST(Season, WhatFailedInItsPilotIsBuiltLastAndPutOnRecord) {
  Played season;
  season.setup.rules.control_share = 0;
  season.setup.rules.tries_max = 1;
  season.setup.rounds_max = 1;
  season.setup.votes = crowd({{"other_tasks", 10}, {"deeper", 5}, {"streaming", 4}});
  season.play();
  const nlohmann::json round = season.entries("round").at(0).data;
  EXPECT_EQ(round.at("winner"), "deeper");
  EXPECT_EQ(round.at("ranking").back().at("pitch"), "other_tasks");
  EXPECT_EQ(round.at("controls"), nlohmann::json::array({"other_tasks"}));
}

TEST(Season, AnEndedSeasonIsClosedAndAnOpenOneGoesOn) {
  Played season;
  season.setup.stays_open = true;
  season.setup.rounds_max = 1;
  season.play();
  EXPECT_EQ(unfinished_season(season.ledger), "s");
  season.setup.stays_open = false;
  season.setup.rounds_max = 0;
  season.play();
  EXPECT_EQ(unfinished_season(season.ledger), "");
  EXPECT_EQ(error_message([&] { season.play(); }),
            "season 's' has ended; choose another name, or go on with --more SECONDS");
}

TEST(Season, TwoPitchesOfOneNameAreRefused) {
  Played season;
  season.setup.pitches.push_back(fake_pitch("deeper", 1.7, "knobs = {tile = \"8x16\"}"));
  EXPECT_EQ(error_message([&] { season.play(); }),
            "season 's' has another pitch called 'deeper'; give this one a name of its own");
}

TEST(Season, BallotsChangedAfterTheSealAreNoticed) {
  Played season;
  season.setup.stays_open = true;
  season.setup.rounds_max = 1;
  season.play();
  // A ballot that comes late, under a round that is still open.
  SeasonRecord record = read_season(season.ledger, "s");
  nlohmann::json ballot = season.entries("ballot")[0].data;
  ballot["round"] = record.current_round();
  season.ledger.append("s", "ballot", "measured", ballot);
  season.ledger.append("s", "seal", "measured",
                       {{"round", record.current_round()}, {"hash", "no"}, {"ballot_count", 1}});
  EXPECT_NE(error_message([&] { season.play(); }).find("not those that were sealed"),
            std::string::npos);
}

// docs/ledger.md has a row for every kind, with the names of its fields.
TEST(Season, WritesNothingThatTheDocumentLeavesOut) {
  Played season;
  season.setup.rules.season = "u";  // where two go on together
  season.setup.rules.jobs = 4;
  season.machine.heats_until_clear = {{"tile=16x16", 12}, {"schedule=sequence", 12}};
  season.machine.speed_of_setting["schedule=sequence"] = 1.05;
  season.machine.slack_of_unclear = 0.2;
  season.play();
  season.machine = {};
  season.setup = fake_setup("s");
  season.setup.rules.rounds_until_research = 1;
  season.setup.seconds_max = 40;
  season.machine.heats_until_clear = {{"tile=16x16", 12}};
  season.play();
  season.setup.extension_seconds = 1e6;
  season.play();
  season.setup.extension_seconds = 0;
  season.setup.rules.season = "t";  // where the first one's losers are vetoed
  season.play();
  import_seeds_season(season.ledger);
  append_forecasts(season.ledger, "t", shipped_forecasts());
  const std::map<std::string, std::string> rows = ledger_document();
  std::set<std::string> written;
  for (const LedgerEntry& entry : season.ledger.entries()) {
    written.insert(entry.kind);
    const bool is_imported = entry.kind == "sheet" || entry.kind == "time";
    if (entry.source == "reported" && !is_imported) continue;
    for (const auto& item : entry.data.items()) {
      if (item.key() == "document") continue;
      EXPECT_TRUE(names(rows.at(entry.kind), item.key())) << entry.kind << ": " << item.key();
    }
  }
  EXPECT_EQ(written.size(), rows.size()) << "a kind that nobody writes";
}

// A judge that dies with its process at a given call, and a ledger that dies at a given append, are
// both the same to the next process: it finds what was appended and nothing else.
TEST(Season, GoesOnAfterAKillAsIfNothingHadHappened) {
  Played whole;
  whole.play();
  const std::vector<std::string> expected = story(whole.ledger);

  const std::uint64_t seed = 2026;
  Random random(seed);
  for (int trial = 0; trial < 12; ++trial) {
    ScratchFolder folder;
    const std::filesystem::path path = folder / "ledger.db";
    int kills = 0;
    bool done = false;
    while (!done) {
      // Dies after so many steps. Going on costs steps too, so the limit grows.
      const int steps = 1 + static_cast<int>(random.below(20 + static_cast<std::uint64_t>(kills)));
      const Child child([&](int fd) {
        Ledger ledger(path);
        FakeMachine machine;
        SeasonTools tools = fake_tools(machine);
        int left = steps;
        const auto step = [&] {
          if (--left == 0) ::kill(getpid(), SIGKILL);
        };
        tools.report = [&](const std::string&) { step(); };
        tools.judge = [&](const Match& match) {
          step();
          MatchRecord record = machine.judge(match);
          step();
          return record;
        };
        tools.hash = [&, plain = tools.hash](const Contestant& one) {
          step();
          return plain(one);
        };
        play_season(ledger, fake_setup("s"), tools);
        write_all(fd, "done");
      });
      done = child.output() == "done";
      kills += done ? 0 : 1;
      ASSERT_LT(kills, 500) << "seed " << seed;
    }
    Ledger ledger(path);
    EXPECT_TRUE(ledger.audit().ok);
    EXPECT_EQ(story(ledger), expected)
        << "seed " << seed << ", trial " << trial << ", " << kills << " kills";
  }
}

// The kill that no step announces: between any two appends.
class SeasonOfJobs : public ::testing::TestWithParam<int> {};

TEST_P(SeasonOfJobs, GoesOnFromEveryPrefixOfItsLedger) {
  const auto prepare = [](Played& season) {
    season.setup.rules.jobs = GetParam();
    season.machine.heats_until_clear = {{"tile=16x16", 12}, {"schedule=sequence", 12}};
    season.machine.speed_of_setting["schedule=sequence"] = 1.05;
    season.machine.slack_of_unclear = 0.2;
  };
  Played whole;
  prepare(whole);
  whole.play();
  const std::vector<LedgerEntry> entries = whole.ledger.entries("s");
  const std::vector<std::string> expected = story(whole.ledger);
  ASSERT_TRUE(std::any_of(entries.begin(), entries.end(), [](const LedgerEntry& entry) {
    return entry.data.contains("continues");
  }));
  EXPECT_EQ(whole.entries("overtime").empty(), GetParam() == 1);
  for (std::size_t count = 0; count < entries.size(); ++count) {
    Played part;
    prepare(part);
    for (std::size_t i = 0; i < count; ++i) {
      part.ledger.append("s", entries[i].kind, "measured", entries[i].data);
    }
    part.play();
    ASSERT_EQ(story(part.ledger), expected) << "killed after " << count << " entries";
  }
}

INSTANTIATE_TEST_SUITE_P(Jobs, SeasonOfJobs, ::testing::Values(1, 3));

// Both would win; the vote decides who does, and the other has to beat the new champion.
TEST(Season, MatchesBegunTogetherMeetOneChampionAndMakeOne) {
  Played season;
  season.machine.speed_of_setting = {{"tile=16x16", 1.10}, {"task=128x64", 1.05}};
  season.setup.rules.jobs = 4;
  season.play();
  std::map<int, std::vector<std::string>> accepted;
  for (const LedgerEntry& entry : season.entries("verdict")) {
    if (entry.data.at("kind") != "accepted") continue;
    accepted[entry.data.at("round")].push_back(entry.data.at("pitch"));
  }
  ASSERT_EQ(accepted[1].size(), 2u);
  const auto champions = season.entries("champion");
  ASSERT_EQ(champions.size(), 2u);
  EXPECT_EQ(champions[0].data.at("pitch"), accepted[1].front());
  EXPECT_EQ(champions[1].data.at("pitch"), accepted[1].back());
  EXPECT_EQ(champions[1].data.at("champion"), "cpu_portable:tile=16x16,task=128x64");
  const std::string first_champion = season.entries("season")[0].data.at("champion_hash");
  for (const LedgerEntry& entry : season.entries("match")) {
    const bool is_first_round = entry.data.at("round") == 1;
    EXPECT_EQ(entry.data.at("champion_hash") == first_champion, is_first_round);
  }
}

// Many machines are asked for the same matches, and the ledger does not show who was ready first.
TEST(Season, ManyMachinesWriteTheSeasonThatOneWrites) {
  Played here;
  here.setup.rules.jobs = 3;
  here.play();
  Played there;
  there.setup.rules.jobs = 3;
  SeasonTools tools = fake_tools(there.machine);
  std::set<std::string> ids;
  tools.judge = [](const Match&) -> MatchRecord { throw Error("nothing is played here"); };
  tools.play_all = [&](const std::vector<MatchOrder>& orders, const TakeReport& take) {
    EXPECT_LE(orders.size(), 3u);
    std::vector<MatchReport> reports(orders.size());
    for (std::size_t i = orders.size(); i-- > 0;) {
      EXPECT_TRUE(ids.insert(orders[i].id).second) << orders[i].id << " is asked for twice";
      reports[i].record = there.machine.judge(orders[i].match);
    }
    for (std::size_t i = 0; i < orders.size(); ++i) take(i, reports[i]);
  };
  play_season(there.ledger, there.setup, tools);
  EXPECT_EQ(story(there.ledger), story(here.ledger));
}

// What four machines played in ten seconds took ten seconds.
TEST(Season, TimeOfMatchesPlayedTogetherIsCountedOnce) {
  Played season;
  season.setup.rules.jobs = 2;
  season.setup.stays_open = true;
  SeasonTools tools = fake_tools(season.machine);
  tools.play_all = [&](const std::vector<MatchOrder>& orders, const TakeReport& take) {
    for (std::size_t i = 0; i < orders.size(); ++i) {
      take(i, {.record = season.machine.judge(orders[i].match),
               .machine = {{"node", "n1"}, {"class", "a machine"}, {"job", "1_0"}, {"restarts", 0}},
               .together = static_cast<int>(orders.size())});
    }
  };
  play_season(season.ledger, season.setup, tools);
  double expected = 0;
  for (const LedgerEntry& entry : season.entries("match")) {
    expected += entry.data.at("seconds").get<double>() / entry.data.value("together", 1);
  }
  const SeasonRecord record = read_season(season.ledger, "s");
  EXPECT_DOUBLE_EQ(record.match_seconds, expected);
  EXPECT_EQ(record.rounds.at(1).matches.front().machine_class, "a machine");
}

}  // namespace
}  // namespace thresher
