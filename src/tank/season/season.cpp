// SPDX-License-Identifier: Apache-2.0
#include "tank/season/season.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "digest/sha256.hpp"
#include "engine/backends.hpp"
#include "referee/statistics/json.hpp"
#include "tank/forecast/forecasts.hpp"
#include "tank/season/overtime.hpp"
#include "tank/season/round.hpp"
#include "tank/season/seeds_season.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

class SeasonPlayer {
 public:
  SeasonPlayer(Ledger& ledger, const SeasonSetup& setup, const SeasonTools& tools)
      : setup_(setup),
        tools_(tools),
        log_{ledger, setup.rules.season, read_season(ledger, setup.rules.season)} {}

  SeasonResult play() {
    start();
    enter_forecasts();
    enter_pitches();
    const double deadline = tools_.seconds_now() + seconds_left();
    RoundPlayer player(log_, setup_.rules, tools_, setup_.votes);
    player.settle_overtime(deadline);
    SeasonResult result;
    while (result.ended_by.empty()) {
      research_if_stuck();
      const bool may_vote = setup_.rounds_max == 0 || result.rounds_played < setup_.rounds_max;
      if (tools_.seconds_now() >= deadline && is_between_rounds()) {
        result.ended_by = "time";
      } else if (player.play_nearly_decided(deadline)) {
        // Heats that are kept decide more for their time than somebody new's first ones.
      } else if (may_vote && player.play(deadline)) {
        ++result.rounds_played;
      } else if (!player.play_overtime(deadline)) {
        result.ended_by = end_reason(may_vote);
      }
    }
    research_if_stuck();
    if (!setup_.stays_open) end(result);
    return result;
  }

 private:
  void start() {
    check_season_name(log_.season);
    if (log_.record.has_ended && setup_.extension_seconds == 0) {
      throw Error(fmt::format(
          "season '{}' has ended; choose another name, or go on with --more SECONDS", log_.season));
    }
    if (log_.record.has_started && setup_.extension_seconds > 0) {
      log_.append("extension", {{"seconds", setup_.extension_seconds}});
    }
    if (log_.record.has_started) return;
    if (!log_.ledger.entries(log_.season).empty()) {
      throw Error(
          fmt::format("season '{}' has entries but no start; choose another name", log_.season));
    }
    Json environment = setup_.environment;
    environment["rates"] = rates_to_json(setup_.rates);
    environment["champion_us"] = setup_.champion_us;
    if (setup_.limits) environment["gpu"] = limits_to_json(*setup_.limits);
    log_.append("season", {{"name", log_.season},
                           {"suite", setup_.rules.suite.name},
                           {"backend", setup_.rules.backend},
                           {"threads", setup_.rules.match.thread_count},
                           {"rubric", setup_.rules.rubric},
                           {"terms", setup_.rules.terms},
                           {"environment", std::move(environment)},
                           {"champion", setup_.champion.name},
                           {"champion_hash", tools_.hash(setup_.champion)},
                           {"contestant", contestant_to_json(setup_.champion)},
                           {"knobs", resolved_knobs(setup_.champion)},
                           {"credibilities", last_credibilities(log_.ledger)},
                           {"seconds", setup_.seconds_max},
                           {"seed", setup_.seed}});
  }

  // Before anything is measured on such a device, what was foretold of it.
  void enter_forecasts() {
    const SeasonRecord& record = log_.record;
    if (!record.start.at("environment").contains("gpu") || !is_forecast(record.limits)) return;
    if (!record.rounds.empty()) return;
    append_forecasts(log_.ledger, log_.season, shipped_forecasts());
  }

  void enter_pitches() {
    for (const Pitch& pitch : setup_.pitches) {
      const auto known = std::find_if(log_.record.pitches.begin(), log_.record.pitches.end(),
                                      [&](const Pitch& one) { return one.name == pitch.name; });
      if (known == log_.record.pitches.end()) {
        Json data = pitch_entry(pitch);
        data["contestant"]["folder"] = recorded_folder(pitch.contestant.folder);
        log_.append("pitch", data);
      } else if (known->source_text != pitch.source_text) {
        throw Error(
            fmt::format("season '{}' has another pitch called '{}'; give this one a name "
                        "of its own",
                        log_.season, pitch.name));
      }
    }
  }

  // What earlier matches took is spent, whichever process played them. A season that stays open has
  // its time for every call.
  double seconds_left() const {
    if (setup_.extension_seconds > 0) return setup_.extension_seconds;
    return setup_.seconds_max - (setup_.stays_open ? 0 : log_.record.match_seconds);
  }

  // A season has at least one round, and a round that has begun is played to its end.
  bool is_between_rounds() const {
    const std::map<int, RoundRecord>& rounds = log_.record.rounds;
    return !rounds.empty() && rounds.rbegin()->second.is_finished;
  }

  // What is open now cannot go on here: the program has changed since.
  std::string end_reason(bool may_vote) const {
    if (!open_matches(log_.record, setup_.rules.terms).empty()) return "time";
    return may_vote ? "pitches" : "rounds";
  }

  // Another guess is worth less than a look at where the time goes.
  void research_if_stuck() {
    const SeasonRecord& record = log_.record;
    if (record.fruitless_rounds < setup_.rules.rounds_until_research) return;
    tools_.report("research: where the champion's time goes");
    log_.append("research", {{"round", record.current_round() - 1},
                             {"findings", tools_.research(record.champion)}});
  }

  void end(const SeasonResult& result) {
    log_.append("end", {{"reason", result.ended_by},
                        {"round_count", log_.record.rounds.size()},
                        {"match_seconds", log_.record.match_seconds}});
  }

  const SeasonSetup& setup_;
  const SeasonTools& tools_;
  SeasonLog log_;
};

}  // namespace

void play_matches(const SeasonTools& tools, const std::vector<MatchOrder>& orders,
                  const TakeReport& take) {
  if (tools.play_all) return tools.play_all(orders, take);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    take(i, {.record = tools.judge(orders[i].match)});
  }
}

// Fit for the name of a file; its first words are for people.
std::string match_id(const MatchName& name) {
  constexpr std::size_t kDigits = 16;
  const std::string text = fmt::format("{}\n{}\n{}\n{}\n{}", name.round, name.pitch, name.stage,
                                       name.champion_hash, name.challenger_hash);
  return fmt::format("{}-{}-{}", name.round, name.pitch, sha256_hex(text).substr(0, kDigits));
}

Contestant baseline(const Backend& backend) { return variant_named(backend.baseline()); }

KnobValues resolved_knobs(const Contestant& contestant) {
  if (contestant.kind != ContestantKind::kVariant || contestant.variant.empty()) return {};
  return backend_of_variant(contestant.variant).knobs_of(contestant.variant);
}

void check_season_name(const std::string& name) {
  if (name != kSeedsSeason) return;
  throw Error(
      fmt::format("'{}' is the season that ships with the program, reported by others; "
                  "give yours another name",
                  name));
}

SeasonResult play_season(Ledger& ledger, const SeasonSetup& setup, const SeasonTools& tools) {
  return SeasonPlayer(ledger, setup, tools).play();
}

std::string unfinished_season(const Ledger& ledger) {
  std::string open;
  for (const LedgerEntry& entry : ledger.entries({}, "season")) {
    if (entry.source != "measured") continue;
    if (ledger.entries(entry.season, "end").empty()) open = entry.season;
  }
  return open;
}

Credibilities last_credibilities(const Ledger& ledger) {
  Credibilities last;
  for (const LedgerEntry& entry : ledger.entries({}, "credibility")) {
    if (entry.source == "measured") entry.data.at("weights").get_to(last);
  }
  return last;
}

}  // namespace thresher
