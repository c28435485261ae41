// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/backend_option.hpp"
#include "cli/selection.hpp"
#include "engine/backends.hpp"

namespace thresher::cli {
namespace {

std::string why_foreign_here(const MachinePlan& plan, const backend::Device& device) {
  PlanFingerprint here = fingerprint_of(device);
  here.thread_count = plan.fingerprint.thread_count;
  return why_foreign(plan.fingerprint, here);
}

// The group with the most rows and the one with the fewest: kernels see no others than in between,
// and nobody waits for all experts of a layer.
Problem with_two_groups(Problem problem) {
  const auto [fewest, most] =
      std::minmax_element(problem.groups.begin(), problem.groups.end(),
                          [](const Group& a, const Group& b) { return a.m < b.m; });
  if (problem.groups.size() > 2) problem.groups = {*most, *fewest};
  return problem;
}

}  // namespace

const Backend* backend_of_plan(const PlanFile& file) {
  for (const MachinePlan& plan : file.machines) {
    const Backend* backend = find_backend(plan.fingerprint.backend);
    if (backend == nullptr) continue;
    const EngineOptions options = engine_options(*backend);
    if (!backend->why_not(options).empty()) continue;
    if (why_foreign_here(plan, Engine(options).state()).empty()) return backend;
  }
  return nullptr;
}

PlanToVerify plan_to_verify(const PlanFile& file, const backend::Device& device) {
  PlanToVerify found;
  for (std::size_t i = 0; i < file.machines.size(); ++i) {
    const MachinePlan& plan = file.machines[i];
    if (const std::string why = why_foreign_here(plan, device); !why.empty()) {
      found.left_out.push_back(fmt::format("machine {} is left out: {}", i, why));
      continue;
    }
    for (std::size_t j = 0; j < plan.entries.size(); ++j) {
      const PlanEntry& entry = plan.entries[j];
      if (!entry.better) continue;
      if (const std::string why = why_not_entry(entry, device); !why.empty()) {
        found.left_out.push_back(fmt::format("machine {}: entry {} is left out: {}", i, j, why));
        continue;
      }
      found.variants.push_back(entry.variant);
      found.problems.push_back(with_two_groups(problem_of(entry)));
    }
  }
  found.variants = distinct(found.variants);
  return found;
}

}  // namespace thresher::cli
