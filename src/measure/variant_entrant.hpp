// SPDX-License-Identifier: Apache-2.0
// Variants of an engine as entrants: cold copies of a problem, and calls bound to them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "measure/clock.hpp"
#include "measure/guarded_outputs.hpp"
#include "measure/placed_problem.hpp"

namespace thresher::measure {

// How many copies of a problem's weights no cache of the engine's device can hold.
std::size_t cold_copy_count(const Engine& engine, const Problem& problem);

// Copies of a problem's inputs, and outputs that all variants take turns at: where the device has
// memory of its own, for each copy others. Refers to what it is given.
class ColdProblem {
 public:
  ColdProblem(const Engine& engine, const Problem& problem, const Inputs& inputs);

  std::size_t copy_count() const { return copies_.size(); }
  std::vector<GroupOperands> operands(std::size_t copy) const;
  // The m of all groups, in the device's memory.
  const std::uint32_t* device_counts() const;

  void poison(std::size_t copy, std::uint64_t seed);
  std::vector<OutputView> fetch(std::size_t copy);
  std::string find_trespass() const { return outputs_.find_trespass(); }

 private:
  const PlacedOutputs& outputs_of(std::size_t copy) const { return placed_outputs_[copy]; }

  GuardedOutputs outputs_;
  std::deque<PlacedProblem> copies_;
  std::deque<PlacedOutputs> placed_outputs_;
  Buffer counts_;
};

class VariantEntrant {
 public:
  // An empty variant is the engine's choice. With `device_counts` the device alone knows how many
  // tokens each group has.
  VariantEntrant(const Engine& engine, const Problem& problem, const std::string& variant,
                 ColdProblem& cold, bool device_counts);

  const std::string& variant() const { return plan_.variant(); }
  // Points at this object.
  Entrant entrant(void* stream);

 private:
  ColdProblem& cold_;
  Plan plan_;
  Workspace workspace_;
  std::vector<Call> calls_;  // one per copy
};

}  // namespace thresher::measure
