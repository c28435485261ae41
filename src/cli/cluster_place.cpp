// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "cli/cluster_task.hpp"
#include "cli/commands.hpp"
#include "cluster/order.hpp"

namespace thresher::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kSurveySeconds = 120;
constexpr int kLostInARowMax = 3;
constexpr const char* kCheckOfCluster = "cluster";

nlohmann::json pitches_to_json(const std::vector<Pitch>& pitches) {
  nlohmann::json json = nlohmann::json::array();
  for (const Pitch& pitch : pitches) {
    json.push_back({{"name", pitch.name},
                    {"text", pitch.source_text},
                    {"folder", pitch.contestant.folder.string()}});
  }
  return json;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

ClusterPlace::ClusterPlace(const ClusterOptions& options, const fs::path& ledger)
    : options_(options), folder_(spool_folder(options, ledger)), slurm_(slurm_options(options)) {}

std::unique_ptr<cluster::Coordinator> ClusterPlace::coordinator_for(
    const std::string& folder_name, const std::string& job_name) const {
  const fs::path folder = folder_ / folder_name;
  cluster::CoordinatorOptions options = coordinator_options(folder, job_name);
  options.report = [this](const std::string& text) { voice_.report(text); };
  options.announce = [this](const std::string& text) { voice_.announce(text); };
  return std::make_unique<cluster::Coordinator>(cluster::Spool(folder),
                                                cluster::slurm_queue(slurm_), std::move(options));
}

void ClusterPlace::claim(const std::string& season) {
  fs::create_directories(folder_);
  claim_ = cluster::hold_file(folder_ / (plain_name(season) + ".lock"),
                              fmt::format("season '{}'", season));
}

// In a folder of its own: there is no season yet that could go on.
nlohmann::json ClusterPlace::ask_once(nlohmann::json order, double seconds_max) {
  std::random_device random;
  const std::string name = fmt::format("survey-{:08x}{:08x}", random(), random());
  const std::unique_ptr<cluster::Coordinator> coordinator =
      coordinator_for(name, "thresher-" + name);
  nlohmann::json record;
  coordinator->play({{.id = name,
                      .order = std::move(order),
                      .seconds_max = seconds_max,
                      .classes = options_.classes}},
                    [&](std::size_t, const cluster::TaskResult& result) {
                      if (!result.failure.empty()) throw Error(result.failure);
                      record = result.record;
                    });
  coordinator->finish();
  std::error_code ignored;
  fs::remove_all(folder_ / name, ignored);
  return record;
}

nlohmann::json ClusterPlace::survey_order(const SeasonSetup& setup) const {
  return {{"kind", kSurveyOrder},
          {"backend", setup.rules.backend},
          {"pitches", pitches_to_json(setup.pitches)}};
}

void ClusterPlace::leave_out(const nlohmann::json& missing, SeasonSetup& setup) const {
  const bool had_any = !setup.pitches.empty();
  std::erase_if(setup.pitches, [&](const Pitch& pitch) {
    if (!missing.contains(pitch.name)) return false;
    fmt::print(stderr, "not played there: {}: {}\n", pitch.name,
               missing.at(pitch.name).get<std::string>());
    return true;
  });
  if (had_any && setup.pitches.empty()) {
    throw UsageError("none of the pitches can be played on the cluster's nodes");
  }
}

void ClusterPlace::survey(SeasonSetup& setup) {
  nlohmann::json order = survey_order(setup);
  order["suite"] = cluster::suite_to_json(setup.rules.suite);
  order["champion"] = contestant_to_json(setup.champion);
  order["threads"] = setup.rules.match.thread_count;
  const nlohmann::json found = ask_once(std::move(order), kSurveySeconds);
  setup.rules.match.thread_count = found.at("threads");
  setup.rates = rates_from_json(found.at("rates"));
  if (found.contains("limits")) setup.limits = limits_from_json(found.at("limits"));
  found.at("champion_us").get_to(setup.champion_us);
  setup.environment.update(found.at("environment"));
  setup.environment["machine"] = found.at("machine");
  leave_out(found.at("missing"), setup);
}

void ClusterPlace::leave_out_unplayable(SeasonSetup& setup) {
  leave_out(ask_once(survey_order(setup), kSurveySeconds).at("missing"), setup);
}

// The start of a season says which one it is: another under its name has other orders.
void ClusterPlace::open(const std::string& season, const nlohmann::json& start) {
  const std::string plain = plain_name(season);
  const std::string folder_name = fmt::format("{}-{}", plain, digits_of(start.dump()));
  name_ = fmt::format("thresher-{}-{}", plain, digits_of((folder_ / folder_name).string()));
  season_class_ = text_field(field(field(start, "environment"), "machine"), "class");
  coordinator_ = coordinator_for(folder_name, name_);
}

void ClusterPlace::note_class(const nlohmann::json& machine) {
  const std::string found = text_field(machine, "class");
  if (season_class_.empty()) season_class_ = found;
  const bool is_known =
      found == season_class_ ||
      std::find(other_classes_.begin(), other_classes_.end(), found) != other_classes_.end();
  if (is_known) return;
  other_classes_.push_back(found);
  voice_.announce(fmt::format(
      "node {} is of another class of machines ({}) than the season's ({}): a verdict holds for "
      "the class that it was found on",
      text_field(machine, "node"), found, season_class_));
}

// What no node could play says nothing of its contestants; as here, a season goes on after one such
// match and ends after several.
MatchReport ClusterPlace::report_of(const MatchOrder& order, const cluster::TaskResult& result) {
  if (result.failure.empty()) {
    failures_ = 0;
    note_class(field(result.record, "machine"));
    return {.record = cluster::record_from_json(result.record),
            .machine = result.record.at("machine")};
  }
  if (++failures_ == kLostInARowMax) throw Error(result.failure);
  const Match& match = order.match;
  return {.record = {.verdict = {.kind = VerdictKind::kUnclear,
                                 .check = kCheckOfCluster,
                                 .reason = result.failure},
                     .samples = match.options.earlier,
                     .earlier_heat_count = static_cast<int>(match.options.earlier.heats.size()),
                     .champion_hash = contestant_hash(match.champion),
                     .challenger_hash = contestant_hash(match.challenger),
                     .log = {result.failure}}};
}

void ClusterPlace::play_all(const std::vector<MatchOrder>& orders, const TakeReport& take) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<cluster::TaskOrder> tasks;
  for (const MatchOrder& order : orders) {
    nlohmann::json json = cluster::order_to_json(order);
    json["kind"] = kMatchOrder;
    json["champion_hash"] = contestant_hash(order.match.champion);
    json["challenger_hash"] = contestant_hash(order.match.challenger);
    // A match that goes on belongs to the class that its heats came from.
    tasks.push_back({order.id, std::move(json), order.match.options.seconds_max,
                     order.machine_class.empty() ? options_.classes
                                                 : std::vector<std::string>{order.machine_class}});
  }
  double longest = 0;
  coordinator_->play(tasks, [&](std::size_t index, const cluster::TaskResult& result) {
    MatchReport report = report_of(orders[index], result);
    report.together = static_cast<int>(orders.size());
    longest = std::max(longest, report.record.seconds);
    take(index, report);
  });
  offset_seconds_ += longest - seconds_since(begin);
}

std::vector<std::string> ClusterPlace::findings(const Contestant& champion,
                                                const SeasonRules& rules,
                                                const MachineRates& rates) {
  const nlohmann::json found = ask_once({{"kind", kFindingsOrder},
                                         {"backend", rules.backend},
                                         {"suite", cluster::suite_to_json(rules.suite)},
                                         {"champion", contestant_to_json(champion)},
                                         {"threads", rules.match.thread_count},
                                         {"rates", rates_to_json(rates)}},
                                        kSurveySeconds);
  return found.at("findings").get<std::vector<std::string>>();
}

void ClusterPlace::finish() {
  if (coordinator_) coordinator_->finish();
}

double ClusterPlace::seconds_now() const { return seconds_since(begin_) + offset_seconds_; }

}  // namespace thresher::cli
