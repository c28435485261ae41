// SPDX-License-Identifier: Apache-2.0
// What an honest engine does, as plainly as possible: products and sums in FP32 in a chosen order,
// one rounding at the end. It shares the decoding with the oracle and nothing else.
#pragma once

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "gemm/conformance.hpp"
#include "gemm/inputs.hpp"
#include "gemm/oracle.hpp"
#include "thresher/problem.hpp"

namespace thresher {

enum class Order { kForwards, kBackwards, kPairwise };

inline float fp32_sum(std::span<const float> terms, Order order) {
  if (order == Order::kPairwise && terms.size() > 1) {
    const std::size_t half = terms.size() / 2;
    return fp32_sum(terms.first(half), order) + fp32_sum(terms.subspan(half), order);
  }
  float sum = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    sum += order == Order::kBackwards ? terms[terms.size() - 1 - i] : terms[i];
  }
  return sum;
}

inline float fp32_product(std::span<const float> a, std::span<const float> b, Order order) {
  std::vector<float> terms(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) terms[i] = a[i] * b[i];
  return fp32_sum(terms, order);
}

inline float fp32_silu(float x) { return x / (1.0f + std::exp(-x)); }

// Outputs of all groups, 4 or 2 bytes per element, rows n apart.
using Buffers = std::vector<std::vector<std::uint8_t>>;

inline Buffers fp32_model(const Problem& problem, const Inputs& inputs, Order order) {
  const auto bytes = static_cast<std::size_t>(bytes_per_element(problem.output));
  Buffers buffers;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const Group& group = problem.groups[g];
    const GroupInputs& in = inputs.groups[g];
    const double a_scale = problem.activations == Activations::kNvfp4 ? in.a.global_scale : 1.0;
    const auto factor = static_cast<float>(a_scale * in.b.global_scale * in.alpha);
    const auto factor_up = static_cast<float>(a_scale * in.b_up.global_scale * in.alpha_up);
    std::vector<std::uint8_t> buffer(static_cast<std::size_t>(group.m * group.n) * bytes);
    for (std::int64_t column = 0; column < group.n; ++column) {
      const WeightRows weights = weight_rows(problem, in, column);
      for (std::int64_t row = 0; row < group.m; ++row) {
        const std::vector<float> a = activation_row(problem, in, group.k, row);
        float value = fp32_product(a, weights.b, order) * factor;
        if (problem.op == Op::kDual) {
          value = fp32_silu(value) * (fp32_product(a, weights.b_up, order) * factor_up);
        }
        const std::uint32_t bits = round_to_output(value, problem.output);
        std::memcpy(&buffer[static_cast<std::size_t>(row * group.n + column) * bytes], &bits,
                    bytes);
      }
    }
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

inline std::vector<OutputView> views_of(const Buffers& buffers) {
  std::vector<OutputView> views;
  for (const auto& buffer : buffers) views.push_back({buffer.data(), 0});
  return views;
}

}  // namespace thresher
