// SPDX-License-Identifier: Apache-2.0
#include "cluster/order.hpp"

#include <fmt/format.h>

#include "referee/statistics/json.hpp"
#include "thresher/error.hpp"

namespace thresher::cluster {
namespace {

using Json = nlohmann::json;

Json problem_to_json(const Problem& problem) {
  Json groups = Json::array();
  for (const Group& group : problem.groups) groups.push_back({group.m, group.n, group.k});
  return {{"name", problem.name},
          {"op", to_string(problem.op)},
          {"activations", to_string(problem.activations)},
          {"output", to_string(problem.output)},
          {"groups", std::move(groups)}};
}

Problem problem_from_json(const Json& json) {
  Problem problem{.name = json.at("name"),
                  .op = op_from_string(json.at("op").get<std::string>()),
                  .activations = activations_from_string(json.at("activations").get<std::string>()),
                  .output = output_from_string(json.at("output").get<std::string>()),
                  .groups = {}};
  for (const Json& group : json.at("groups")) {
    problem.groups.push_back({.m = group.at(0), .n = group.at(1), .k = group.at(2)});
  }
  check(problem);
  return problem;
}

Json options_to_json(const MatchOptions& options) {
  Json hidden = Json::array();
  for (const std::filesystem::path& path : options.confinement.hidden)
    hidden.push_back(path.string());
  return {{"threads", options.thread_count},
          {"blocks_per_problem", options.blocks_per_problem},
          {"call_timeout_seconds", options.call_timeout_seconds},
          {"seconds_max", options.seconds_max},
          {"cold", options.cold},
          {"seed", options.seed},
          {"heats_min", options.analysis.heats_min},
          {"heats_max", options.analysis.heats_max},
          {"heats_more", options.analysis.heats_more},
          {"earlier", options.earlier},
          {"hidden", std::move(hidden)},
          {"without", options.confinement.without}};
}

MatchOptions options_from_json(const Json& json) {
  MatchOptions options{.thread_count = json.at("threads"),
                       .blocks_per_problem = json.at("blocks_per_problem"),
                       .call_timeout_seconds = json.at("call_timeout_seconds"),
                       .seconds_max = json.at("seconds_max"),
                       .cold = json.at("cold"),
                       .seed = json.at("seed"),
                       .analysis = {.heats_min = json.at("heats_min"),
                                    .heats_max = json.at("heats_max"),
                                    .heats_more = json.at("heats_more")},
                       .earlier = json.at("earlier").get<MatchSamples>()};
  for (const Json& path : json.at("hidden")) {
    options.confinement.hidden.emplace_back(path.get<std::string>());
  }
  options.confinement.without = json.at("without").get<std::vector<std::string>>();
  return options;
}

// What the reader of JSON throws names a key and no file.
template <typename Read>
auto checked(const char* what, const Read& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: {}", what, error.what()));
  }
}

}  // namespace

Json suite_to_json(const Suite& suite) {
  Json problems = Json::array();
  for (const Problem& problem : suite.problems) problems.push_back(problem_to_json(problem));
  return {{"name", suite.name}, {"description", suite.description}, {"problems", problems}};
}

Suite suite_from_json(const Json& json) {
  return checked("a suite", [&] {
    Suite suite{.name = json.at("name"), .description = json.at("description"), .problems = {}};
    for (const Json& one : json.at("problems")) suite.problems.push_back(problem_from_json(one));
    return suite;
  });
}

Json order_to_json(const MatchOrder& order) {
  const Match& match = order.match;
  return {{"id", order.id},
          {"champion", contestant_to_json(match.champion)},
          {"challenger", contestant_to_json(match.challenger)},
          {"suite", suite_to_json(match.suite)},
          {"terms", match.terms},
          {"options", options_to_json(match.options)},
          {"class", order.machine_class}};
}

MatchOrder order_from_json(const Json& json) {
  return checked("the order of a match", [&] {
    return MatchOrder{.id = json.at("id"),
                      .match = {.champion = contestant_from_json(json.at("champion")),
                                .challenger = contestant_from_json(json.at("challenger")),
                                .suite = suite_from_json(json.at("suite")),
                                .terms = json.at("terms").get<DealTerms>(),
                                .options = options_from_json(json.at("options"))},
                      .machine_class = json.at("class")};
  });
}

Json record_to_json(const MatchRecord& record) {
  return {{"verdict", record.verdict},
          {"samples", record.samples},
          {"earlier_heats", record.earlier_heat_count},
          {"seed", record.seed},
          {"champion_hash", record.champion_hash},
          {"challenger_hash", record.challenger_hash},
          {"seconds", record.seconds},
          {"log", record.log}};
}

MatchRecord record_from_json(const Json& json) {
  return checked("the record of a match", [&] {
    return MatchRecord{.verdict = json.at("verdict").get<Verdict>(),
                       .samples = json.at("samples").get<MatchSamples>(),
                       .earlier_heat_count = json.at("earlier_heats"),
                       .seed = json.at("seed"),
                       .champion_hash = json.at("champion_hash"),
                       .challenger_hash = json.at("challenger_hash"),
                       .seconds = json.at("seconds"),
                       .log = json.at("log").get<std::vector<std::string>>()};
  });
}

}  // namespace thresher::cluster
