// SPDX-License-Identifier: Apache-2.0
// --on slurm and what goes with it: where matches are played. docs/cluster.md says how.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cluster/slurm.hpp"

namespace thresher::cli {

inline constexpr const char* kHere = "here";
inline constexpr const char* kSlurm = "slurm";

struct ClusterOptions {
  std::string on = kHere;
  std::string partition;
  std::string gres;
  int jobs = 0;  // 0: one here, on a cluster as many as there are nodes
  std::filesystem::path spool;

  bool is_remote() const { return on != kHere; }
};

std::vector<Option> cluster_options(ClusterOptions& options);

// Throws UsageError where options of a cluster come without one.
void check_cluster(const ClusterOptions& options);

// How many matches are begun together.
int job_count(const ClusterOptions& options);
cluster::SlurmOptions slurm_options(const ClusterOptions& options);

// As words of a command that goes on; empty for what is played here.
std::string cluster_words(const ClusterOptions& options);

// The folder that coordinator and nodes share: beside the ledger, unless another is named.
std::filesystem::path spool_folder(const ClusterOptions& options,
                                   const std::filesystem::path& ledger);

}  // namespace thresher::cli
