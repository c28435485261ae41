// SPDX-License-Identifier: Apache-2.0
#include "gemm/conformance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

#include "gemm/bound.hpp"
#include "gemm/oracle.hpp"
#include "gemm/sample.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

void check_arguments(const Problem& problem, const Inputs& inputs,
                     const std::vector<OutputView>& outputs, bool bitwise) {
  check(problem);
  const std::size_t group_count = problem.groups.size();
  if (outputs.size() != group_count || inputs.groups.size() != group_count) {
    throw Error(
        fmt::format("problem '{}': {} outputs and inputs for {} groups where it has {} groups",
                    problem.name, outputs.size(), inputs.groups.size(), group_count));
  }
  for (std::size_t g = 0; g < group_count; ++g) {
    if (problem.groups[g].m > 0 && outputs[g].c == nullptr) {
      throw Error(fmt::format("problem '{}', group {}: the output is null", problem.name, g));
    }
    const std::int64_t stride = outputs[g].stride_elements;
    if (stride != 0 && stride < problem.groups[g].n) {
      throw Error(
          fmt::format("problem '{}', group {}: rows are {} elements apart, fewer than n = {}",
                      problem.name, g, stride, problem.groups[g].n));
    }
  }
  if (bitwise && problem.op == Op::kDual) {
    throw Error(fmt::format(
        "problem '{}': a dual cannot be compared bit for bit, SiLU is not exact", problem.name));
  }
}

std::int64_t element_count(const Problem& problem) {
  std::int64_t count = 0;
  for (const Group& group : problem.groups) count += group.m * group.n;
  return count;
}

// One element: what came out and what is right.
struct Finding {
  Place place;
  std::uint32_t bits = 0;
  Expected expected;
};

bool comes_before(const Place& a, const Place& b) {
  return std::tie(a.row, a.column) < std::tie(b.row, b.column);
}

class GroupCheck {
 public:
  GroupCheck(const Problem& problem, const GroupInputs& inputs, const Group& group,
             const OutputView& output)
      : problem_(problem),
        inputs_(inputs),
        group_(group),
        output_(output),
        a_rows_(static_cast<std::size_t>(group_.m)) {}

  void check(const Place& place, bool bitwise, Conformance& result) {
    const Finding finding{place, load_bits(place), expect(place)};
    const double value = output_value(finding.bits, problem_.output);
    const double error = distance(value, finding.expected.value, problem_.output);
    const double error_over_bound = error / finding.expected.bound;

    ++result.checked_count;
    result.max_error_over_bound = std::max(result.max_error_over_bound, error_over_bound);
    if (bitwise ? has_right_bits(finding) : error_over_bound <= 1) return;
    ++result.failed_count;
    if (!first_failure_ || comes_before(place, first_failure_->place)) first_failure_ = finding;
  }

  const std::optional<Finding>& first_failure() const { return first_failure_; }

 private:
  // Rows of A are decoded when first needed and kept; of B only the current column is.
  Expected expect(const Place& place) {
    std::vector<float>& a = a_rows_[place.row];
    if (a.empty()) a = activation_row(problem_, inputs_, group_.k, place.row);
    if (place.column != column_) weights_ = weight_rows(problem_, inputs_, place.column);
    column_ = place.column;
    return oracle_of_rows(problem_, inputs_, a, weights_);
  }

  bool has_right_bits(const Finding& finding) const {
    const std::uint32_t right = round_to_output(finding.expected.value, problem_.output);
    const bool both_zero = output_value(finding.bits, problem_.output) == 0 &&
                           output_value(right, problem_.output) == 0;
    return finding.bits == right || both_zero;
  }

  std::uint32_t load_bits(const Place& place) const {
    const std::int64_t stride = output_.stride_elements == 0 ? group_.n : output_.stride_elements;
    const std::int64_t index = place.row * stride + place.column;
    if (problem_.output == Output::kFp32) return load<std::uint32_t>(index);
    return load<std::uint16_t>(index);
  }

  template <typename Bits>
  Bits load(std::int64_t index) const {
    Bits bits;
    std::memcpy(&bits, static_cast<const std::byte*>(output_.c) + index * sizeof bits, sizeof bits);
    return bits;
  }

  const Problem& problem_;
  const GroupInputs& inputs_;
  const Group& group_;
  const OutputView output_;
  std::vector<std::vector<float>> a_rows_;
  WeightRows weights_;
  std::int64_t column_ = -1;
  std::optional<Finding> first_failure_;
};

void check_every_place(const Group& group, bool bitwise, GroupCheck& check, Conformance& result) {
  for (std::int64_t column = 0; column < group.n; ++column) {
    for (std::int64_t row = 0; row < group.m; ++row) check.check({column, row}, bitwise, result);
  }
}

std::string describe(const Finding& finding, std::size_t group_index, Output output, bool bitwise) {
  const double value = output_value(finding.bits, output);
  const std::string place = fmt::format("group {}, row {}, column {}", group_index,
                                        finding.place.row, finding.place.column);
  if (bitwise) {
    const std::uint32_t right = round_to_output(finding.expected.value, output);
    return fmt::format("{}: {:.9g} (bits {:#x}) where {:.9g} (bits {:#x}) is right", place, value,
                       finding.bits, output_value(right, output), right);
  }
  return fmt::format("{}: {:.9g} where {:.9g} +- {:.3g} is right", place, value,
                     finding.expected.value, finding.expected.bound);
}

}  // namespace

bool compares_bitwise(const Problem& problem, InputFamily family) {
  return family == InputFamily::kExact && problem.op == Op::kGemm;
}

Conformance check_outputs(const Problem& problem, const Inputs& inputs,
                          const std::vector<OutputView>& outputs, ConformanceOptions options) {
  check_arguments(problem, inputs, outputs, options.bitwise);
  std::vector<std::vector<Place>> places(problem.groups.size());
  const bool samples = options.sample_count > 0 && options.sample_count < element_count(problem);
  if (samples) places = sample_places(problem, options.sample_count, options.seed);

  Conformance result;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const Group& group = problem.groups[g];
    GroupCheck check(problem, inputs.groups[g], group, outputs[g]);
    for (const Place& place : places[g]) check.check(place, options.bitwise, result);
    if (!samples) check_every_place(group, options.bitwise, check, result);
    if (result.first_failure.empty() && check.first_failure()) {
      result.first_failure = describe(*check.first_failure(), g, problem.output, options.bitwise);
    }
  }
  result.ok = result.failed_count == 0;
  return result;
}

}  // namespace thresher
