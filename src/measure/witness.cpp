// SPDX-License-Identifier: Apache-2.0
#include "measure/witness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <optional>
#include <span>

#include "assert.hpp"
#include "backend/backend.hpp"
#include "cpu/side_by_side.hpp"
#include "gemm/projection.hpp"
#include "gemm/random.hpp"
#include "gemm/row_compare.hpp"
#include "rounding.hpp"
#include "thresher/error.hpp"

namespace thresher::measure {
namespace {

constexpr std::size_t kPlaceBytes = 256;
// Rows are looked at in pieces of about so many elements, several at a time.
constexpr std::int64_t kPieceElements = 1 << 17;
constexpr std::size_t kSuspectsMax = 32;  // of a call; the oracle looks at each
constexpr int kTurned = 0x88;             // the signs of both codes of a byte

double steps_of(const Problem& problem) { return flop_count(problem) / 2; }

Problem fp32_gemm_of(const Problem& problem) {
  Problem gemm = problem;
  gemm.op = Op::kGemm;
  gemm.output = Output::kFp32;
  return gemm;
}

// What a dual has two of: weights, and the factor of their product.
struct Side {
  Nvfp4Matrix GroupInputs::*matrix;
  float GroupInputs::*alpha;
};
constexpr Side kSides[] = {{&GroupInputs::b, &GroupInputs::alpha},
                           {&GroupInputs::b_up, &GroupInputs::alpha_up}};

double factor_of(const Problem& problem, const GroupInputs& group, const Side& side) {
  const bool is_nvfp4 = problem.activations == Activations::kNvfp4;
  const double a_scale = is_nvfp4 ? group.a.global_scale : 1.0;
  return a_scale * (group.*side.matrix).global_scale * (group.*side.alpha);
}

// The activations of a group as bytes: codes and scales, or 16-bit values and nothing.
std::array<std::span<const std::byte>, 2> bytes_of(const GroupInputs& group,
                                                   Activations activations) {
  if (activations == Activations::kNvfp4) {
    return {std::as_bytes(std::span(group.a.codes)), std::as_bytes(std::span(group.a.scales))};
  }
  return {std::as_bytes(std::span(group.a16)), std::span<const std::byte>()};
}

std::vector<std::uint8_t> first_codes_of(const Nvfp4Matrix& matrix) {
  const std::int64_t row_bytes = matrix.k_elements / 2;
  std::vector<std::uint8_t> codes;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    codes.push_back(matrix.codes[static_cast<std::size_t>(row * row_bytes)]);
  }
  return codes;
}

}  // namespace

class Witness::Products {
 public:
  Products(const Engine& engine, const Problem& problem, const Inputs& inputs, std::uint64_t seed)
      : engine_(engine),
        problem_(problem),
        plan_(engine.plan(fp32_gemm_of(problem))),
        workspace_(engine.workspace(plan_)) {
    for (std::size_t g = 0; g < problem.groups.size(); ++g) {
      first_elements_.push_back(element_count_);
      element_count_ += problem.groups[g].m * problem.groups[g].n;
      for (std::int64_t row = 0; row < problem.groups[g].m; ++row) rows_.push_back({g, row});
    }
    norms_.resize(rows_.size());
    for (std::size_t side = 0; side < side_count(); ++side) {
      values_[side].resize(static_cast<std::size_t>(element_count_));
    }
    take_weights(inputs, seed);
    for (const std::optional<SideWeights>& weights : weights_) {
      unturned_.emplace_back(weights ? weights->first_codes.size() : 0, 1.0f);
    }
    place(inputs);
  }

  RowSigns row_signs(const Inputs& turned) const {
    RowSigns signs(weights_.size());
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (!weights_[i]) continue;
      const std::vector<std::uint8_t>& known = weights_[i]->first_codes;
      const std::vector<std::uint8_t> codes =
          first_codes_of(turned.groups[group_of(i)].*side_of(i).matrix);
      for (std::size_t row = 0; row < codes.size(); ++row) {
        const int difference = codes[row] ^ known[row];
        THRESHER_ASSERT(difference == 0 || difference == kTurned);
        signs[i].push_back(difference == 0 ? 1.0f : -1.0f);
      }
    }
    return signs;
  }

  const RowSigns& unturned() const { return unturned_; }

  void compute(const Inputs& inputs) {
    send(inputs);
    for (std::size_t side = 0; side < side_count(); ++side) {
      const std::vector<GroupOperands> operands = operands_of(inputs, side);
      engine_.run(plan_, {.groups = operands, .rows = {}, .counts = {}}, workspace_);
      outputs_[side]->copy_out(std::as_writable_bytes(std::span(values_[side])), 0);
    }
  }

  // Every row of every product against float64.
  void prove(const Inputs& inputs) {
    for_each_row([&](std::size_t index) {
      const RowPlace& place = rows_[index];
      const GroupInputs& group = inputs.groups[place.group];
      const std::int64_t k = problem_.groups[place.group].k;
      const std::vector<float> a = activation_row(problem_, group, k, place.row);
      norms_[index] = norm_of(a);
      for (std::size_t side = 0; side < side_count(); ++side) {
        const SideWeights& weights = *weights_[weights_index(place.group, side)];
        const double factor = factor_of(problem_, group, kSides[side]);
        const RowProjection right = project_row(a, weights.projection);
        const double tolerance = projection_error(right, factor, weights.projection);
        const double found = project_result(values_of(place, side), weights.projection);
        if (std::abs(found - factor * right.value) <= tolerance) continue;
        throw Error(fmt::format(
            "problem '{}', group {}, row {}: the engine that outputs are compared with is wrong "
            "itself, its row adds up to {:.9g} where {:.9g} +- {:.3g} is right ({}); see 'thresher "
            "verify'",
            problem_.name, place.group, place.row, found, factor * right.value, tolerance,
            plan_.variant()));
      }
    });
  }

  Conformance judge(const Problem& problem, const Inputs& inputs, const RowSigns& signs,
                    const std::vector<OutputView>& outputs, Rigour rigour) const {
    check_views(problem, inputs, outputs, rigour);
    Conformance result{.checked_count = element_count_};
    if (rigour == Rigour::kTogether) {
      judge_together(problem, errors_together(problem, inputs, signs, outputs), result);
      return result;
    }
    double squares = 0;
    std::vector<std::size_t> suspect_rows;
    std::mutex mutex;
    for_each_row([&](std::size_t index) {
      const RowFinding found = compare_row(right_row(problem, inputs, signs, index),
                                           row_of(problem, outputs, index), rigour);
      const std::lock_guard lock(mutex);
      squares += found.squares;
      result.max_error_over_bound =
          std::max(result.max_error_over_bound, found.max_error_over_bound);
      if (!(found.max_error_over_bound <= 1)) suspect_rows.push_back(index);
    });
    std::sort(suspect_rows.begin(), suspect_rows.end());
    ask_oracle(problem, inputs, signs, outputs, rigour, suspect_rows, result);
    result.ok = result.failed_count == 0;
    // What looked suspect was a tie, or an infinity in its place.
    if (result.ok) result.max_error_over_bound = std::min(result.max_error_over_bound, 1.0);
    if (rigour == Rigour::kTypical) judge_precision(problem, squares, result);
    return result;
  }

 private:
  // The weights of one side of one group that has rows.
  struct SideWeights {
    Weights packed;
    Projection projection;
    std::vector<std::uint8_t> first_codes;  // of its rows
  };

  // A row of the outputs of all groups.
  struct RowPlace {
    std::size_t group = 0;
    std::int64_t row = 0;
  };

  std::size_t side_count() const { return problem_.op == Op::kDual ? 2 : 1; }
  std::size_t weights_index(std::size_t group, std::size_t side) const {
    return group * side_count() + side;
  }
  std::size_t group_of(std::size_t weights_index) const { return weights_index / side_count(); }
  const Side& side_of(std::size_t weights_index) const {
    return kSides[weights_index % side_count()];
  }

  // Packing takes all threads of the engine, projecting a thread per matrix.
  void take_weights(const Inputs& inputs, std::uint64_t seed) {
    weights_.resize(problem_.groups.size() * side_count());
    std::vector<Projection> projections(weights_.size());
    const auto has_rows = [&](std::size_t i) { return problem_.groups[group_of(i)].m > 0; };
    cpu::side_by_side(weights_.size(), [&](std::size_t i) {
      Random random = Random::secret(seed, i);
      if (has_rows(i)) {
        projections[i] = project(inputs.groups[group_of(i)].*side_of(i).matrix, random);
      }
    });
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (!has_rows(i)) continue;
      const Nvfp4Matrix& matrix = inputs.groups[group_of(i)].*side_of(i).matrix;
      weights_[i].emplace(SideWeights{
          .packed = engine_.pack({.b = matrix.view(), .activations = problem_.activations}),
          .projection = std::move(projections[i]),
          .first_codes = first_codes_of(matrix)});
    }
  }

  // Where the activations of each group go, and the products of each side.
  void place(const Inputs& inputs) {
    std::size_t end = 0;
    for (const GroupInputs& group : inputs.groups) {
      for (const std::span<const std::byte> bytes : bytes_of(group, problem_.activations)) {
        activation_offsets_.push_back(end);
        end = round_up(end + bytes.size(), kPlaceBytes);
      }
    }
    staging_.resize(end);
    activations_ = engine_.state().place(staging_);
    for (std::size_t side = 0; side < side_count(); ++side) {
      outputs_[side] = engine_.state().place(std::as_bytes(std::span(values_[side])));
    }
  }

  void send(const Inputs& inputs) {
    std::size_t place = 0;
    for (const GroupInputs& group : inputs.groups) {
      for (const std::span<const std::byte> bytes : bytes_of(group, problem_.activations)) {
        std::copy(bytes.begin(), bytes.end(),
                  staging_.begin() + static_cast<std::ptrdiff_t>(activation_offsets_[place++]));
      }
    }
    activations_->copy_in(staging_, 0);
  }

  std::vector<GroupOperands> operands_of(const Inputs& inputs, std::size_t side) {
    std::vector<GroupOperands> operands;
    for (std::size_t g = 0; g < problem_.groups.size(); ++g) {
      const std::optional<SideWeights>& weights = weights_[weights_index(g, side)];
      GroupOperands& group = operands.emplace_back();
      if (!weights) continue;
      group = {.weights = &weights->packed,
               .a_global_scale = inputs.groups[g].a.global_scale,
               .alpha = inputs.groups[g].*kSides[side].alpha,
               .alpha_up = 1,
               .rows = rows_of(inputs.groups[g], g, side)};
    }
    return operands;
  }

  Rows rows_of(const GroupInputs& inputs, std::size_t g, std::size_t side) const {
    const auto* activations = static_cast<const std::byte*>(activations_->data());
    const bool has_scales = !bytes_of(inputs, problem_.activations)[1].empty();
    return {.a = activations + activation_offsets_[2 * g],
            .a_scales = has_scales ? activations + activation_offsets_[2 * g + 1] : nullptr,
            .c = static_cast<float*>(outputs_[side]->data()) + first_elements_[g],
            .c_stride_elements = problem_.groups[g].n};
  }

  std::span<const float> values_of(const RowPlace& place, std::size_t side) const {
    const std::int64_t n = problem_.groups[place.group].n;
    return std::span(values_[side])
        .subspan(static_cast<std::size_t>(first_elements_[place.group] + place.row * n),
                 static_cast<std::size_t>(n));
  }

  RightProduct right_product(const Inputs& inputs, const RowSigns& signs, std::size_t index,
                             std::size_t side) const {
    const RowPlace& place = rows_[index];
    const std::size_t i = weights_index(place.group, side);
    const double factor = factor_of(problem_, inputs.groups[place.group], kSides[side]);
    return {.values = values_of(place, side).data(),
            .signs = signs[i].data(),
            .norms = weights_[i]->projection.norms.data(),
            .norm = std::abs(factor) * norms_[index],
            .factor = factor};
  }

  RightRow right_row(const Problem& problem, const Inputs& inputs, const RowSigns& signs,
                     std::size_t index) const {
    const Group& group = problem.groups[rows_[index].group];
    RightRow row{.op = problem.op, .output = problem.output, .n = group.n, .k = group.k};
    row.product = right_product(inputs, signs, index, 0);
    if (problem.op == Op::kDual) row.up = right_product(inputs, signs, index, 1);
    return row;
  }

  const void* row_of(const Problem& problem, const std::vector<OutputView>& outputs,
                     std::size_t index) const {
    const RowPlace& place = rows_[index];
    const OutputView& view = outputs[place.group];
    const std::int64_t stride =
        view.stride_elements == 0 ? problem.groups[place.group].n : view.stride_elements;
    return static_cast<const std::byte*>(view.c) +
           place.row * stride * bytes_per_element(problem.output);
  }

  // By group.
  std::vector<ErrorsTogether> errors_together(const Problem& problem, const Inputs& inputs,
                                              const RowSigns& signs,
                                              const std::vector<OutputView>& outputs) const {
    std::vector<ErrorsTogether> groups(problem.groups.size());
    std::mutex mutex;
    for_each_row([&](std::size_t index) {
      const ErrorsTogether errors =
          errors_of_row(right_row(problem, inputs, signs, index), row_of(problem, outputs, index));
      const std::lock_guard lock(mutex);
      groups[rows_[index].group].add(errors);
    });
    return groups;
  }

  void ask_oracle(const Problem& problem, const Inputs& inputs, const RowSigns& signs,
                  const std::vector<OutputView>& outputs, Rigour rigour,
                  std::span<const std::size_t> suspect_rows, Conformance& result) const {
    std::size_t asked_count = 0;
    for (const std::size_t index : suspect_rows) {
      const RightRow row = right_row(problem, inputs, signs, index);
      const std::vector<std::int64_t> columns =
          suspects(row, row_of(problem, outputs, index), rigour, static_cast<std::size_t>(row.n));
      for (const std::int64_t column : columns) {
        // Where one is wrong the others need no second opinion.
        if (result.failed_count == 0) {
          if (asked_count++ == kSuspectsMax) {
            throw Error(
                fmt::format("problem '{}': {} elements are right by the oracle and wrong by "
                            "the engine that outputs are compared with ({})",
                            problem.name, kSuspectsMax, plan_.variant()));
          }
          result.first_failure = find_wrong_element(problem, inputs, outputs, rigour,
                                                    rows_[index].group, rows_[index].row, column);
          if (result.first_failure.empty()) continue;
        }
        ++result.failed_count;
      }
    }
  }

  template <typename Work>
  void for_each_row(Work work) const {
    const std::int64_t rows_per_piece =
        std::max<std::int64_t>(1, kPieceElements * static_cast<std::int64_t>(rows_.size()) /
                                      std::max<std::int64_t>(1, element_count_));
    const auto piece_rows = static_cast<std::size_t>(rows_per_piece);
    cpu::side_by_side(divide_up(rows_.size(), piece_rows), [&](std::size_t piece) {
      const std::size_t end = std::min(rows_.size(), (piece + 1) * piece_rows);
      for (std::size_t index = piece * piece_rows; index < end; ++index) work(index);
    });
  }

  const Engine& engine_;
  const Problem problem_;
  const Plan plan_;
  const Workspace workspace_;
  std::vector<RowPlace> rows_;                // of all groups
  std::vector<std::int64_t> first_elements_;  // of the groups, in values_
  std::int64_t element_count_ = 0;
  std::vector<std::optional<SideWeights>> weights_;  // none for groups without rows
  RowSigns unturned_;
  std::vector<double> norms_;  // of the rows of activations
  std::vector<float> values_[2];
  std::vector<std::size_t> activation_offsets_;  // two per group, in staging_
  std::vector<std::byte> staging_;
  // Of the device.
  std::unique_ptr<backend::Buffer> activations_;
  std::unique_ptr<backend::Buffer> outputs_[2];
};

Witness::Witness(const Engine& engine, const Problem& problem, const Inputs& inputs,
                 const WitnessOptions& options)
    : problem_(problem) {
  if (steps_of(problem) <= options.oracle_steps_max) return;
  products_ = std::make_unique<Products>(engine, problem, inputs, options.seed);
}

Witness::Witness(Witness&&) noexcept = default;
Witness::~Witness() = default;

RowSigns Witness::row_signs(const Inputs& turned) const {
  return products_ ? products_->row_signs(turned) : RowSigns();
}

void Witness::testify(const Inputs& inputs, const RowSigns& signs) {
  inputs_ = &inputs;
  signs_ = &signs;
  if (!products_) return;
  products_->compute(inputs);
  products_->prove(inputs);
}

void Witness::testify(const Inputs& inputs) {
  static const RowSigns none;
  testify(inputs, products_ ? products_->unturned() : none);
}

Conformance Witness::judge(Output output, const std::vector<OutputView>& outputs,
                           Rigour rigour) const {
  THRESHER_ASSERT(inputs_ != nullptr);
  Problem problem = problem_;
  problem.output = output;
  if (!products_) return check_outputs(problem, *inputs_, outputs, rigour);
  return products_->judge(problem, *inputs_, *signs_, outputs, rigour);
}

}  // namespace thresher::measure
