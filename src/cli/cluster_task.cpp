// SPDX-License-Identifier: Apache-2.0
// thresher task: the hidden command that a cluster's nodes run.
#include "cli/cluster_task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/contestant_threads.hpp"
#include "cli/interruption.hpp"
#include "cli/memory_check.hpp"
#include "cli/pitch_needs.hpp"
#include "cli/presence.hpp"
#include "cli/season_start.hpp"
#include "cli/tune_there.hpp"
#include "cluster/order.hpp"
#include "cluster/spool.hpp"
#include "referee/sandbox/sandbox.hpp"
#include "referee/venue.hpp"

namespace thresher::cli {
namespace {

std::string environment_word(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string node_name() {
  const std::string slurm = environment_word("SLURMD_NODENAME");
  if (!slurm.empty()) return slurm;
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

nlohmann::json machine_here(const std::string& backend) {
  return {{"node", node_name()},
          {"class", machine_class(backend)},
          {"job", fmt::format("{}_{}", environment_word("SLURM_ARRAY_JOB_ID"),
                              environment_word("SLURM_ARRAY_TASK_ID"))},
          {"restarts", std::atoi(environment_word("SLURM_RESTART_COUNT").c_str())}};
}

// The same names lead to the same files everywhere, or a verdict would be about something else.
void check_same_program(const Contestant& contestant, const std::string& expected) {
  if (contestant_hash(contestant) == expected) return;
  throw Error(
      fmt::format("'{}' is another program on node {} than where the season is coordinated; "
                  "thresher and contestants have to lie in a folder that all nodes share",
                  contestant.name, node_name()));
}

// Before anything is measured.
void check_class_of(const nlohmann::json& order, const std::string& backend) {
  check_class(order.value("classes", std::vector<std::string>()), machine_class(backend));
}

nlohmann::json carry_out_match(const nlohmann::json& json) {
  MatchOrder order = cluster::order_from_json(json);
  const std::string backend(backend_of(order.match.champion).name);
  check_class_of(json, backend);
  check_same_program(order.match.champion, json.at("champion_hash"));
  check_same_program(order.match.challenger, json.at("challenger_hash"));
  check_match_fits(order.match.suite);
  const Presence presence("match");
  order.match.options.gpu = engine_options(backend_named(backend));
  order.match.options.progress = [](const std::string& step) { fmt::print(stderr, "{}\n", step); };
  nlohmann::json record = cluster::record_to_json(judge(order.match));
  record["machine"] = machine_here(backend);
  return record;
}

nlohmann::json missing_needs(const nlohmann::json& pitches) {
  nlohmann::json missing = nlohmann::json::object();
  for (const nlohmann::json& one : pitches) {
    const std::string name = one.at("name");
    const Pitch pitch = parse_pitch(one.at("text").get<std::string>(), name,
                                    {.folder = one.at("folder").get<std::string>(), .stem = name});
    if (const std::string why = missing_need(pitch); !why.empty()) missing[name] = why;
  }
  return missing;
}

// What a season asks of a machine before it begins; of one that goes on only what new pitches need.
nlohmann::json carry_out_survey(const nlohmann::json& json) {
  SeasonSetup setup;
  setup.rules.backend = resolve_backend(json.at("backend").get<std::string>()).name;
  check_class_of(json, setup.rules.backend);
  nlohmann::json result{{"machine", machine_here(setup.rules.backend)},
                        {"missing", missing_needs(json.at("pitches"))}};
  if (!json.contains("champion")) return result;
  setup.rules.suite = cluster::suite_from_json(json.at("suite"));
  check_match_fits(setup.rules.suite);
  setup.rules.match.thread_count = contestant_threads(json.at("threads"));
  setup.champion = contestant_from_json(json.at("champion"));
  measure_device(setup);
  result["threads"] = setup.rules.match.thread_count;
  result["rates"] = rates_to_json(setup.rates);
  if (setup.limits) result["limits"] = limits_to_json(*setup.limits);
  result["champion_us"] = setup.champion_us;
  result["environment"] = setup.environment;
  return result;
}

nlohmann::json carry_out_findings(const nlohmann::json& json) {
  SeasonRules rules;
  rules.backend = resolve_backend(json.at("backend").get<std::string>()).name;
  check_class_of(json, rules.backend);
  rules.suite = cluster::suite_from_json(json.at("suite"));
  rules.match.thread_count = json.at("threads");
  return {{"machine", machine_here(rules.backend)},
          {"findings", findings_on(contestant_from_json(json.at("champion")), rules,
                                   rates_from_json(json.at("rates")))}};
}

// Those of this machine's backends on which matches are played, and that open; the default one
// first.
std::vector<const Backend*> usable_backends() {
  std::vector<const Backend*> usable{&resolve_backend("")};
  for (const Backend* backend : backends()) {
    if (backend == usable.front() || referee::find_venue(backend->name) == nullptr) continue;
    if (backend->why_not(engine_options(*backend)).empty()) usable.push_back(backend);
  }
  return usable;
}

nlohmann::json carry_out_tuning(nlohmann::json json) {
  const std::string word = json.at("backend");
  const std::vector<std::string> classes = json.value("classes", std::vector<std::string>());
  const std::string backend(word.empty() ? backend_of_class(classes, usable_backends()).name
                                         : resolve_backend(word).name);
  check_class_of(json, backend);
  json["backend"] = backend;
  const Presence presence("tune");
  nlohmann::json record = tuning_carried_out(json);
  record["machine"] = machine_here(backend);
  return record;
}

nlohmann::json carry_out_greeting(const nlohmann::json& json) {
  check_class_of(json, json.at("backend"));
  nlohmann::json result{{"machine", machine_here(json.at("backend"))},
                        {"refused", nlohmann::json::array()}};
  if (!json.at("probe").get<bool>()) return result;
  for (const referee::Protection& one : referee::probe_protections()) {
    if (!one.ok) result["refused"].push_back(fmt::format("{}: {}", one.name, one.why_not));
  }
  return result;
}

struct TaskArguments {
  std::filesystem::path spool;
  std::string list;
};

// A task may be started again after it has answered: its node was given up, or it was requeued.
int run_task(const TaskArguments& arguments) {
  const Interruption interruption("the coordinator plays it again");
  const cluster::Spool spool(arguments.spool);
  const std::string id =
      spool.id_of_task(arguments.list, std::atoi(environment_word("SLURM_ARRAY_TASK_ID").c_str()));
  if (spool.has_record(id)) return kExitOk;
  try {
    spool.put_record(id, carried_out(spool.order(id)));
    return kExitOk;
  } catch (const OtherClass& error) {
    fmt::print(stderr, "thresher: {}\n", error.what());
    spool.put_failure(id, {node_name(), error.what(), spool.order(id).at("classes")});
    return kExitFailure;
  } catch (const std::exception& error) {
    fmt::print(stderr, "thresher: {}\n", error.what());
    spool.put_failure(id, {node_name(), error.what()});
    return kExitFailure;
  }
}

}  // namespace

std::string machine_class(const std::string& backend) {
  return resolve_backend(backend).machine_class();
}

void check_class(const std::vector<std::string>& classes, const std::string& machine_class) {
  if (is_of_class(classes, machine_class)) return;
  throw OtherClass(fmt::format("it is of another class ({}) than {}", machine_class,
                               fmt::join(classes, " or ")));
}

const Backend& backend_of_class(const std::vector<std::string>& classes,
                                const std::vector<const Backend*>& usable) {
  std::vector<std::string> others;
  for (const Backend* backend : usable) {
    others.push_back(backend->machine_class());
    if (is_of_class(classes, others.back())) return *backend;
  }
  throw OtherClass(fmt::format("it is of other classes ({}) than {}", fmt::join(others, "; "),
                               fmt::join(classes, " or ")));
}

nlohmann::json carried_out(const nlohmann::json& order) {
  const std::string kind = order.value("kind", "");
  if (kind == kMatchOrder) return carry_out_match(order);
  if (kind == kSurveyOrder) return carry_out_survey(order);
  if (kind == kFindingsOrder) return carry_out_findings(order);
  if (kind == kTuneOrder) return carry_out_tuning(order);
  if (kind == kGreetingOrder) return carry_out_greeting(order);
  throw Error(fmt::format("no order is called '{}'; is the coordinator of another version?", kind));
}

Command task_command() {
  const auto arguments = std::make_shared<TaskArguments>();
  return {.name = "task",
          .what = "For a cluster's nodes: carry out one order (docs/cluster.md)",
          .options = {{.name = "spool",
                       .value = &arguments->spool,
                       .what = "The folder of orders and records",
                       .required = true},
                      {.name = "list",
                       .value = &arguments->list,
                       .what = "The list whose task SLURM_ARRAY_TASK_ID this is",
                       .required = true}},
          .run = [arguments] { return run_task(*arguments); },
          .hidden = true};
}

}  // namespace thresher::cli
