// SPDX-License-Identifier: Apache-2.0
// thresher doctor --on slurm: what is missing for seasons on a cluster, and what its nodes are.
#pragma once

#include <filesystem>

#include "cli/cluster_options.hpp"

namespace thresher::cli {

struct ClusterVisit {
  ClusterOptions cluster;
  std::string backend = "cpu";  // whose class of machine is asked for
  int task_count = 0;           // empty tasks to time; 0: one that looks at its node
  bool json = false;
};

// The exit code: success when a node has answered.
int examine_cluster(const ClusterVisit& visit);

}  // namespace thresher::cli
