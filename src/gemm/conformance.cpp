// SPDX-License-Identifier: Apache-2.0
#include "gemm/conformance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <tuple>

#include "gemm/bound.hpp"
#include "gemm/oracle.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

struct Place {
  std::int64_t row = 0;
  std::int64_t column = 0;

  bool operator<(const Place& other) const {
    return std::tie(row, column) < std::tie(other.row, other.column);
  }
};

// One element: what came out and what is right.
struct Finding {
  Place place;
  std::uint32_t bits = 0;
  Expected expected;
};

class GroupCheck {
 public:
  GroupCheck(const Problem& problem, const GroupInputs& inputs, const Group& group,
             const OutputView& output, Rigour rigour)
      : problem_(problem),
        inputs_(inputs),
        group_(group),
        output_(output),
        rigour_(rigour),
        a_rows_(static_cast<std::size_t>(group_.m)) {}

  void check(const Place& place, Conformance& result) {
    const Finding finding{place, load_bits(place), expect(place)};
    const double value = output_value(finding.bits, problem_.output);
    const double error = distance(value, finding.expected.value, problem_.output);
    const double error_over_bound = error / finding.expected.bound;

    ++result.checked_count;
    result.max_error_over_bound = std::max(result.max_error_over_bound, error_over_bound);
    squares_ += error * error / finding.expected.mean_square;
    together_.add(error, finding.expected.value, problem_.output);
    if (rigour_ == Rigour::kTogether) return;
    if (rigour_ == Rigour::kBits ? has_right_bits(finding) : error_over_bound <= 1) return;
    ++result.failed_count;
    if (!first_failure_ || place < first_failure_->place) first_failure_ = finding;
  }

  const std::optional<Finding>& first_failure() const { return first_failure_; }
  double squares() const { return squares_; }
  const ErrorsTogether& together() const { return together_; }

 private:
  // Rows of A are decoded when first needed and kept; of B only the current column is.
  Expected expect(const Place& place) {
    std::vector<float>& a = a_rows_[place.row];
    if (a.empty()) a = activation_row(problem_, inputs_, group_.k, place.row);
    if (place.column != column_) weights_ = weight_rows(problem_, inputs_, place.column);
    column_ = place.column;
    return oracle_of_rows(problem_, inputs_, a, weights_, rigour_);
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
  const Rigour rigour_;
  std::vector<std::vector<float>> a_rows_;
  WeightRows weights_;
  std::int64_t column_ = -1;
  std::optional<Finding> first_failure_;
  double squares_ = 0;
  ErrorsTogether together_;
};

// Column by column: of weights only one is decoded at a time.
void check_every_place(const Group& group, GroupCheck& check, Conformance& result) {
  for (std::int64_t column = 0; column < group.n; ++column) {
    for (std::int64_t row = 0; row < group.m; ++row) check.check({row, column}, result);
  }
}

std::string describe(const Finding& finding, std::size_t group_index, Output output,
                     Rigour rigour) {
  const double value = output_value(finding.bits, output);
  const std::string place = fmt::format("group {}, row {}, column {}", group_index,
                                        finding.place.row, finding.place.column);
  if (rigour == Rigour::kBits) {
    const std::uint32_t right = round_to_output(finding.expected.value, output);
    return fmt::format("{}: {:.9g} (bits {:#x}) where {:.9g} (bits {:#x}) is right", place, value,
                       finding.bits, output_value(right, output), right);
  }
  return fmt::format("{}: {:.9g} where {:.9g} +- {:.3g} is right", place, value,
                     finding.expected.value, finding.expected.bound);
}

}  // namespace

Rigour rigour_of(const Problem& problem, InputFamily family) {
  if (family == InputFamily::kFull) return Rigour::kBound;
  if (family == InputFamily::kNatural) return Rigour::kTypical;
  return problem.op == Op::kGemm ? Rigour::kBits : Rigour::kSums;
}

void check_views(const Problem& problem, const Inputs& inputs,
                 const std::vector<OutputView>& outputs, Rigour rigour) {
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
  if (rigour == Rigour::kBits && problem.op == Op::kDual) {
    throw Error(fmt::format(
        "problem '{}': a dual cannot be compared bit for bit, SiLU is not exact", problem.name));
  }
}

void judge_precision(const Problem& problem, double squares, Conformance& result) {
  if (result.checked_count == 0) return;
  const auto count = static_cast<double>(result.checked_count);
  result.mean_square = squares / count;
  result.mean_square_max = precision_limit(count);
  result.imprecise = !(result.mean_square <= result.mean_square_max);
  if (!result.imprecise) return;
  result.ok = false;
  if (!result.first_failure.empty()) return;
  result.first_failure = fmt::format(
      "over all {} elements errors are {:.3g} times as large, in the root mean square, as FP32 "
      "sums "
      "and one rounding to {} make them; {:.3g} times is what chance allows",
      result.checked_count, std::sqrt(result.mean_square), to_string(problem.output),
      std::sqrt(result.mean_square_max));
}

void judge_together(const Problem& problem, const std::vector<ErrorsTogether>& groups,
                    Conformance& result) {
  result.max_error_over_bound = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const double over = groups[g].over_limit(problem.output);
    result.max_error_over_bound = std::max(result.max_error_over_bound, over);
    if (over <= 1) continue;
    result.ok = false;
    ++result.failed_count;
    if (!result.first_failure.empty()) continue;
    result.first_failure = fmt::format(
        "group {}: errors are {:.2g} times as large as rounding to {} again and again makes them",
        g, over, to_string(problem.output));
  }
}

std::string find_wrong_element(const Problem& problem, const Inputs& inputs,
                               const std::vector<OutputView>& outputs, Rigour rigour,
                               std::size_t group_index, std::int64_t row, std::int64_t column) {
  GroupCheck check(problem, inputs.groups[group_index], problem.groups[group_index],
                   outputs[group_index], rigour);
  Conformance result;
  check.check({row, column}, result);
  if (result.failed_count == 0) return {};
  return describe(*check.first_failure(), group_index, problem.output, rigour);
}

Conformance check_outputs(const Problem& problem, const Inputs& inputs,
                          const std::vector<OutputView>& outputs, Rigour rigour) {
  check_views(problem, inputs, outputs, rigour);
  Conformance result;
  double squares = 0;
  std::vector<ErrorsTogether> together;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const Group& group = problem.groups[g];
    GroupCheck check(problem, inputs.groups[g], group, outputs[g], rigour);
    check_every_place(group, check, result);
    squares += check.squares();
    together.push_back(check.together());
    if (result.first_failure.empty() && check.first_failure()) {
      result.first_failure = describe(*check.first_failure(), g, problem.output, rigour);
    }
  }
  result.ok = result.failed_count == 0;
  if (rigour == Rigour::kTypical) judge_precision(problem, squares, result);
  if (rigour == Rigour::kTogether) judge_together(problem, together, result);
  return result;
}

}  // namespace thresher
