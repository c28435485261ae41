// SPDX-License-Identifier: Apache-2.0
// What a shark says of a pitch: scores, a forecast that can be scored, a vote, a reason.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace thresher {

// Weights of the rubric's dimensions, summing to 1. Data, not code: rounds may differ.
struct Rubric {
  std::string name;
  std::map<std::string, double> weights;  // "speedup", "feasibility", "risk", "pitch", "evidence"
};

// The rubrics of the seeds, by name. Throws Error listing the names.
Rubric rubric_by_name(std::string_view name);
std::vector<std::string> rubric_names();
inline constexpr const char* kDefaultRubric = "round_2";

struct Forecast {
  double p_works = 0.5;           // P(builds, is right, is accepted)
  double log_speedup_median = 0;  // of ln(geomean speedup), given that it builds and is right
  double log_speedup_low = 0;     // 10 % quantile
  double log_speedup_high = 0;    // 90 % quantile
};

struct Ballot {
  std::string shark;
  std::string pitch;
  std::map<std::string, double> scores;  // 0..10 per dimension of the rubric
  Forecast forecast;
  bool vote = false;   // this shark's pick of the round
  std::string reason;  // one sentence
  // The shark has run the contestant, and it was wrong or did not run: not an opinion but a fact.
  bool pilot_failed = false;
};

inline constexpr double kScoreMax = 10;

// Throws Error when a dimension of the rubric has no score, or one that is not from 0 to 10. Scores
// of other dimensions count nothing.
double weighted_score(const Ballot& ballot, const Rubric& rubric);

// Keys are the names of the members; reading throws Error naming what is missing or of another
// type.
void to_json(nlohmann::json& json, const Rubric& rubric);
void to_json(nlohmann::json& json, const Forecast& forecast);
void to_json(nlohmann::json& json, const Ballot& ballot);
void from_json(const nlohmann::json& json, Rubric& out);
void from_json(const nlohmann::json& json, Forecast& out);
void from_json(const nlohmann::json& json, Ballot& out);

// Ballots from people and agents, as vote_file.cpp shows them: a TOML file per shark.
// Scores are asked for on the dimensions of `rubric`. Throws Error with every fault on a line of
// its own: "file:line:column: what is wrong".
std::vector<Ballot> parse_votes(std::string_view toml, std::string_view source_name,
                                const Rubric& rubric);
std::vector<Ballot> load_votes(const std::filesystem::path& path, const Rubric& rubric);

}  // namespace thresher
