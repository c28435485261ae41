// SPDX-License-Identifier: Apache-2.0
#include "cluster/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "referee/protocol.hpp"
#include "thresher/error.hpp"

namespace thresher::cluster {
namespace {

using CoordinatorClock = std::chrono::steady_clock;

double seconds_between(CoordinatorClock::time_point begin, CoordinatorClock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

std::string last_line(const std::filesystem::path& path) {
  constexpr std::size_t kBytesMax = 300;
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return referee::printable(last, kBytesMax);
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
    ++pending.tries;
    const auto index = std::find(list.ids.begin(), list.ids.end(), order.id) - list.ids.begin();
    pending.log = spool_.logs() / fmt::format("{}_{}.txt", list.job, index);
  }
  return pending;
}

void Coordinator::play(const std::vector<TaskOrder>& orders, const Take& take) {
  pending_.clear();
  for (const TaskOrder& order : orders) {
    pending_.push_back(pending_of(order));
    if (!spool_.has_record(order.id)) spool_.put_order(order.id, order.order);
  }
  std::optional<CoordinatorClock::time_point> last_look;
  for (std::size_t next = 0; next < pending_.size();) {
    collect();
    for (; next < pending_.size() && pending_[next].result; ++next) {
      take(next, *pending_[next].result);
    }
    if (next == pending_.size()) break;
    const CoordinatorClock::time_point now = CoordinatorClock::now();
    if (!last_look || seconds_between(*last_look, now) >= options_.look_seconds) {
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
  if (!tasks) return options_.report("Slurm's controller does not answer; waiting for it");
  const QueueView view = view_of(*tasks);
  std::vector<Pending*> fresh;
  std::vector<Pending*> again;
  for (Pending& pending : pending_) {
    if (pending.result) continue;
    if (const auto found = view.tasks.find(pending.order->id); found != view.tasks.end()) {
      pending.was_absent = false;
      if (!found->second.node.empty()) pending.node = found->second.node;
    } else if (pending.tries == 0) {
      fresh.push_back(&pending);
    } else {
      note_absence(pending);
      if (!pending.result && !pending.was_absent) again.push_back(&pending);
    }
  }
  submit(fresh, {});
  submit(again, nodes_that_failed(again));
  report(view);
}

// Afterwards it is given up, absent for the first time, or to be played again.
void Coordinator::note_absence(Pending& pending) {
  if (!pending.was_absent) {
    pending.was_absent = true;
    return;
  }
  pending.was_absent = false;
  const std::string text = failure_text(pending);
  options_.announce(fmt::format("{}: {}", pending.order->id, text));
  if (pending.tries < options_.tries_max) return;
  pending.result = {.record = nullptr,
                    .failure = fmt::format("no record after {} tries; {}", pending.tries, text)};
}

std::string Coordinator::failure_text(const Pending& pending) const {
  const std::vector<TaskFailure> failures = spool_.failures(pending.order->id);
  if (!failures.empty()) {
    return fmt::format("node {}: {}", failures.back().node, failures.back().text);
  }
  const std::string last_words = last_line(pending.log);
  return fmt::format("its task{} ended {}", pending.node.empty() ? "" : " on node " + pending.node,
                     last_words.empty() ? fmt::format("without a word in {}", pending.log.string())
                                        : fmt::format("with the words: {}", last_words));
}

std::vector<std::string> Coordinator::nodes_that_failed(const std::vector<Pending*>& wanted) const {
  std::set<std::string> nodes;
  for (const Pending* pending : wanted) {
    if (!pending->node.empty()) nodes.insert(pending->node);
    for (const TaskFailure& failure : spool_.failures(pending->order->id)) {
      if (!failure.node.empty()) nodes.insert(failure.node);
    }
  }
  return {nodes.begin(), nodes.end()};
}

void Coordinator::submit(const std::vector<Pending*>& wanted,
                         const std::vector<std::string>& excluded) {
  const auto size = static_cast<std::size_t>(queue_.tasks_per_array_max);
  for (std::size_t begin = 0; begin < wanted.size(); begin += size) {
    const std::size_t end = std::min(begin + size, wanted.size());
    if (!submit_array({wanted.begin() + static_cast<std::ptrdiff_t>(begin),
                       wanted.begin() + static_cast<std::ptrdiff_t>(end)},
                      excluded)) {
      return options_.report("Slurm's controller does not answer; waiting for it");
    }
  }
}

// The list is on the disk before the array is in the queue, so that whoever finds the one finds the
// other.
bool Coordinator::submit_array(const std::vector<Pending*>& part,
                               const std::vector<std::string>& excluded) {
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
                 .excluded_nodes = excluded,
                 .command = options_.command,
                 .folder = options_.folder,
                 .logs = spool_.logs()};
  array.command.push_back(list);
  std::optional<std::string> job;
  try {
    job = queue_.submit(array);
  } catch (const Error&) {
    if (excluded.empty()) throw;
    // There may be no other node.
    array.excluded_nodes.clear();
    job = queue_.submit(array);
  }
  if (!job) return false;
  spool_.set_job(list, *job);
  for (std::size_t i = 0; i < part.size(); ++i) {
    ++part[i]->tries;
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
