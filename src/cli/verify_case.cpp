// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_case.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gemm/random.hpp"
#include "thresher/error.hpp"

namespace thresher::cli {
namespace {

// Gaps between rows in half of the cases, an odd start in half of them, sometimes both.
measure::OutputShape shape_of(std::uint64_t seed) {
  Random random(seed);
  return {.row_gap_elements = random.below(2) == 0 ? 0 : random.between(1, 9),
          .misalignment_elements = random.below(2) == 0 ? 0 : random.between(1, 15)};
}

std::string describe(const Conformance& conformance) {
  if (conformance.failed_count == 0) return conformance.first_failure;
  return fmt::format("{} of {} elements checked are wrong; {}", conformance.failed_count,
                     conformance.checked_count, conformance.first_failure);
}

Finding failure(std::string what) { return {.ok = false, .what = std::move(what), .twin = {}}; }

}  // namespace

std::uint64_t named_seed(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return Random(seed, hash).next();
}

VerifyCase::VerifyCase(const Engine& engine, const Problem& problem, const Inputs& inputs,
                       CaseOptions options)
    : engine_(engine),
      problem_(problem),
      inputs_(inputs),
      options_(options),
      outputs_(problem, shape_of(options.seed)) {}

Finding VerifyCase::check(const Runner& runner, const RunProblem& run) {
  outputs_.poison(named_seed(options_.seed, runner.name()));
  try {
    run(outputs_);
    if (std::string trespass = outputs_.find_trespass(); !trespass.empty()) {
      return failure(std::move(trespass));
    }
    const std::size_t checked_index = check_bits();
    if (std::string unwritten = find_unwritten(run); !unwritten.empty()) {
      return failure(std::move(unwritten));
    }
    const Conformance& conformance = checked_[checked_index].conformance;
    Finding finding =
        conformance.ok ? compare_with_twin(runner, checked_index) : failure(describe(conformance));
    finding.max_error_over_bound = conformance.max_error_over_bound;
    return finding;
  } catch (const Error& error) {
    return failure(fmt::format("refused to run: {}", error.what()));
  }
}

// An element that kept its poison, and in a second run the opposite poison, was never written.
std::string VerifyCase::find_unwritten(const RunProblem& run) {
  const std::vector<std::size_t> suspects = outputs_.poisoned_elements();
  if (suspects.empty()) return {};
  outputs_.poison_inverted();
  run(outputs_);
  const std::vector<std::size_t> again = outputs_.poisoned_elements();
  for (const std::size_t index : suspects) {
    if (!std::binary_search(again.begin(), again.end(), index)) continue;
    return fmt::format("did not write {}", outputs_.describe_element(index));
  }
  return {};
}

// The index of the outputs' bits among all bits checked so far.
std::size_t VerifyCase::check_bits() {
  std::vector<std::uint8_t> bits = outputs_.elements();
  for (std::size_t i = 0; i < checked_.size(); ++i) {
    if (checked_[i].bits == bits) return i;
  }
  const Conformance conformance =
      witness().judge(problem_.output, outputs_.views(), rigour_of(problem_, options_.family));
  checked_.push_back({std::move(bits), conformance});
  return checked_.size() - 1;
}

const measure::Witness& VerifyCase::witness() {
  if (!witness_) {
    witness_.emplace(engine_, problem_, inputs_,
                     measure::WitnessOptions{.seed = options_.seed,
                                             .oracle_steps_max = options_.oracle_steps_max});
    witness_->testify(inputs_);
  }
  return *witness_;
}

Finding VerifyCase::compare_with_twin(const Runner& runner, std::size_t checked_index) {
  const auto [first, is_new] =
      first_twins_.emplace(runner.twin_set, FirstTwin{runner, checked_index});
  const FirstTwin& twin = first->second;
  if (is_new || twin.checked_index == checked_index) return {};

  const std::vector<std::uint8_t>& bits = checked_[checked_index].bits;
  const std::vector<std::uint8_t>& twin_bits = checked_[twin.checked_index].bits;
  const auto difference = std::mismatch(bits.begin(), bits.end(), twin_bits.begin()).first;
  const auto element_index = static_cast<std::size_t>(difference - bits.begin()) /
                             static_cast<std::size_t>(bytes_per_element(problem_.output));
  Finding finding = failure(fmt::format("not the bits of {}, first at {}", twin.runner.name(),
                                        outputs_.describe_element(element_index)));
  finding.twin = twin.runner;
  return finding;
}

}  // namespace thresher::cli
