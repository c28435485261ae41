// SPDX-License-Identifier: Apache-2.0
// Tuning on a cluster's nodes. A problem is one task: its search and the referee's match happen on
// one node, and the plan gets what was found under that node's fingerprint. The plan file has one
// writer, the coordinator here.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/cluster_options.hpp"
#include "cli/tune_run.hpp"

namespace thresher::cli {

struct TunedThere {
  std::vector<TunedProblem> tuned;
  std::vector<std::string> failures;  // of what no node could tune
};

// Each problem once per class of machines that was asked for. What the spool has a record of is
// taken from there, unless the rules say `again`.
TunedThere tune_there(const std::vector<Problem>& problems, const TuneRules& rules,
                      const ClusterOptions& cluster, TunedPlan& plan);

// What a node does with such an order.
nlohmann::json tuning_order(const Problem& problem, const TuneRules& rules);
nlohmann::json tuning_carried_out(const nlohmann::json& order);

}  // namespace thresher::cli
