// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/ballot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

// What the seeds' sharks agreed on, before and after their first mistake: the second asks for
// evidence where the first paid for eloquence.
const Rubric kRubrics[] = {
    {"round_1", {{"speedup", 0.40}, {"feasibility", 0.25}, {"risk", 0.20}, {"pitch", 0.15}}},
    {"round_2", {{"speedup", 0.35}, {"evidence", 0.25}, {"feasibility", 0.20}, {"risk", 0.20}}},
};

template <typename Value>
void read(const Json& json, const char* key, Value& out) {
  try {
    json.at(key).get_to(out);
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: {}", key, error.what()));
  }
}

}  // namespace

std::vector<std::string> rubric_names() {
  std::vector<std::string> names;
  for (const Rubric& rubric : kRubrics) names.push_back(rubric.name);
  return names;
}

Rubric rubric_by_name(std::string_view name) {
  for (const Rubric& rubric : kRubrics) {
    if (rubric.name == name) return rubric;
  }
  throw Error(
      fmt::format("unknown rubric '{}'; there are {}", name, fmt::join(rubric_names(), ", ")));
}

double weighted_score(const Ballot& ballot, const Rubric& rubric) {
  double sum = 0;
  for (const auto& [dimension, weight] : rubric.weights) {
    const auto found = ballot.scores.find(dimension);
    if (found == ballot.scores.end()) {
      throw Error(fmt::format("{}'s ballot on '{}' has no score for {}", ballot.shark, ballot.pitch,
                              dimension));
    }
    // Written so that NaN is refused too.
    if (!(found->second >= 0 && found->second <= kScoreMax)) {
      throw Error(fmt::format("{}'s ballot on '{}': {} = {} is not from 0 to {}", ballot.shark,
                              ballot.pitch, dimension, found->second, kScoreMax));
    }
    sum += weight * found->second;
  }
  return sum;
}

void to_json(Json& json, const Rubric& rubric) {
  json = {{"name", rubric.name}, {"weights", rubric.weights}};
}

void to_json(Json& json, const Forecast& forecast) {
  json = {{"p_works", forecast.p_works},
          {"log_speedup_median", forecast.log_speedup_median},
          {"log_speedup_low", forecast.log_speedup_low},
          {"log_speedup_high", forecast.log_speedup_high}};
}

void to_json(Json& json, const Ballot& ballot) {
  json = {{"shark", ballot.shark},       {"pitch", ballot.pitch}, {"scores", ballot.scores},
          {"forecast", ballot.forecast}, {"vote", ballot.vote},   {"reason", ballot.reason}};
  if (ballot.pilot_failed) json["pilot_failed"] = true;
}

void from_json(const Json& json, Rubric& out) {
  read(json, "name", out.name);
  read(json, "weights", out.weights);
}

void from_json(const Json& json, Forecast& out) {
  read(json, "p_works", out.p_works);
  read(json, "log_speedup_median", out.log_speedup_median);
  read(json, "log_speedup_low", out.log_speedup_low);
  read(json, "log_speedup_high", out.log_speedup_high);
}

void from_json(const Json& json, Ballot& out) {
  read(json, "shark", out.shark);
  read(json, "pitch", out.pitch);
  read(json, "scores", out.scores);
  read(json, "forecast", out.forecast);
  read(json, "vote", out.vote);
  read(json, "reason", out.reason);
  out.pilot_failed = json.value("pilot_failed", false);
}

}  // namespace thresher
