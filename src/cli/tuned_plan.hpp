// SPDX-License-Identifier: Apache-2.0
// The plan file that `thresher tune` works on. What it has already stays, and what others put there
// meanwhile; whatever is found is on the disk at once, so that whoever is interrupted goes on from
// there.
#pragma once

#include <filesystem>
#include <vector>

#include "engine/plan_file.hpp"
#include "referee/sandbox/scratch.hpp"

namespace thresher::cli {

class TunedPlan {
 public:
  // An empty path keeps nothing. Throws Error where there is a file that is no plan, and where none
  // can be written.
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
  using Held = referee::UniqueFd;
  struct Forgotten {
    PlanFingerprint machine;
    PlanClass of;
    std::int64_t tokens = 0;

    bool operator==(const Forgotten&) const = default;
  };

  Held hold();
  void drop_forgotten();
  void save() const;

  const std::filesystem::path path_;
  PlanFile file_;
  std::vector<Forgotten> forgotten_;  // and nothing kept in their place yet
};

}  // namespace thresher::cli
