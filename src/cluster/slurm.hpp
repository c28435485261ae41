// SPDX-License-Identifier: Apache-2.0
// Slurm, through its own commands: submit an array, look at the queue, cancel. What they print is
// read here and nowhere else.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thresher::cluster {

// What every array of a season is asked for with.
struct SlurmOptions {
  std::string partition;  // empty: the default one
  std::string gres;       // "gpu:h200:1"
  int jobs = 1;           // tasks of an array that run at the same time
};

// An array of tasks that run one program: task i is told its index by SLURM_ARRAY_TASK_ID.
struct ArrayJob {
  std::string name;     // of all arrays of a season
  std::string comment;  // which of them
  int task_count = 0;
  double seconds_max = 0;  // of a task
  std::vector<std::string> excluded_nodes;
  std::vector<std::string> command;
  std::filesystem::path folder;  // to start in
  std::filesystem::path logs;    // what tasks say goes here
};

// A task that waits or runs.
struct QueuedTask {
  std::string comment;
  int index = 0;
  std::string job;  // "12_3", for scancel
  std::string state;
  std::string node;    // empty: waits
  std::string reason;  // why it waits
};

// What a coordinator needs of Slurm, so that one can be tested without it.
struct JobQueue {
  // The number of the job. Throws Error when the array is refused; nothing: nobody answers.
  std::function<std::optional<std::string>(const ArrayJob& array)> submit;
  // All tasks of arrays of this name; nothing: nobody answers, which says nothing about tasks.
  std::function<std::optional<std::vector<QueuedTask>>(const std::string& name)> look;
  std::function<void(const std::string& job)> cancel;
  std::function<void(const std::string& name)> cancel_all;
  int tasks_per_array_max = 1000;
};

JobQueue slurm_queue(const SlurmOptions& options);

// As `squeue -h -r -o %F|%K|%T|%N|%k|%r` prints them; lines of other kinds are left out.
inline constexpr const char* kQueueFormat = "%F|%K|%T|%N|%k|%r";
std::vector<QueuedTask> parse_queue(const std::string& text);

// The words of sbatch, and the script it reads from stdin.
std::vector<std::string> sbatch_words(const SlurmOptions& options, const ArrayJob& array);
inline constexpr std::string_view kNodeLine =
    "on node ";  // begins the line that the script prints first
std::string batch_script(const ArrayJob& array);

// Tasks that are better played again than waited for: put off after a requeue, or held after their
// node failed them.
bool waits_in_vain(const QueuedTask& task);

// Nodes of the partition that work, for --jobs. 0: Slurm does not say.
int usable_node_count(const std::string& partition);

// For `thresher doctor --on slurm`: what is there and what is missing, in order.
struct SlurmFinding {
  std::string what;
  bool ok = true;
  std::string text;
};
std::vector<SlurmFinding> examine_slurm(const SlurmOptions& options);

}  // namespace thresher::cluster
