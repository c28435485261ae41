// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/selection.hpp"

namespace thresher::cli {
namespace {

constexpr double kJobsMax = 10000;

}  // namespace

std::vector<Option> cluster_options(ClusterOptions& options) {
  return {{.name = "--on",
           .value = &options.on,
           .what = "Where matches are played: on this machine, or as jobs of a cluster",
           .words = {kHere, kSlurm}},
          {.name = "--partition",
           .value = &options.partition,
           .what = "Slurm's partition to play in",
           .default_text = "its default one"},
          {.name = "--gres",
           .value = &options.gres,
           .what = "What a node has to give, in Slurm's words: gpu:h200:1",
           .default_text = "nothing but itself"},
          {.name = "--jobs",
           .value = &options.jobs,
           .what = "Matches that are begun together, before the title is decided",
           .range = {{1, kJobsMax}},
           .default_text = "1; on a cluster one for each of its nodes"},
          {.name = "--spool",
           .value = &options.spool,
           .what = "Folder that this machine and the nodes share",
           .default_text = "beside the ledger"}};
}

void check_cluster(const ClusterOptions& options) {
  if (options.is_remote()) return;
  const bool has_more =
      !options.partition.empty() || !options.gres.empty() || !options.spool.empty();
  if (has_more) throw UsageError("--partition, --gres and --spool are for --on slurm");
}

int job_count(const ClusterOptions& options) {
  if (options.jobs > 0) return options.jobs;
  return options.is_remote() ? std::max(1, cluster::usable_node_count(options.partition)) : 1;
}

cluster::SlurmOptions slurm_options(const ClusterOptions& options) {
  return {.partition = options.partition, .gres = options.gres, .jobs = job_count(options)};
}

std::string cluster_words(const ClusterOptions& options) {
  std::string words = options.jobs > 0 ? fmt::format(" --jobs {}", options.jobs) : "";
  if (!options.is_remote()) return words;
  words += " --on " + options.on;
  const std::pair<const char*, std::string> named[] = {{"--partition", options.partition},
                                                       {"--gres", options.gres},
                                                       {"--spool", options.spool.string()}};
  for (const auto& [name, value] : named) {
    if (!value.empty()) words += fmt::format(" {} {}", name, shell_quoted(value));
  }
  return words;
}

std::filesystem::path spool_folder(const ClusterOptions& options,
                                   const std::filesystem::path& ledger) {
  namespace fs = std::filesystem;
  return fs::absolute(options.spool.empty() ? fs::path(ledger.string() + ".cluster")
                                            : options.spool);
}

}  // namespace thresher::cli
