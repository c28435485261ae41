// SPDX-License-Identifier: Apache-2.0
// Has orders carried out by the tasks of job arrays, and collects what they found. It may be killed
// at any moment: the next one finds orders and records in the spool and tasks in the queue, and
// waits for those instead of asking again. A task that is gone without a record is played again,
// where it can be on another node. A node that is of another class of machines than an order wants
// refuses it, which is no try, and is not asked again.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/slurm.hpp"
#include "cluster/spool.hpp"

namespace thresher::cluster {

struct TaskOrder {
  std::string id;
  nlohmann::json order;
  double seconds_max = 60;
  std::vector<std::string> classes = {};  // parts of names of classes of machines; empty: any
};

struct TaskResult {
  nlohmann::json record;  // null: there is none
  std::string failure;    // why, after all tries
};

struct CoordinatorOptions {
  std::string name;                  // of the jobs
  std::vector<std::string> command;  // of a task: gets the list's name as its last word
  std::filesystem::path folder;      // to start tasks in
  std::function<void(const std::string& text)> report = [](const std::string&) {};    // how far
  std::function<void(const std::string& text)> announce = [](const std::string&) {};  // to stay
  int tries_max = 3;
  double poll_seconds = 0.5;  // between two looks at the records
  double look_seconds = 3;    // between two looks at the queue
};

class Coordinator {
 public:
  Coordinator(Spool spool, JobQueue queue, CoordinatorOptions options);

  using Take = std::function<void(std::size_t order_index, const TaskResult& result)>;
  // Hands results over in the order of the orders, each as soon as all before it are there.
  void play(const std::vector<TaskOrder>& orders, const Take& take);

  // Nothing is wanted any more: what is left in the queue is taken out.
  void finish() const { queue_.cancel_all(options_.name); }

  const Spool& spool() const { return spool_; }

 private:
  struct Pending {
    const TaskOrder* order = nullptr;
    std::optional<TaskResult> result;
    int submissions = 0;
    bool was_absent = false;         // at the last look
    std::string node;                // where it was last seen
    std::filesystem::path log = {};  // what its last task says
  };
  struct QueueView {
    std::map<std::string, QueuedTask> tasks;  // by id
    int running_count = 0;
    std::string reason;  // why others wait
  };

  Pending pending_of(const TaskOrder& order) const;
  void collect();
  void look();
  QueueView view_of(const std::vector<QueuedTask>& tasks) const;
  int refusals(const Pending& pending) const;
  int tries(const Pending& pending) const { return pending.submissions - refusals(pending); }
  bool has_ended(const Pending& pending) const;
  void note_absence(Pending& pending);
  std::string failure_text(const Pending& pending, const std::string& last_words) const;
  // Nodes that an array does not go to.
  struct Excluded {
    std::set<std::string> refusing;  // for good
    std::set<std::string> failed;    // where there are others
  };
  void submit(const std::vector<Pending*>& wanted);
  void submit_alike(const std::vector<Pending*>& wanted);
  bool submit_array(const std::vector<Pending*>& part, const Excluded& excluded);
  std::optional<std::string> submit_somewhere(ArrayJob array, const Excluded& excluded,
                                              const std::vector<std::string>& classes) const;
  Excluded excluded_for(const std::vector<Pending*>& wanted) const;
  void report(const QueueView& view);

  Spool spool_;
  referee::UniqueFd lock_;
  JobQueue queue_;
  CoordinatorOptions options_;
  std::map<std::string, std::vector<std::string>> ids_of_list_;
  std::vector<Pending> pending_;
  std::map<std::string, std::vector<TaskFailure>> failures_;  // by id, at the last look
};

}  // namespace thresher::cluster
