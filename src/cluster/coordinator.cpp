// SPDX-License-Identifier: Apache-2.0
#include "cluster/coordinator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "referee/protocol.hpp"
#include "thresher/error.hpp"

namespace thresher::cluster {
namespace {

constexpr const char* kNoAnswer =
    "Slurm's controller does not answer; waiting for it ('thresher doctor --on slurm' says what "
    "is missing)";

using CoordinatorClock = std::chrono::steady_clock;

double seconds_between(CoordinatorClock::time_point begin, CoordinatorClock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

std::ptrdiff_t file_count(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

struct TaskLog {
  std::string node;        // that the task began on, or empty
  std::string last_words;  // of the task itself
};

bool is_node_name(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

TaskLog task_log(const std::filesystem::path& path) {
  constexpr std::size_t kBytesMax = 300;
  std::ifstream file(path);
  TaskLog log;
  for (std::string line; std::getline(file, line);) {
    if (const std::string node = line.substr(std::min(line.size(), kNodeLine.size()));
        line.starts_with(kNodeLine) && is_node_name(node)) {
      log.node = node;
    } else if (!line.empty()) {
      log.last_words = referee::printable(line, kBytesMax);
    }
  }
  return log;
}

}  // namespace

Coordinator::Coordinator(Spool spool, JobQueue queue, CoordinatorOptions options)
    : spool_(std::move(spool)),
      lock_(spool_.hold()),
      queue_(std::move(queue)),
      options_(std::move(options)) {
  for (const ArrayList& list : spool_.lists()) ids_of_list_[list.name] = list.ids;
}

// A list without a job's number was perhaps never submitted: that is no try.
Coordinator::Pending Coordinator::pending_of(const TaskOrder& order) const {
  Pending pending{.order = &order, .result = {}, .node = {}};
  for (const ArrayList& list : spool_.lists()) {
    const bool has_it = std::find(list.ids.begin(), list.ids.end(), order.id) != list.ids.end();
    if (!has_it || list.job.empty()) continue;
    ++pending.submissions;
    const auto index = std::find(list.ids.begin(), list.ids.end(), order.id) - list.ids.begin();
    pending.log = spool_.logs() / fmt::format("{}_{}.txt", list.job, index);
  }
  return pending;
}

void Coordinator::play(const std::vector<TaskOrder>& orders, const Take& take) {
  pending_.clear();
  for (const TaskOrder& order : orders) {
    pending_.push_back(pending_of(order));
    if (spool_.has_record(order.id)) continue;
    nlohmann::json written = order.order;
    if (!order.classes.empty()) written["classes"] = order.classes;
    spool_.put_order(order.id, written);
  }
  std::optional<CoordinatorClock::time_point> last_look;
  std::ptrdiff_t failures_seen = 0;
  for (std::size_t next = 0; next < pending_.size();) {
    collect();
    for (; next < pending_.size() && pending_[next].result; ++next) {
      take(next, *pending_[next].result);
    }
    if (next == pending_.size()) break;
    // A task that says why it found nothing is not waited for until the next look is due.
    const CoordinatorClock::time_point now = CoordinatorClock::now();
    const std::ptrdiff_t failures = file_count(spool_.folder() / "failures");
    if (!last_look || failures != failures_seen ||
        seconds_between(*last_look, now) >= options_.look_seconds) {
      failures_seen = failures;
      look();
      last_look = CoordinatorClock::now();
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.poll_seconds));
  }
}

void Coordinator::collect() {
  const std::set<std::string> recorded = spool_.recorded_ids();
  for (Pending& pending : pending_) {
    if (pending.result || !recorded.contains(pending.order->id)) continue;
    if (std::optional<nlohmann::json> record = spool_.record(pending.order->id)) {
      pending.result = {.record = std::move(*record), .failure = {}};
    }
  }
}

Coordinator::QueueView Coordinator::view_of(const std::vector<QueuedTask>& tasks) const {
  QueueView view;
  for (const QueuedTask& task : tasks) {
    const auto list = ids_of_list_.find(task.comment);
    if (list == ids_of_list_.end() || task.index >= static_cast<int>(list->second.size())) continue;
    if (waits_in_vain(task)) {
      queue_.cancel(task.job);
      continue;
    }
    if (task.node.empty()) {
      view.reason = task.reason;
    } else {
      ++view.running_count;
    }
    view.tasks[list->second[static_cast<std::size_t>(task.index)]] = task;
  }
  return view;
}

// What is in the queue is waited for. What is not, and was not at the last look either, has had the
// time in between for its record to be seen.
void Coordinator::look() {
  const std::optional<std::vector<QueuedTask>> tasks = queue_.look(options_.name);
  if (!tasks) return options_.report(kNoAnswer);
  const QueueView view = view_of(*tasks);
  failures_ = spool_.failures();
  std::vector<Pending*> wanted;
  for (Pending& pending : pending_) {
    if (pending.result) continue;
    if (const auto found = view.tasks.find(pending.order->id); found != view.tasks.end()) {
      pending.was_absent = false;
      if (!found->second.node.empty()) pending.node = found->second.node;
    } else if (pending.submissions == 0) {
      wanted.push_back(&pending);
    } else {
      note_absence(pending);
      if (!pending.result && !pending.was_absent) wanted.push_back(&pending);
    }
  }
  submit(wanted);
  report(view);
}

int Coordinator::refusals(const Pending& pending) const {
  const auto found = failures_.find(pending.order->id);
  if (found == failures_.end()) return 0;
  return static_cast<int>(
      std::count_if(found->second.begin(), found->second.end(),
                    [](const TaskFailure& failure) { return !failure.refused_for.empty(); }));
}

// Each of its tasks has said why it found nothing: nobody needs to look twice.
bool Coordinator::has_ended(const Pending& pending) const {
  const auto found = failures_.find(pending.order->id);
  return found != failures_.end() && static_cast<int>(found->second.size()) >= pending.submissions;
}

// Afterwards it is given up, absent for the first time, or to be played again.
void Coordinator::note_absence(Pending& pending) {
  if (!pending.was_absent && !has_ended(pending)) {
    pending.was_absent = true;
    return;
  }
  pending.was_absent = false;
  const TaskLog log = task_log(pending.log);
  if (!log.node.empty()) pending.node = log.node;
  const std::string text = failure_text(pending, log.last_words);
  options_.announce(fmt::format("{}: {}", pending.order->id, text));
  if (tries(pending) < options_.tries_max) return;
  pending.result = {.record = nullptr,
                    .failure = fmt::format("no record after {} tries; {}", tries(pending), text)};
}

std::string Coordinator::failure_text(const Pending& pending, const std::string& last_words) const {
  const auto found = failures_.find(pending.order->id);
  if (found != failures_.end()) {
    return fmt::format("node {}: {}", found->second.back().node, found->second.back().text);
  }
  return fmt::format("its task{} ended {}", pending.node.empty() ? "" : " on node " + pending.node,
                     last_words.empty() ? fmt::format("without a word in {}", pending.log.string())
                                        : fmt::format("with the words: {}", last_words));
}

Coordinator::Excluded Coordinator::excluded_for(const std::vector<Pending*>& wanted) const {
  Excluded excluded;
  const std::vector<std::string>& classes = wanted.front()->order->classes;
  for (const auto& [id, failures] : failures_) {
    for (const TaskFailure& failure : failures) {
      if (!classes.empty() && failure.refused_for == classes)
        excluded.refusing.insert(failure.node);
    }
  }
  for (const Pending* pending : wanted) {
    const auto found = failures_.find(pending->order->id);
    if (pending->submissions > 0 && !pending->node.empty()) excluded.failed.insert(pending->node);
    if (found == failures_.end()) continue;
    for (const TaskFailure& failure : found->second) {
      if (!failure.node.empty()) excluded.failed.insert(failure.node);
    }
  }
  return excluded;
}

// What is asked for the first time goes apart from what is played again, and orders for other
// classes of machines go apart from each other: nodes are excluded for a whole array.
void Coordinator::submit(const std::vector<Pending*>& wanted) {
  std::map<std::pair<std::vector<std::string>, bool>, std::vector<Pending*>> alike;
  for (Pending* pending : wanted) {
    alike[{pending->order->classes, pending->submissions > 0}].push_back(pending);
  }
  for (const auto& [what, group] : alike) submit_alike(group);
}

void Coordinator::submit_alike(const std::vector<Pending*>& wanted) {
  const Excluded excluded = excluded_for(wanted);
  const auto size = static_cast<std::size_t>(queue_.tasks_per_array_max);
  for (std::size_t begin = 0; begin < wanted.size(); begin += size) {
    const std::size_t end = std::min(begin + size, wanted.size());
    if (!submit_array({wanted.begin() + static_cast<std::ptrdiff_t>(begin),
                       wanted.begin() + static_cast<std::ptrdiff_t>(end)},
                      excluded)) {
      return options_.report(kNoAnswer);
    }
  }
}

// Not on the nodes that failed, unless there are no others; never on those that refuse.
std::optional<std::string> Coordinator::submit_somewhere(
    ArrayJob array, const Excluded& excluded, const std::vector<std::string>& classes) const {
  std::set<std::string> nodes = excluded.refusing;
  nodes.insert(excluded.failed.begin(), excluded.failed.end());
  const bool may_try_again = nodes.size() > excluded.refusing.size();
  array.excluded_nodes.assign(nodes.begin(), nodes.end());
  try {
    return queue_.submit(array);
  } catch (const Error& error) {
    if (!may_try_again && !excluded.refusing.empty()) {
      throw Error(
          fmt::format("no node is of a class called {} ({}); 'thresher doctor --on slurm' "
                      "shows the classes there are",
                      fmt::join(classes, " or "), error.what()));
    }
    if (!may_try_again) throw;
  }
  return submit_somewhere(std::move(array), {.refusing = excluded.refusing, .failed = {}}, classes);
}

// The list is on the disk before the array is in the queue, so that whoever finds the one finds the
// other.
bool Coordinator::submit_array(const std::vector<Pending*>& part, const Excluded& excluded) {
  std::vector<std::string> ids;
  double seconds_max = 0;
  for (const Pending* pending : part) {
    ids.push_back(pending->order->id);
    seconds_max = std::max(seconds_max, pending->order->seconds_max);
  }
  const std::string list = spool_.put_list(ids);
  ids_of_list_[list] = ids;
  ArrayJob array{.name = options_.name,
                 .comment = list,
                 .task_count = static_cast<int>(ids.size()),
                 .seconds_max = seconds_max,
                 .excluded_nodes = {},
                 .command = options_.command,
                 .folder = options_.folder,
                 .logs = spool_.logs()};
  array.command.push_back(list);
  const std::optional<std::string> job =
      submit_somewhere(std::move(array), excluded, part.front()->order->classes);
  if (!job) return false;
  spool_.set_job(list, *job);
  for (std::size_t i = 0; i < part.size(); ++i) {
    ++part[i]->submissions;
    part[i]->was_absent = false;
    part[i]->log = spool_.logs() / fmt::format("{}_{}.txt", *job, i);
  }
  return true;
}

void Coordinator::report(const QueueView& view) {
  const auto done = std::count_if(pending_.begin(), pending_.end(),
                                  [](const Pending& one) { return one.result.has_value(); });
  const bool waits = !view.reason.empty() && view.reason != "None";
  options_.report(fmt::format("{} of {} back, {} running{}", done, pending_.size(),
                              view.running_count,
                              waits ? fmt::format(", others wait: {}", view.reason) : ""));
}

}  // namespace thresher::cluster
