// SPDX-License-Identifier: Apache-2.0
#include "gemm/oracle.hpp"

#include <bit>
#include <cmath>

#include "assert.hpp"
#include "gemm/bound.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"

namespace thresher {
namespace {

// A code times its scale has at most 6 significant bits: exact in float.
std::vector<float> decode_row(const Nvfp4Matrix& matrix, std::int64_t row) {
  THRESHER_ASSERT(row >= 0 && row < matrix.rows);
  const std::int64_t k = matrix.k_elements;
  std::vector<float> values(static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t index = row * k + i;
    const std::uint8_t pair = matrix.codes[index / 2];
    const float scale = nvfp4::decode_e4m3(matrix.scales[index / kBlockElements]);
    values[i] = nvfp4::decode_e2m1(i % 2 == 0 ? pair & 15 : pair >> 4) * scale;
  }
  return values;
}

ExactSum exact_sum(std::span<const float> a, std::span<const float> b, double factor) {
  THRESHER_ASSERT(a.size() == b.size());
  double value = 0;
  double magnitude = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double term = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    value += term;
    magnitude += std::abs(term);
  }
  return {factor * value, std::abs(factor) * magnitude, factor};
}

Expected gemm_expected(const ExactSum& sum, std::int64_t k, Output output) {
  return {sum.value, bound_after_rounding(sum.value, sum_error(sum, k), output)};
}

Expected dual_expected(const ExactSum& gate, const ExactSum& up, std::int64_t k, Output output) {
  const double value = silu(gate.value) * up.value;
  const double error = dual_error({.gate = gate.value,
                                   .gate_error = sum_error(gate, k),
                                   .up = up.value,
                                   .up_error = sum_error(up, k)});
  return {value, bound_after_rounding(value, error, output)};
}

}  // namespace

std::vector<float> activation_row(const Problem& problem, const GroupInputs& inputs,
                                  std::int64_t k_elements, std::int64_t row) {
  if (problem.activations == Activations::kNvfp4) return decode_row(inputs.a, row);
  const bool is_fp16 = problem.activations == Activations::kFp16;
  std::vector<float> values(static_cast<std::size_t>(k_elements));
  for (std::int64_t i = 0; i < k_elements; ++i) {
    const std::uint16_t bits = inputs.a16[row * k_elements + i];
    values[i] = is_fp16 ? nvfp4::fp16_to_float(bits) : nvfp4::bf16_to_float(bits);
  }
  return values;
}

WeightRows weight_rows(const Problem& problem, const GroupInputs& inputs, std::int64_t column) {
  WeightRows rows{.b = decode_row(inputs.b, column), .b_up = {}};
  if (problem.op == Op::kDual) rows.b_up = decode_row(inputs.b_up, column);
  return rows;
}

Expected oracle_of_rows(const Problem& problem, const GroupInputs& inputs, std::span<const float> a,
                        const WeightRows& weights) {
  const auto k = static_cast<std::int64_t>(a.size());
  const bool is_nvfp4 = problem.activations == Activations::kNvfp4;
  const double a_scale = is_nvfp4 ? inputs.a.global_scale : 1.0;

  const double factor = a_scale * inputs.b.global_scale * inputs.alpha;
  const ExactSum sum = exact_sum(a, weights.b, factor);
  if (problem.op == Op::kGemm) return gemm_expected(sum, k, problem.output);

  const double factor_up = a_scale * inputs.b_up.global_scale * inputs.alpha_up;
  const ExactSum sum_up = exact_sum(a, weights.b_up, factor_up);
  return dual_expected(sum, sum_up, k, problem.output);
}

Expected oracle(const Problem& problem, const GroupInputs& inputs, std::int64_t group_index,
                std::int64_t row, std::int64_t column) {
  const std::int64_t k = problem.groups[group_index].k;
  return oracle_of_rows(problem, inputs, activation_row(problem, inputs, k, row),
                        weight_rows(problem, inputs, column));
}

std::uint32_t round_to_output(double value, Output output) {
  if (output == Output::kFp16) return nvfp4::double_to_fp16(value);
  if (output == Output::kBf16) return nvfp4::double_to_bf16(value);
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

double output_value(std::uint32_t bits, Output output) {
  if (output == Output::kFp16) return nvfp4::fp16_to_float(static_cast<std::uint16_t>(bits));
  if (output == Output::kBf16) return nvfp4::bf16_to_float(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(bits);
}

}  // namespace thresher
