// SPDX-License-Identifier: Apache-2.0
#include "cli/tuned_plan.hpp"

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
  if (!path_.empty() && std::filesystem::exists(path_)) file_ = read_plan_file(path_);
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
  MachinePlan& plan = machine_in(file_, machine);
  put_item(plan.entries, entry);
  drop_item(plan.unfinished, entry.of, entry.tokens);
  save();
}

void TunedPlan::keep(const PlanFingerprint& machine, const PlanSearch& search) {
  put_item(machine_in(file_, machine).unfinished, search);
  save();
}

void TunedPlan::forget(const PlanFingerprint& machine, const Problem& problem) {
  MachinePlan& plan = machine_in(file_, machine);
  drop_item(plan.entries, *plan_class(problem), token_count(problem));
  drop_item(plan.unfinished, *plan_class(problem), token_count(problem));
}

void TunedPlan::save() const {
  if (!path_.empty()) write_plan_file(path_, file_);
}

}  // namespace thresher::cli
