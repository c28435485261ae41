// SPDX-License-Identifier: Apache-2.0
#include "tank/season/season_record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "referee/statistics/json.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

std::filesystem::path folder_from_record(const std::string& text) {
  if (text.empty()) return {};
  return (std::filesystem::current_path() / text).lexically_normal();
}

Pitch pitch_from(const Json& data) {
  const std::string text = data.at("text");
  const std::string name = data.at("name");
  const std::string folder = data.at("contestant").value("folder", "");
  return parse_pitch(text, name, {.folder = folder_from_record(folder), .stem = name});
}

}  // namespace

std::string recorded_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return {};
  const std::filesystem::path here = std::filesystem::current_path();
  const std::filesystem::path relative = folder.lexically_relative(here);
  const bool inside = !relative.empty() && *relative.begin() != "..";
  return inside ? relative.string() : folder.string();
}

nlohmann::json contestant_to_json(const Contestant& contestant) {
  Json json{{"kind", to_string(contestant.kind)}, {"name", contestant.name},
            {"variant", contestant.variant},      {"source", contestant.source.string()},
            {"command", contestant.command},      {"folder", recorded_folder(contestant.folder)},
            {"backend", contestant.backend}};
  if (contestant.kind == ContestantKind::kCuda) json["launches"] = to_text(contestant.launches);
  return json;
}

Contestant contestant_from_json(const Json& json) {
  Contestant contestant{.name = json.at("name"),
                        .variant = json.at("variant"),
                        .source = json.at("source").get<std::string>(),
                        .command = json.at("command"),
                        .folder = folder_from_record(json.at("folder").get<std::string>()),
                        .backend = json.value("backend", "cpu")};
  const std::string kind = json.at("kind");
  for (const ContestantKind one : {ContestantKind::kVariant, ContestantKind::kLibrary,
                                   ContestantKind::kCommand, ContestantKind::kCuda}) {
    if (kind == to_string(one)) contestant.kind = one;
  }
  if (contestant.kind == ContestantKind::kCuda) {
    contestant.launches = cuda_launches_from_text(json.at("launches").get<std::string>());
  }
  return contestant;
}

nlohmann::json rates_to_json(const MachineRates& rates) {
  return {{"read_gb_per_s", rates.read_gb_per_s},
          {"nvfp4_gop_per_s", rates.nvfp4_gop_per_s},
          {"fp16_gop_per_s", rates.fp16_gop_per_s},
          {"bf16_gop_per_s", rates.bf16_gop_per_s}};
}

MachineRates rates_from_json(const nlohmann::json& json) {
  return {.read_gb_per_s = json.at("read_gb_per_s"),
          .nvfp4_gop_per_s = json.at("nvfp4_gop_per_s"),
          .fp16_gop_per_s = json.at("fp16_gop_per_s"),
          .bf16_gop_per_s = json.at("bf16_gop_per_s")};
}

nlohmann::json limits_to_json(const SmLimits& limits) {
  return {{"compute_capability", limits.compute_capability},
          {"sm_count", limits.sm_count},
          {"shared_bytes_per_block", limits.shared_bytes_per_block},
          {"shared_bytes_per_sm", limits.shared_bytes_per_sm}};
}

SmLimits limits_from_json(const nlohmann::json& json) {
  return {.compute_capability = json.value("compute_capability", SmLimits{}.compute_capability),
          .sm_count = json.at("sm_count"),
          .shared_bytes_per_block = json.at("shared_bytes_per_block"),
          .shared_bytes_per_sm = json.at("shared_bytes_per_sm")};
}

const PlayedMatch* RoundRecord::match_of(const std::string& pitch) const {
  const auto found = std::find_if(matches.begin(), matches.end(),
                                  [&](const PlayedMatch& match) { return match.pitch == pitch; });
  return found == matches.end() ? nullptr : &*found;
}

bool RoundRecord::pilot_failed(const std::string& pitch) const {
  return std::any_of(ballots.begin(), ballots.end(), [&](const Ballot& ballot) {
    return ballot.pitch == pitch && ballot.pilot_failed;
  });
}

const Pitch& SeasonRecord::pitch(const std::string& name) const {
  const auto found = std::find_if(pitches.begin(), pitches.end(),
                                  [&](const Pitch& one) { return one.name == name; });
  if (found == pitches.end()) throw Error(fmt::format("the season has no pitch '{}'", name));
  return *found;
}

int SeasonRecord::current_round() const {
  if (rounds.empty()) return 1;
  const auto& [number, last] = *rounds.rbegin();
  return last.is_finished ? number + 1 : number;
}

RoundRecord& SeasonRecord::round_of(const Json& data) {
  const auto [found, is_new] = rounds.try_emplace(data.at("round").get<int>());
  if (is_new) {
    found->second.champion = champion;
    found->second.champion_hash = champion_hash;
    found->second.credibilities = credibilities;
  }
  return found->second;
}

void SeasonRecord::apply_start(const Json& data) {
  has_started = true;
  start = data;
  seed = data.at("seed");
  champion = contestant_from_json(data.at("contestant"));
  champion_hash = data.at("champion_hash");
  const Json& environment = data.at("environment");
  rates = rates_from_json(environment.at("rates"));
  if (environment.contains("gpu")) limits = limits_from_json(environment.at("gpu"));
  environment.at("champion_us").get_to(champion_us);
  data.at("credibilities").get_to(credibilities);
  seconds_max = number_field(data, "seconds");
}

void SeasonRecord::apply_match(const LedgerEntry& entry, RoundRecord& round) {
  const Json& data = entry.data;
  PlayedMatch match{.entry = entry.id,
                    .pitch = data.at("pitch"),
                    .control = data.at("control"),
                    .champion_hash = data.at("champion_hash"),
                    .challenger_hash = text_field(data, "challenger_hash"),
                    .verdict = data.at("verdict").get<Verdict>(),
                    .seconds = data.at("seconds").get<double>(),
                    .machine_class = text_field(field(data, "machine"), "class")};
  match_seconds += match.seconds / std::max(1.0, number_field(data, "together").value_or(1));
  if (match.verdict.kind == VerdictKind::kUnclear) data.at("samples").get_to(match.samples);
  if (match.verdict.estimate && match.champion_hash == champion_hash) {
    for (const ProblemEstimate& problem : match.verdict.estimate->problems) {
      champion_us[problem.problem] = problem.champion_us;
    }
  }
  const std::optional<double> continues = number_field(data, "continues");
  if (!continues) return round.matches.push_back(std::move(match));
  add_stretch(std::move(match), static_cast<std::int64_t>(*continues), round);
}

void SeasonRecord::add_stretch(PlayedMatch stretch, std::int64_t continues, RoundRecord& round) {
  for (PlayedMatch& match : round.matches) {
    if (match.entry != continues) continue;
    std::erase_if(overtime, [&](const auto& one) { return one.second == match.pitch; });
    stretch.seconds += match.seconds;
    stretch.stretch_count += match.stretch_count;
    match = std::move(stretch);
    return;
  }
  throw Error(fmt::format("it goes on with entry {}, which is no match of its round", continues));
}

void SeasonRecord::apply_champion(const Json& data, RoundRecord& round) {
  const PlayedMatch* match = round.match_of(data.at("pitch"));
  if (match == nullptr) throw Error("a champion without a match");
  champion = contestant_against(pitch(match->pitch), round.champion);
  champion_hash = data.at("champion_hash");
  champion_us.clear();
  if (match->verdict.estimate) {
    for (const ProblemEstimate& problem : match->verdict.estimate->problems) {
      champion_us[problem.problem] = problem.challenger_us;
    }
  }
  round.has_new_champion = true;
  fruitless_rounds = 0;
}

void SeasonRecord::apply_data(const LedgerEntry& entry) {
  const Json& data = entry.data;
  if (entry.source == "predicted") return;  // nothing of a season happens by it
  if (entry.kind == "season") return apply_start(data);
  if (entry.kind == "pitch") return pitches.push_back(pitch_from(data));
  if (entry.kind == "constraint") {
    // Learned in the round that is being played.
    if (!rounds.empty()) rounds.rbegin()->second.lessons.insert(data.at("id").get<std::string>());
    return;
  }
  if (entry.kind == "end") {
    has_ended = true;
    return;
  }
  if (entry.kind == "extension") {
    has_ended = false;
    seconds_max = match_seconds + data.at("seconds").get<double>();
    return;
  }
  if (entry.kind == "overtime") {
    for (const Json& one : data.at("matches"))
      overtime.emplace_back(one.at("round"), one.at("pitch"));
    return;
  }
  if (entry.kind == "veto") {
    vetoes[data.at("pitch")] = data.at("constraint");
    return;
  }
  if (entry.kind == "research") {
    fruitless_rounds = 0;
    return;
  }
  RoundRecord& round = round_of(data);
  if (entry.kind == "ballot") {
    round.ballots.push_back(data.get<Ballot>());
    round.sealed_text.push_back(data);
  } else if (entry.kind == "seal") {
    round.seal = data.at("hash");
  } else if (entry.kind == "match") {
    apply_match(entry, round);
  } else if (entry.kind == "verdict") {
    for (PlayedMatch& match : round.matches) {
      if (match.entry == data.at("match")) match.verdict_entry = entry.id;
    }
  } else if (entry.kind == "champion") {
    apply_champion(data, round);
  } else if (entry.kind == "credibility") {
    data.at("weights").get_to(credibilities);
    round.is_scored = true;
  } else if (entry.kind == "round") {
    round.is_finished = true;
    fruitless_rounds = round.has_new_champion ? 0 : fruitless_rounds + 1;
  }
}

void SeasonRecord::apply(const LedgerEntry& entry) {
  try {
    apply_data(entry);
  } catch (const std::exception& error) {
    throw Error(fmt::format("ledger entry {} ({}): {}", entry.id, entry.kind, error.what()));
  }
}

SeasonRecord read_season(const Ledger& ledger, const std::string& season) {
  SeasonRecord record;
  for (const LedgerEntry& entry : ledger.entries(season)) record.apply(entry);
  return record;
}

}  // namespace thresher
