// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_entries.hpp"

#include "assert.hpp"
#include "bench/cold_copies.hpp"
#include "gemm/speed_of_light.hpp"

namespace thresher::cli {
namespace {

Problem with_fp32_output(Problem problem) {
  problem.output = Output::kFp32;
  return problem;
}

}  // namespace

ColdWeights::ColdWeights(const Engine& engine, const Problem& problem, const Inputs& inputs) {
  const auto bytes = static_cast<std::size_t>(weight_bytes(problem));
  const std::size_t copy_count = bench::cold_copy_count(bytes);
  for (std::size_t i = 0; i < copy_count; ++i) copies_.emplace_back(engine, problem, inputs);
}

VariantEntry::VariantEntry(const Engine& engine, const Problem& problem, const std::string& variant,
                           ColdWeights& weights)
    : engine_(engine),
      weights_(weights),
      plan_(engine.plan(problem, variant)),
      workspace_(plan_),
      outputs_(problem, {}) {
  for (std::size_t i = 0; i < weights.copy_count(); ++i) {
    operands_.push_back(weights.copy(i).operands(outputs_));
  }
}

Contestant VariantEntry::contestant() {
  return {.name = plan_.variant(),
          .problem = plan_.problem(),
          .run = [this] { engine_.run(plan_, operands_[weights_.next_index()], workspace_); },
          .outputs = &outputs_};
}

PeerEntry::PeerEntry(Make make, const Problem& problem, const Inputs& inputs, int thread_count)
    : problem_(with_fp32_output(problem)), outputs_(problem_, {}) {
  const bench::Openblas* openblas = bench::Openblas::find();
  THRESHER_ASSERT(openblas != nullptr);
  std::vector<float*> outputs;
  for (std::size_t g = 0; g < problem_.groups.size(); ++g) {
    outputs.push_back(static_cast<float*>(outputs_.c(g)));
  }
  peer_ = make(*openblas, {.problem = problem_,
                           .inputs = inputs,
                           .outputs = std::move(outputs),
                           .thread_count = thread_count});
}

Contestant PeerEntry::contestant() {
  return {.name = peer_->name(),
          .problem = problem_,
          .run = [this] { peer_->run(); },
          .outputs = &outputs_};
}

}  // namespace thresher::cli
