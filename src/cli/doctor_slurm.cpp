// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_slurm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "cli/cluster_task.hpp"
#include "cli/command_line.hpp"
#include "cli/interruption.hpp"
#include "cli/ledger_path.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "cluster/coordinator.hpp"

namespace thresher::cli {
namespace {

namespace fs = std::filesystem;

// What tasks said of their nodes.
struct Greetings {
  std::map<std::string, std::set<std::string>> nodes_of_class;
  std::set<std::string> refused;  // of the sandbox
  int answered = 0;
  std::string failure;
  double seconds = 0;
  double cpu_seconds = 0;  // of this process and the commands of Slurm that it ran
};

double cpu_seconds_used() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage use{};
    getrusage(who, &use);
    for (const timeval& time : {use.ru_utime, use.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }
  }
  return seconds;
}

void add_greeting(const nlohmann::json& record, Greetings& greetings) {
  ++greetings.answered;
  const nlohmann::json& machine = record.at("machine");
  greetings.nodes_of_class[machine.at("class")].insert(machine.at("node").get<std::string>());
  for (const nlohmann::json& one : record.at("refused")) {
    greetings.refused.insert(one.get<std::string>());
  }
}

Greetings greet(const ClusterVisit& visit) {
  const std::string name = fmt::format("thresher-doctor-{}", getpid());
  const fs::path folder = spool_folder(visit.cluster, kDefaultLedger) / name;
  const Interruption interruption(fmt::format("'scancel --name={}' ends its tasks", name));
  const int count = std::max(1, visit.task_count);
  Progress progress(count);
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_before = cpu_seconds_used();
  Greetings greetings;
  cluster::Coordinator coordinator(cluster::Spool(folder),
                                   cluster::slurm_queue(slurm_options(visit.cluster)),
                                   coordinator_options(folder, name));
  std::vector<cluster::TaskOrder> orders;
  for (int i = 0; i < count; ++i) {
    orders.push_back({.id = fmt::format("greeting-{:06}", i),
                      .order = {{"kind", kGreetingOrder},
                                {"backend", visit.backend},
                                {"probe", visit.task_count == 0}},
                      .classes = visit.cluster.classes});
  }
  coordinator.play(orders, [&](std::size_t index, const cluster::TaskResult& result) {
    progress.begin_step(orders[index].id);
    if (!result.failure.empty()) {
      greetings.failure = result.failure;
    } else {
      add_greeting(result.record, greetings);
    }
  });
  greetings.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  greetings.cpu_seconds = cpu_seconds_used() - cpu_before;
  coordinator.finish();
  std::error_code ignored;
  if (greetings.failure.empty()) fs::remove_all(folder, ignored);
  return greetings;
}

nlohmann::ordered_json to_json(const std::vector<cluster::SlurmFinding>& findings,
                               const Greetings& greetings) {
  nlohmann::ordered_json json;
  for (const cluster::SlurmFinding& one : findings) {
    json["slurm"].push_back({{"what", one.what}, {"ok", one.ok}, {"text", one.text}});
  }
  json["answered"] = greetings.answered;
  json["failure"] = greetings.failure;
  json["classes"] = greetings.nodes_of_class;
  json["refused"] = greetings.refused;
  json["seconds"] = greetings.seconds;
  json["cpu_seconds"] = greetings.cpu_seconds;
  return json;
}

void add_greetings(const ClusterVisit& visit, const Greetings& greetings, Table& table) {
  if (!greetings.failure.empty()) table.add_row({"nodes", Cell(greetings.failure, Tone::kBad)});
  for (const auto& [machine, nodes] : greetings.nodes_of_class) {
    table.add_row({"class", fmt::format("{}: {}", machine, fmt::join(nodes, ", "))});
  }
  if (visit.task_count == 0) {
    table.add_row({"answered", fmt::format("in {:.1f} s", greetings.seconds)});
    table.add_row({"sandbox", greetings.refused.empty() ? "the node grants every protection"
                                                        : "refused by the node:"});
    for (const std::string& one : greetings.refused) table.add_row({"", Cell(one, Tone::kDim)});
    return;
  }
  table.add_row({"tasks", fmt::format("{} of {} in {:.1f} s, {:.0f} a minute", greetings.answered,
                                      visit.task_count, greetings.seconds,
                                      60 * greetings.answered / greetings.seconds)});
  table.add_row({"coordinator", fmt::format("{:.2f} s of processor time", greetings.cpu_seconds)});
}

}  // namespace

int examine_cluster(const ClusterVisit& visit) {
  const std::vector<cluster::SlurmFinding> findings =
      cluster::examine_slurm({.partition = visit.cluster.partition});
  const bool can_greet = std::all_of(findings.begin(), findings.end(),
                                     [](const cluster::SlurmFinding& one) { return one.ok; });
  const Greetings greetings = can_greet ? greet(visit) : Greetings{};
  const bool ok = greetings.answered > 0 && greetings.failure.empty();
  if (visit.json) {
    fmt::print("{}\n", to_json(findings, greetings).dump());
    return ok ? kExitOk : kExitFailure;
  }
  Table table({{""}, {""}});
  for (const cluster::SlurmFinding& one : findings) {
    table.add_row({one.what, Cell(one.text, one.ok ? Tone::kPlain : Tone::kBad)});
  }
  if (can_greet) {
    table.add_row({"shared folder", spool_folder(visit.cluster, kDefaultLedger).string()});
    add_greetings(visit, greetings, table);
  }
  print(table);
  return ok ? kExitOk : kExitFailure;
}

}  // namespace thresher::cli
