// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_entries.hpp"

#include <algorithm>

#include "assert.hpp"
#include "cpu/features.hpp"
#include "gemm/speed_of_light.hpp"

namespace thresher::cli {
namespace {

// Below 32 KiB of weights this many copies no longer fill cold_bytes(). Such a problem measures the
// cost of a call, and a million tiny allocations would not make it a better measurement.
constexpr std::size_t kCopyCountMax = 4096;

std::size_t copy_count_of(const Problem& problem) {
  const double bytes = weight_bytes(problem);
  if (bytes == 0) return 1;
  const double copy_count = static_cast<double>(cold_bytes()) / bytes;
  if (copy_count >= static_cast<double>(kCopyCountMax)) return kCopyCountMax;
  return static_cast<std::size_t>(copy_count) + 1;
}

Problem with_fp32_output(Problem problem) {
  problem.output = Output::kFp32;
  return problem;
}

}  // namespace

std::size_t cold_bytes() {
  const auto l3_bytes = static_cast<std::size_t>(cpu::caches().l3_bytes);
  return std::max(std::size_t{128} << 20, 4 * l3_bytes);
}

ColdWeights::ColdWeights(const Engine& engine, const Problem& problem, const Inputs& inputs) {
  const std::size_t copy_count = copy_count_of(problem);
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
                           .thread_count = thread_count,
                           .cold_bytes = cold_bytes()});
}

Contestant PeerEntry::contestant() {
  return {.name = peer_->name(),
          .problem = problem_,
          .run = [this] { peer_->run(); },
          .outputs = &outputs_};
}

}  // namespace thresher::cli
