// SPDX-License-Identifier: Apache-2.0
// --on slurm and what goes with it: where matches are played, and by which jobs. docs/cluster.md
// says how.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cluster/coordinator.hpp"
#include "engine/backends.hpp"

namespace thresher::cli {

inline constexpr const char* kHere = "here";
inline constexpr const char* kSlurm = "slurm";

struct ClusterOptions {
  std::string on = kHere;
  std::string partition;
  std::string gres;
  int jobs = 0;  // 0: one here, on a cluster as many as there are nodes
  std::filesystem::path spool;
  // Parts of names of classes of machines; empty: any node will do.
  std::vector<std::string> classes;

  bool is_remote() const { return on != kHere; }
};

std::vector<Option> cluster_options(ClusterOptions& options);

// Throws UsageError where options of a cluster come without one.
void check_cluster(const ClusterOptions& options);

// How many matches are begun together.
int job_count(const ClusterOptions& options);
cluster::SlurmOptions slurm_options(const ClusterOptions& options);

// What --gres gives its nodes: Slurm's word for a device is that of the backend, gpu or gpu:h200:1.
// Null: nothing that is one.
const Backend* backend_given(const ClusterOptions& options);

// The backend of its nodes: of those this machine knows nothing but what was asked for.
const Backend& backend_there(const ClusterOptions& options, const std::string& word,
                             const std::vector<std::string>& variants = {});

// A class is called by any part of its name, in large letters or small; any is, where none is
// named.
bool is_of_class(const std::vector<std::string>& classes, const std::string& machine_class);

// Tasks run this program here, with orders and records in `folder`, as jobs of this name.
cluster::CoordinatorOptions coordinator_options(const std::filesystem::path& folder,
                                                const std::string& job_name);

// Fit for a folder, and for a job that squeue finds by its name.
std::string plain_name(std::string name);
// Twelve of a text's digest.
std::string digits_of(const std::string& text);

// As words of a command that goes on; empty for what is played here.
std::string cluster_words(const ClusterOptions& options);

// The folder that coordinator and nodes share: beside the ledger or plan, unless another is named.
std::filesystem::path spool_folder(const ClusterOptions& options,
                                   const std::filesystem::path& beside);

}  // namespace thresher::cli
