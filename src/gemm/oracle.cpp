// SPDX-License-Identifier: Apache-2.0
#include "gemm/oracle.hpp"

#include <array>
#include <bit>
#include <cmath>

#include "assert.hpp"
#include "gemm/bound.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"

namespace thresher {
namespace {

std::vector<float> decoded_row(const Nvfp4Matrix& matrix, std::int64_t row) {
  std::vector<float> values(static_cast<std::size_t>(matrix.k_elements));
  decode_row(matrix, row, values);
  return values;
}

// Byte by byte of codes: both values of each.
constexpr auto kCodePairs = [] {
  std::array<std::array<float, 2>, 256> pairs{};
  for (std::size_t byte = 0; byte < pairs.size(); ++byte) {
    const auto codes = static_cast<std::uint8_t>(byte);
    pairs[byte] = {nvfp4::decode_e2m1(codes & 15), nvfp4::decode_e2m1(codes >> 4)};
  }
  return pairs;
}();

ExactSum exact_sum(std::span<const float> a, std::span<const float> b, double factor) {
  THRESHER_ASSERT(a.size() == b.size());
  double value = 0;
  double magnitude = 0;
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double term = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    value += term;
    magnitude += std::abs(term);
    square += term * term;
  }
  return {factor * value, std::abs(factor) * magnitude, factor,
          std::abs(factor) * std::sqrt(square)};
}

double largest_error(const ExactSum& sum, std::int64_t k, Rigour rigour) {
  const bool exact = rigour == Rigour::kSums || rigour == Rigour::kBits;
  return exact ? exact_sum_error(sum, k) : sum_error(sum, k);
}

Expected expected_of(double value, double error, double typical, Output output) {
  return {.value = value,
          .bound = bound_after_rounding(value, error, output),
          .mean_square = mean_square_after_rounding(value, typical, output)};
}

Expected gemm_expected(const ExactSum& sum, std::int64_t k, Output output, Rigour rigour) {
  return expected_of(sum.value, largest_error(sum, k, rigour), typical_sum_error(sum.rms, k),
                     output);
}

Expected dual_expected(const ExactSum& gate, const ExactSum& up, std::int64_t k, Output output,
                       Rigour rigour) {
  const auto error = [&](double gate_error, double up_error) {
    return dual_error(
        {.gate = gate.value, .gate_error = gate_error, .up = up.value, .up_error = up_error});
  };
  return expected_of(silu(gate.value) * up.value,
                     error(largest_error(gate, k, rigour), largest_error(up, k, rigour)),
                     error(typical_sum_error(gate.rms, k), typical_sum_error(up.rms, k)), output);
}

}  // namespace

// A code times its scale has at most 6 significant bits: exact in float.
void decode_row(const Nvfp4Matrix& matrix, std::int64_t row, std::span<float> values) {
  THRESHER_ASSERT(row >= 0 && row < matrix.rows);
  THRESHER_ASSERT(static_cast<std::int64_t>(values.size()) == matrix.k_elements);
  const std::int64_t first = row * matrix.k_elements;
  const std::uint8_t* codes = matrix.codes.data() + first / 2;
  const std::uint8_t* scales = matrix.scales.data() + first / kBlockElements;
  float* value = values.data();
  for (std::int64_t block = 0; block < matrix.k_elements / kBlockElements; ++block) {
    const float scale = nvfp4::decode_e4m3(scales[block]);
    for (std::int64_t i = 0; i < kBlockElements / 2; ++i, value += 2) {
      const std::array<float, 2>& pair = kCodePairs[*codes++];
      value[0] = pair[0] * scale;
      value[1] = pair[1] * scale;
    }
  }
}

std::vector<float> activation_row(const Problem& problem, const GroupInputs& inputs,
                                  std::int64_t k_elements, std::int64_t row) {
  if (problem.activations == Activations::kNvfp4) return decoded_row(inputs.a, row);
  const bool is_fp16 = problem.activations == Activations::kFp16;
  std::vector<float> values(static_cast<std::size_t>(k_elements));
  for (std::int64_t i = 0; i < k_elements; ++i) {
    const std::uint16_t bits = inputs.a16[row * k_elements + i];
    values[i] = is_fp16 ? nvfp4::fp16_to_float(bits) : nvfp4::bf16_to_float(bits);
  }
  return values;
}

WeightRows weight_rows(const Problem& problem, const GroupInputs& inputs, std::int64_t column) {
  WeightRows rows{.b = decoded_row(inputs.b, column), .b_up = {}};
  if (problem.op == Op::kDual) rows.b_up = decoded_row(inputs.b_up, column);
  return rows;
}

Expected oracle_of_rows(const Problem& problem, const GroupInputs& inputs, std::span<const float> a,
                        const WeightRows& weights, Rigour rigour) {
  const auto k = static_cast<std::int64_t>(a.size());
  const bool is_nvfp4 = problem.activations == Activations::kNvfp4;
  const double a_scale = is_nvfp4 ? inputs.a.global_scale : 1.0;

  const double factor = a_scale * inputs.b.global_scale * inputs.alpha;
  const ExactSum sum = exact_sum(a, weights.b, factor);
  if (problem.op == Op::kGemm) return gemm_expected(sum, k, problem.output, rigour);

  const double factor_up = a_scale * inputs.b_up.global_scale * inputs.alpha_up;
  const ExactSum sum_up = exact_sum(a, weights.b_up, factor_up);
  return dual_expected(sum, sum_up, k, problem.output, rigour);
}

Expected oracle(const Problem& problem, const GroupInputs& inputs, std::int64_t group_index,
                std::int64_t row, std::int64_t column, Rigour rigour) {
  const std::int64_t k = problem.groups[group_index].k;
  return oracle_of_rows(problem, inputs, activation_row(problem, inputs, k, row),
                        weight_rows(problem, inputs, column), rigour);
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
