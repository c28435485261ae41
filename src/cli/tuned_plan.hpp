// SPDX-License-Identifier: Apache-2.0
// The plan file that `thresher tune` works on. What it has already stays, and whatever is found is
// on the disk at once, so that whoever is interrupted goes on from there.
#pragma once

#include <filesystem>

#include "engine/plan_file.hpp"

namespace thresher::cli {

class TunedPlan {
 public:
  // An empty path keeps nothing. Throws Error where there is a file that is no plan.
  explicit TunedPlan(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<MachinePlan>& machines() const { return file_.machines; }

  // Null: none.
  const PlanEntry* entry(const PlanFingerprint& machine, const Problem& problem) const;
  const PlanSearch* search(const PlanFingerprint& machine, const Problem& problem) const;

  // In the place of what there was; an entry ends the search.
  void keep(const PlanFingerprint& machine, const PlanEntry& entry);
  void keep(const PlanFingerprint& machine, const PlanSearch& search);
  // Not on the disk before something else is kept.
  void forget(const PlanFingerprint& machine, const Problem& problem);

 private:
  void save() const;

  const std::filesystem::path path_;
  PlanFile file_;
};

}  // namespace thresher::cli
