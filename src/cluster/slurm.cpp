// SPDX-License-Identifier: Apache-2.0
#include "cluster/slurm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "cluster/program.hpp"
#include "thresher/error.hpp"

namespace thresher::cluster {
namespace {

constexpr const char* kUsableStates = "idle,mix,alloc,comp";

std::string shell_word(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> split(const std::string& line, char mark, std::size_t parts_max) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (parts.size() + 1 < parts_max) {
    const std::size_t end = line.find(mark, begin);
    if (end == std::string::npos) break;
    parts.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(line.substr(begin));
  return parts;
}

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

[[noreturn]] void complain_of(const ProgramResult& result) {
  throw Error(fmt::format("{}; 'thresher doctor --on slurm' says what a cluster needs",
                          result.complaint()));
}

bool controller_answers() {
  const ProgramResult ping = run_program({"scontrol", "ping"});
  return ping.ok() && ping.out.find(" UP") != std::string::npos;
}

// A refusal is the user's to mend; a controller that is away comes back. sbatch tells them apart in
// words only, so the controller itself is asked.
std::optional<std::string> submit_to_slurm(const SlurmOptions& options, const ArrayJob& array) {
  const ProgramResult result = run_program(sbatch_words(options, array), batch_script(array));
  if (result.ok()) return result.out.substr(0, result.out.find_first_of(";\n"));
  if (result.exit_code == kNoSuchProgram) complain_of(result);
  if (!controller_answers()) return std::nullopt;
  throw Error(fmt::format("Slurm does not take the matches: {}", result.complaint()));
}

std::optional<std::vector<QueuedTask>> look_at_slurm(const std::string& name) {
  const ProgramResult result =
      run_program({"squeue", "-h", "-r", "--name=" + name, "-o", kQueueFormat});
  if (result.exit_code == kNoSuchProgram) complain_of(result);
  if (!result.ok()) return std::nullopt;
  return parse_queue(result.out);
}

// MaxArraySize is one more than the largest index.
int array_size_max() {
  const ProgramResult config = run_program({"scontrol", "show", "config"});
  for (const std::string& line : lines_of(config.out)) {
    if (!line.starts_with("MaxArraySize")) continue;
    return whole_number(line.substr(line.find_last_of(" =") + 1)).value_or(0);
  }
  return 0;
}

SlurmFinding examine_program(const std::string& program) {
  const ProgramResult result = run_program({program, "--version"}, {}, 10);
  if (result.exit_code == kNoSuchProgram) {
    return {
        program, false,
        fmt::format("missing; Debian has it in {}", program == "munge" ? "munge" : "slurm-client")};
  }
  // Without a configuration Slurm's programs do not even say their version: the controller's line
  // says what is wrong.
  const std::string version = result.out.substr(0, result.out.find('\n'));
  return {program, true, result.ok() && !version.empty() ? version : "found"};
}

SlurmFinding examine_munge() {
  const ProgramResult result = run_program({"munge", "-n"}, {}, 10);
  if (result.ok()) return {"credentials", true, "munge makes them here"};
  return {"credentials", false,
          fmt::format("{}; is munged running, with the cluster's key?", result.complaint())};
}

SlurmFinding examine_controller() {
  const ProgramResult result = run_program({"scontrol", "ping"}, {}, 30);
  const bool ok = result.ok() && result.out.find(" UP") != std::string::npos;
  return {"controller", ok, ok ? result.out.substr(0, result.out.find('\n')) : result.complaint()};
}

SlurmFinding examine_partition(const std::string& partition) {
  std::vector<std::string> words{"sinfo", "-h", "-o", "%P: %D nodes %T, at most %l, %G"};
  if (!partition.empty()) words.insert(words.end(), {"-p", partition});
  const ProgramResult result = run_program(words, {}, 30);
  std::vector<std::string> lines = lines_of(result.out);
  const bool ok = result.ok() && usable_node_count(partition) > 0;
  if (lines.empty()) {
    lines.push_back(partition.empty() ? "none" : fmt::format("there is no '{}'", partition));
  }
  return {"partitions", ok,
          fmt::format("{}{}", fmt::join(lines, "\n"), ok ? "" : "\nno node of it can be used")};
}

}  // namespace

std::vector<QueuedTask> parse_queue(const std::string& text) {
  std::vector<QueuedTask> tasks;
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> parts = split(line, '|', 6);
    if (parts.size() < 6) continue;
    const std::optional<int> index = whole_number(parts[1]);
    if (!index) continue;
    tasks.push_back({.comment = parts[4],
                     .index = *index,
                     .job = fmt::format("{}_{}", parts[0], *index),
                     .state = parts[2],
                     .node = parts[3],
                     .reason = parts[5]});
  }
  return tasks;
}

// A minute is what Slurm counts in, and building is not part of a match's own time.
std::vector<std::string> sbatch_words(const SlurmOptions& options, const ArrayJob& array) {
  constexpr double kSecondsOfStarting = 120;
  const int minutes =
      static_cast<int>(std::ceil((2 * array.seconds_max + kSecondsOfStarting) / 60));
  std::vector<std::string> words{
      "sbatch",
      "--parsable",
      "--job-name=" + array.name,
      "--comment=" + array.comment,
      fmt::format("--array=0-{}%{}", array.task_count - 1, options.jobs),
      "--nodes=1",
      "--ntasks=1",
      "--exclusive",
      "--mem=0",
      "--requeue",
      fmt::format("--time={}", minutes),
      "--chdir=" + array.folder.string(),
      "--open-mode=append",
      "--output=" + (array.logs / "%A_%a.txt").string(),
  };
  if (!options.partition.empty()) words.push_back("--partition=" + options.partition);
  if (!options.gres.empty()) words.push_back("--gres=" + options.gres);
  if (!array.excluded_nodes.empty()) {
    words.push_back(fmt::format("--exclude={}", fmt::join(array.excluded_nodes, ",")));
  }
  return words;
}

// The first line of a task's log names its node: who dies at once is seen there by no look at the
// queue.
std::string batch_script(const ArrayJob& array) {
  std::string script = fmt::format("#!/bin/sh\necho \"{}$SLURMD_NODENAME\"\nexec", kNodeLine);
  for (const std::string& word : array.command) script += " " + shell_word(word);
  return script + "\n";
}

// A task of ours has a time to begin only after it was requeued, and that is minutes away.
bool waits_in_vain(const QueuedTask& task) {
  if (task.state == "SPECIAL_EXIT") return true;
  const bool put_off =
      task.reason == "BeginTime" || task.reason.find("requeued held") != std::string::npos;
  return task.state == "PENDING" && put_off;
}

JobQueue slurm_queue(const SlurmOptions& options) {
  JobQueue queue{
      .submit = [options](const ArrayJob& array) { return submit_to_slurm(options, array); },
      .look = look_at_slurm,
      .cancel =
          [](const std::string& job) {
            run_program({"scancel", "--quiet", job});
          },
      .cancel_all =
          [](const std::string& name) {
            run_program({"scancel", "--quiet", "--name=" + name});
          }};
  if (const int size = array_size_max(); size > 0) {
    queue.tasks_per_array_max = std::min(queue.tasks_per_array_max, size);
  }
  return queue;
}

int usable_node_count(const std::string& partition) {
  std::vector<std::string> words{"sinfo", "-h", "-N", "-o", "%N", "-t", kUsableStates};
  if (!partition.empty()) words.insert(words.end(), {"-p", partition});
  const ProgramResult result = run_program(words, {}, 30);
  if (!result.ok()) return 0;
  const std::vector<std::string> lines = lines_of(result.out);
  return static_cast<int>(std::set<std::string>(lines.begin(), lines.end()).size());
}

std::vector<SlurmFinding> examine_slurm(const SlurmOptions& options) {
  std::vector<SlurmFinding> findings;
  for (const char* program : {"sbatch", "squeue", "scancel", "scontrol", "sinfo", "munge"}) {
    findings.push_back(examine_program(program));
  }
  const bool complete =
      std::all_of(findings.begin(), findings.end(), [](const SlurmFinding& one) { return one.ok; });
  if (!complete) return findings;
  const SlurmFinding controller = examine_controller();
  // Who is answered by the controller has shown good credentials.
  findings.push_back(controller.ok ? SlurmFinding{"credentials", true, "the controller takes them"}
                                   : examine_munge());
  findings.push_back(controller);
  if (!controller.ok) return findings;
  findings.push_back(examine_partition(options.partition));
  findings.push_back({"tasks in an array", true, fmt::format("{}", array_size_max())});
  return findings;
}

}  // namespace thresher::cluster
