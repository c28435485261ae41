// SPDX-License-Identifier: Apache-2.0
#include "measure/variant_entrant.hpp"

#include "backend/backend.hpp"
#include "gemm/speed_of_light.hpp"
#include "measure/cold_copies.hpp"

namespace thresher::measure {

std::size_t cold_copy_count(const Engine& engine, const Problem& problem) {
  const double bytes = weight_bytes(problem);
  return engine.state().cold_copies(bytes, cold_copy_count(static_cast<std::size_t>(bytes)));
}

ColdProblem::ColdProblem(const Engine& engine, const Problem& problem, const Inputs& inputs)
    : outputs_(problem, {}),
      counts_(engine.allocate(problem.groups.size() * sizeof(std::uint32_t))) {
  const std::size_t count = cold_copy_count(engine, problem);
  copies_.emplace_back(engine, problem, inputs);
  while (copies_.size() < count) copies_.emplace_back(engine, copies_.front());
  while (placed_outputs_.size() < count) placed_outputs_.emplace_back(engine, outputs_);
  std::vector<std::uint32_t> counts;
  for (const Group& group : problem.groups) counts.push_back(static_cast<std::uint32_t>(group.m));
  counts_.copy_in(std::as_bytes(std::span(counts)));
}

std::vector<GroupOperands> ColdProblem::operands(std::size_t copy) const {
  return copies_[copy].operands(outputs_of(copy));
}

const std::uint32_t* ColdProblem::device_counts() const {
  return static_cast<const std::uint32_t*>(counts_.data());
}

void ColdProblem::poison(std::size_t copy, std::uint64_t seed) {
  outputs_.poison(seed);
  outputs_of(copy).send();
}

std::vector<OutputView> ColdProblem::fetch(std::size_t copy) {
  outputs_of(copy).fetch();
  return outputs_.views();
}

VariantEntrant::VariantEntrant(const Engine& engine, const Problem& problem,
                               const std::string& variant, ColdProblem& cold, bool device_counts)
    : cold_(cold), plan_(engine.plan(problem, variant)), workspace_(engine.workspace(plan_)) {
  for (std::size_t copy = 0; copy < cold.copy_count(); ++copy) {
    const std::vector<GroupOperands> groups = cold.operands(copy);
    const DeviceCounts counts{.counts = device_counts ? cold.device_counts() : nullptr};
    calls_.push_back(engine.bind(plan_, {.groups = groups, .counts = counts}, workspace_));
  }
}

Entrant VariantEntrant::entrant(void* stream) {
  return {.name = variant(),
          .problem = plan_.problem(),
          .enqueue = [this, stream](std::size_t copy) { calls_[copy].enqueue(stream); },
          .poison = [this](std::size_t copy, std::uint64_t seed) { cold_.poison(copy, seed); },
          .fetch = [this](std::size_t copy) { return cold_.fetch(copy); },
          .find_trespass = [this] { return cold_.find_trespass(); }};
}

}  // namespace thresher::measure
