// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_there.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/cluster_task.hpp"
#include "cli/progress.hpp"
#include "cluster/order.hpp"
#include "referee/statistics/json.hpp"
#include "thresher/thresher.h"

namespace thresher::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kTaskSecondsMin = 5;

// What is to be tuned, where.
struct TuneTask {
  const Problem* problem = nullptr;
  std::vector<std::string> classes;
};

std::vector<TuneTask> tasks_for(const std::vector<Problem>& problems,
                                const std::vector<std::string>& classes) {
  std::vector<TuneTask> tasks;
  for (const Problem& problem : problems) {
    if (classes.empty()) tasks.push_back({&problem, {}});
    for (const std::string& one : classes) tasks.push_back({&problem, {one}});
  }
  return tasks;
}

// Where the task asks for any machine nobody knows beforehand which one will take it.
bool may_be_of(const PlanFingerprint& machine, const TuneTask& task, const TuneRules& rules) {
  if (task.classes.empty() || !is_of_class(task.classes, machine.machine_class)) return false;
  if (!rules.backend.empty() && machine.backend != rules.backend) return false;
  const bool same_threads = rules.thread_count == 0 || machine.thread_count == 0 ||
                            machine.thread_count == rules.thread_count;
  return same_threads && machine.version == thresher_version();
}

// The budget is for all of it, and so many are tuned at the same time.
double seconds_of_each(const TuneRules& rules, std::size_t task_count, int jobs) {
  const double waves = std::ceil(static_cast<double>(task_count) / std::max(1, jobs));
  return std::max(kTaskSecondsMin, rules.seconds / waves);
}

// The same for the same question, so that a coordinator which goes on finds what was answered; the
// time that an answer may take is no part of it.
std::string id_of(const nlohmann::json& order, const TuneTask& task) {
  nlohmann::json question = order;
  question.erase("seconds");
  question.erase("hidden");
  question["classes"] = task.classes;
  return fmt::format("tune-{}", digits_of(question.dump()));
}

std::vector<std::string> texts_of(const std::vector<fs::path>& paths) {
  return {paths.begin(), paths.end()};
}

class TuneThere {
 public:
  TuneThere(const TuneRules& rules, const ClusterOptions& cluster, TunedPlan& plan)
      : rules_(rules), cluster_(cluster), plan_(plan) {}

  TunedThere run(const std::vector<Problem>& problems) {
    TunedThere result;
    std::vector<TuneTask> tasks = tasks_for(problems, cluster_.classes);
    if (!rules_.again) {
      std::erase_if(tasks, [&](const TuneTask& task) { return is_done(task, result); });
    }
    if (tasks.empty()) return result;
    const std::vector<cluster::TaskOrder> orders = orders_for(tasks);
    fmt::print(stderr, "{} problems to tune on Slurm's nodes, {:.0f} s each, {} at a time\n",
               orders.size(), orders.front().seconds_max, job_count(cluster_));
    Progress progress(static_cast<std::int64_t>(orders.size()), {});
    const fs::path folder = spool_folder(cluster_, plan_.path()) / "tune";
    if (rules_.again) forget_records(folder, orders);
    cluster::CoordinatorOptions options =
        coordinator_options(folder, "thresher-tune-" + digits_of(folder.string()));
    options.report = [&](const std::string& text) { progress.update(text); };
    options.announce = [&](const std::string& text) {
      progress.clear();
      fmt::print(stderr, "{}\n", text);
    };
    cluster::Coordinator coordinator(cluster::Spool(folder),
                                     cluster::slurm_queue(slurm_options(cluster_)), options);
    coordinator.play(orders, [&](std::size_t index, const cluster::TaskResult& found) {
      progress.begin_step(tasks[index].problem->name);
      take(*tasks[index].problem, found, result);
    });
    coordinator.finish();
    progress.clear();
    say_if_mixed();
    return result;
  }

 private:
  // What the plan has of such a machine stays.
  bool is_done(const TuneTask& task, TunedThere& result) const {
    for (const MachinePlan& plan : plan_.machines()) {
      if (!may_be_of(plan.fingerprint, task, rules_)) continue;
      const PlanEntry* before = plan_.entry(plan.fingerprint, *task.problem);
      if (before == nullptr) continue;
      result.tuned.push_back({*task.problem, plan.fingerprint, *before, /*is_new=*/false});
      return true;
    }
    return false;
  }

  // Where nobody says what computes, a node takes what it has of the class that was asked for.
  std::vector<cluster::TaskOrder> orders_for(const std::vector<TuneTask>& tasks) const {
    TuneRules rules = rules_;
    const Backend* given = backend_given(cluster_);
    if (rules.backend.empty() && given != nullptr) rules.backend = given->name;
    rules.hidden = {spool_folder(cluster_, plan_.path())};
    rules.seconds = seconds_of_each(rules_, tasks.size(), job_count(cluster_));
    std::vector<cluster::TaskOrder> orders;
    for (const TuneTask& task : tasks) {
      nlohmann::json order = tuning_order(*task.problem, rules);
      std::string id = id_of(order, task);
      orders.push_back({std::move(id), std::move(order), rules.seconds, task.classes});
    }
    return orders;
  }

  // A spool that somebody plays from stays as it is: the coordinator says so.
  static void forget_records(const fs::path& folder,
                             const std::vector<cluster::TaskOrder>& orders) {
    const cluster::Spool spool(folder);
    const referee::UniqueFd lock = spool.hold();
    for (const cluster::TaskOrder& order : orders) spool.forget(order.id);
  }

  void take(const Problem& problem, const cluster::TaskResult& found, TunedThere& result) {
    if (!found.failure.empty()) {
      result.failures.push_back(fmt::format("{}: {}", problem.name, found.failure));
      return;
    }
    classes_.insert(found.record.at("machine").value("class", ""));
    const PlanFile part = plan_file_from_json(found.record.at("plan").dump());
    for (const MachinePlan& machine : part.machines) {
      for (const PlanEntry& entry : machine.entries) {
        const PlanEntry* before = plan_.entry(machine.fingerprint, problem);
        const bool is_new = rules_.again || before == nullptr;
        if (is_new) plan_.keep(machine.fingerprint, entry);
        result.tuned.push_back({problem, machine.fingerprint, is_new ? entry : *before, is_new});
      }
    }
  }

  void say_if_mixed() const {
    if (classes_.size() < 2 || !cluster_.classes.empty()) return;
    fmt::print(stderr,
               "the nodes are of {} classes of machines, and each problem was tuned on one of "
               "them: --classes tunes all on each that it names\n",
               classes_.size());
  }

  const TuneRules& rules_;
  const ClusterOptions& cluster_;
  TunedPlan& plan_;
  std::set<std::string> classes_;  // that answered
};

}  // namespace

nlohmann::json tuning_order(const Problem& problem, const TuneRules& rules) {
  return {{"kind", kTuneOrder},
          {"suite", cluster::suite_to_json({.name = problem.name, .problems = {problem}})},
          {"backend", rules.backend},
          {"threads", rules.thread_count},
          {"seconds", rules.seconds},
          {"seed", rules.seed},
          {"at_random", rules.at_random},
          {"constraints", rules.constraints},
          {"hidden", texts_of(rules.hidden)},
          {"terms", rules.terms}};
}

nlohmann::json tuning_carried_out(const nlohmann::json& order) {
  const Suite suite = cluster::suite_from_json(order.at("suite"));
  const auto hidden = order.at("hidden").get<std::vector<std::string>>();
  TunedPlan nowhere({});
  const std::vector<TunedProblem> tuned =
      tune_here(suite.problems,
                {.backend = order.at("backend"),
                 .thread_count = order.at("threads"),
                 .seconds = order.at("seconds"),
                 .seed = order.at("seed"),
                 .terms = order.at("terms").get<DealTerms>(),
                 .constraints = order.at("constraints").get<std::vector<std::string>>(),
                 .hidden = {hidden.begin(), hidden.end()},
                 .at_random = order.at("at_random")},
                nowhere);
  PlanFile part;
  for (const TunedProblem& one : tuned) {
    machine_in(part, one.machine).entries.push_back(one.entry);
  }
  return {{"plan", nlohmann::json::parse(to_json(part))}};
}

TunedThere tune_there(const std::vector<Problem>& problems, const TuneRules& rules,
                      const ClusterOptions& cluster, TunedPlan& plan) {
  return TuneThere(rules, cluster, plan).run(problems);
}

}  // namespace thresher::cli
