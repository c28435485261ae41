// SPDX-License-Identifier: Apache-2.0
#include "cli/tuned_plan.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>

namespace thresher::cli {
namespace {

template <class Items>
auto item_for(Items& items, const PlanClass& of, std::int64_t tokens) {
  return std::find_if(items.begin(), items.end(),
                      [&](const auto& item) { return item.of == of && item.tokens == tokens; });
}

template <class Items>
auto item_for(Items& items, const Problem& problem) {
  return item_for(items, *plan_class(problem), token_count(problem));
}

template <class Item>
void put_item(std::vector<Item>& items, const Item& item) {
  const auto found = item_for(items, item.of, item.tokens);
  if (found == items.end()) {
    items.push_back(item);
  } else {
    *found = item;
  }
}

template <class Item>
void drop_item(std::vector<Item>& items, const PlanClass& of, std::int64_t tokens) {
  std::erase_if(items, [&](const Item& item) { return item.of == of && item.tokens == tokens; });
}

}  // namespace

TunedPlan::TunedPlan(std::filesystem::path path) : path_(std::move(path)) {
  if (path_.empty()) return;
  if (std::filesystem::exists(path_)) file_ = read_plan_file(path_);
  check_plan_place(path_);
}

const PlanEntry* TunedPlan::entry(const PlanFingerprint& machine, const Problem& problem) const {
  const MachinePlan* plan = find_machine(file_, machine);
  if (plan == nullptr) return nullptr;
  const auto found = item_for(plan->entries, problem);
  return found == plan->entries.end() ? nullptr : &*found;
}

const PlanSearch* TunedPlan::search(const PlanFingerprint& machine, const Problem& problem) const {
  const MachinePlan* plan = find_machine(file_, machine);
  if (plan == nullptr) return nullptr;
  const auto found = item_for(plan->unfinished, problem);
  return found == plan->unfinished.end() ? nullptr : &*found;
}

void TunedPlan::keep(const PlanFingerprint& machine, const PlanEntry& entry) {
  const Held held = hold();
  std::erase(forgotten_, Forgotten{machine, entry.of, entry.tokens});
  MachinePlan& plan = machine_in(file_, machine);
  put_item(plan.entries, entry);
  drop_item(plan.unfinished, entry.of, entry.tokens);
  save();
}

void TunedPlan::keep(const PlanFingerprint& machine, const PlanSearch& search) {
  const Held held = hold();
  std::erase(forgotten_, Forgotten{machine, search.of, search.tokens});
  put_item(machine_in(file_, machine).unfinished, search);
  save();
}

void TunedPlan::forget(const PlanFingerprint& machine, const Problem& problem) {
  forgotten_.push_back({machine, *plan_class(problem), token_count(problem)});
  drop_forgotten();
}

// Others may have put something there since: another machine that shares the folder, or a tuning
// of other problems. The folder is what can be locked, since the file is replaced.
TunedPlan::Held TunedPlan::hold() {
  if (path_.empty()) return {};
  const std::filesystem::path folder = std::filesystem::absolute(path_).parent_path();
  Held held(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A file system without locks is none to fail on: two that write in the same moment are rare.
  if (held) static_cast<void>(::flock(held.get(), LOCK_EX));
  if (!std::filesystem::exists(path_)) return held;
  file_ = read_plan_file(path_);
  drop_forgotten();
  return held;
}

void TunedPlan::drop_forgotten() {
  for (const Forgotten& one : forgotten_) {
    MachinePlan& plan = machine_in(file_, one.machine);
    drop_item(plan.entries, one.of, one.tokens);
    drop_item(plan.unfinished, one.of, one.tokens);
  }
}

void TunedPlan::save() const {
  if (!path_.empty()) write_plan_file(path_, file_);
}

}  // namespace thresher::cli
