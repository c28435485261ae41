// SPDX-License-Identifier: Apache-2.0
// Projecting B is exact: its elements are multiples of 2^-10 below 2^12, and 2^24 of them add up to
// less than 2^36: 46 bits of float64's 53.
#include "gemm/projection.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "assert.hpp"
#include "gemm/bound.hpp"
#include "gemm/oracle.hpp"

namespace thresher {
namespace {

// Several sums side by side, or each addition would wait for the one before.
constexpr std::size_t kLanes = 8;
constexpr double kDeviations = 8;
using Lanes = std::array<double, kLanes>;

double total(const Lanes& lanes) { return std::accumulate(lanes.begin(), lanes.end(), 0.0); }

template <typename Term>
double sum_of(std::size_t count, Term term) {
  Lanes lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (; i < count; ++i) lanes[0] += term(i);
  return total(lanes);
}

}  // namespace

Projection project(const Nvfp4Matrix& b, Random& random) {
  const auto n = static_cast<std::size_t>(b.rows);
  const auto k = static_cast<std::size_t>(b.k_elements);
  Projection projection{.direction = std::vector<double>(n),
                        .projected = std::vector<double>(k),
                        .squares = std::vector<double>(k),
                        .norms = std::vector<float>(n)};
  std::vector<float> row(k);
  for (std::size_t j = 0; j < n; ++j) {
    decode_row(b, static_cast<std::int64_t>(j), row);
    const double sign = random.below(2) == 0 ? 1 : -1;
    double* projected = projection.projected.data();
    double* squares = projection.squares.data();
    for (std::size_t i = 0; i < k; ++i) {
      const auto value = static_cast<double>(row[i]);
      projected[i] += sign * value;
      squares[i] += value * value;
    }
    projection.direction[j] = sign;
    projection.norms[j] = static_cast<float>(norm_of(row));
  }
  return projection;
}

RowProjection project_row(std::span<const float> a, const Projection& projection) {
  THRESHER_ASSERT(a.size() == projection.projected.size());
  const double* projected = projection.projected.data();
  const double* squares = projection.squares.data();
  return {.value = sum_of(a.size(), [&](std::size_t i) { return a[i] * projected[i]; }),
          .rms = std::sqrt(
              sum_of(a.size(), [&](std::size_t i) { return double{a[i]} * a[i] * squares[i]; }))};
}

double norm_of(std::span<const float> a) {
  return std::sqrt(sum_of(a.size(), [&](std::size_t i) { return double{a[i]} * a[i]; }));
}

double projection_error(const RowProjection& row, double factor, const Projection& projection) {
  const auto k = static_cast<std::int64_t>(projection.projected.size());
  const auto n = static_cast<double>(projection.direction.size());
  const ExactSum nothing{.value = 0, .magnitude = 0, .factor = factor, .rms = 0};  // but underflow
  return kDeviations *
         (typical_sum_error(std::abs(factor) * row.rms, k) + n * sum_error(nothing, k));
}

double project_result(std::span<const float> c, const Projection& projection) {
  THRESHER_ASSERT(c.size() == projection.direction.size());
  return sum_of(c.size(), [&](std::size_t j) { return c[j] * projection.direction[j]; });
}

}  // namespace thresher
