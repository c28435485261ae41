// SPDX-License-Identifier: Apache-2.0
// Float throughout, branches nowhere: compilers make vectors of it. What float's own roundings do
// to an error is far less than the tolerances, which begin at several of them.
#include "gemm/row_compare.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "gemm/bound.hpp"

namespace thresher {
namespace {

constexpr std::size_t kRowLanes = 16;
constexpr float kRoundoff = 0x1p-24f;
constexpr float kTiny = 0x1p-120f;            // keeps quotients finite where nothing is expected
constexpr float kSlopeMax = 1.1f;             // of SiLU
constexpr float kSiluError = 16 * kRoundoff;  // of theirs and of ours
constexpr float kSaturation = 0x1p-120f;      // of SiLU, over its argument
// Half an ulp is a tie, and a tie has one right answer: closer than this there is nothing to ask.
constexpr float kTie = 1 - 0x1p-20f;

// How a value of the output type is made of bits, and what it may be off by.
template <Output output>
struct OutputWords;

template <>
struct OutputWords<Output::kFp16> {
  using Bits = std::uint16_t;
  static constexpr std::uint32_t kInfinity = 0x7c00;
  static constexpr float kHalfUlp = 0x1p-11f;  // of 1
  static constexpr float kHalfUlpMin = 0x1p-25f;

  static float value(std::uint32_t bits) {
    const float magnitude = std::bit_cast<float>((bits & 0x7fff) << 13) * 0x1p112f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & 0x8000) << 16);
  }
};

template <>
struct OutputWords<Output::kBf16> {
  using Bits = std::uint16_t;
  static constexpr std::uint32_t kInfinity = 0x7f80;
  static constexpr float kHalfUlp = 0x1p-8f;
  static constexpr float kHalfUlpMin = 0x1p-134f;

  static float value(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }
};

template <>
struct OutputWords<Output::kFp32> {
  using Bits = std::uint32_t;
  static constexpr std::uint32_t kInfinity = 0x7f800000;
  static constexpr float kHalfUlp = 0x1p-24f;
  static constexpr float kHalfUlpMin = 0x1p-149f;

  static float value(std::uint32_t bits) { return std::bit_cast<float>(bits); }
};

float magnitude_of(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffu);
}

template <Output output>
float half_ulp_of(float magnitude) {
  using Words = OutputWords<output>;
  const float power = std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) & 0x7f800000u);
  const float half = power * Words::kHalfUlp;
  return half > Words::kHalfUlpMin ? half : Words::kHalfUlpMin;
}

// e^x for |x| <= 87, right to two ulps: e^x = 2^i * e^r with |r| <= ln(2) / 2.
float exponential(float x) {
  constexpr float kRound = 0x1.8p23f;  // adding it leaves no bits for a fraction
  const float shifted = x * 1.44269504f + kRound;
  const float whole = shifted - kRound;
  const float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  float sum = 1.0f / 5040;
  sum = sum * r + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1;
  sum = sum * r + 1;
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) + 127u) << 23;
  return sum * std::bit_cast<float>(power);
}

float silu_of(float x) {
  const float low = x > -87.0f ? x : -87.0f;
  const float clamped = low < 87.0f ? low : 87.0f;
  return x / (1 + exponential(-clamped));
}

// The same for all elements of a row.
struct RowTolerances {
  float gate_typical = 0;  // times the norm of B's row: typical error of a sum, of both sides
  float up_typical = 0;
  float reach = 0;     // the bound over the typical error
  float relative = 0;  // the bound over the value, where sums are exact
  float flush = 0;
};

struct Right {
  float value = 0;
  float bound = 0;    // before rounding to the output
  float typical = 0;  // likewise
};

float largest(float value, float typical, const RowTolerances& tolerances) {
  return tolerances.reach * typical + tolerances.relative * magnitude_of(value);
}

template <Op op>
Right right_at(const RightRow& row, const RowTolerances& tolerances, std::size_t j) {
  const float gate = row.product.values[j] * row.product.signs[j];
  const float gate_typical = tolerances.gate_typical * row.product.norms[j];
  const float gate_error = largest(gate, gate_typical, tolerances);
  if constexpr (op == Op::kGemm) return {gate, gate_error + tolerances.flush, gate_typical};

  const float up = row.up.values[j] * row.up.signs[j];
  const float up_typical = tolerances.up_typical * row.up.norms[j];
  const float up_error = largest(up, up_typical, tolerances);
  const float s = silu_of(gate);
  const float s_size = magnitude_of(s);
  const float up_size = magnitude_of(up);
  const float s_error = kSlopeMax * gate_error + kSiluError * (s_size + kSlopeMax * gate_error) +
                        kSaturation * (magnitude_of(gate) + gate_error);
  const float value = s * up;
  const float own = kSiluError * magnitude_of(value);
  return {value,
          s_size * up_error + up_size * s_error + s_error * up_error + own + tolerances.flush,
          s_size * up_typical + up_size * kSlopeMax * gate_typical + own};
}

struct Element {
  float error_over_bound = 0;
  float square = 0;
  std::uint32_t magnitude_bits = 0;
};

template <Op op, Output output>
Element compare_at(const RightRow& row, const RowTolerances& tolerances,
                   const typename OutputWords<output>::Bits* c, std::size_t j) {
  using Words = OutputWords<output>;
  const std::uint32_t bits = c[j];
  const Right right = right_at<op>(row, tolerances, j);
  const float error = magnitude_of(Words::value(bits) - right.value);
  const float half = half_ulp_of<output>(magnitude_of(right.value) + right.typical);
  const float expected = half * half * (1.0f / 3) + right.typical * right.typical + kTiny;
  return {error / (half + right.bound), error * error / expected,
          bits & (Words::kInfinity | (Words::kInfinity - 1))};
}

RowTolerances tolerances_of(const RightRow& row, Rigour rigour) {
  const ExactSum unit{.value = 1, .magnitude = 1, .factor = 0, .rms = 0};
  const ExactSum nothing{.value = 0, .magnitude = 0, .factor = row.product.factor, .rms = 0};
  RowTolerances tolerances{.flush = static_cast<float>(sum_error(nothing, row.k))};
  // Errors of both sides add up.
  if (rigour == Rigour::kSums) {
    tolerances.relative = static_cast<float>(2 * exact_sum_error(unit, row.k));
  } else if (rigour != Rigour::kBits) {
    const double rms_of_norms = 1 / std::sqrt(static_cast<double>(row.k));
    const double typical = 2 * typical_sum_error(rms_of_norms, row.k);
    tolerances.gate_typical = static_cast<float>(typical * row.product.norm);
    tolerances.up_typical = static_cast<float>(typical * row.up.norm);
    tolerances.reach = static_cast<float>(2 * sum_error(unit, row.k) / typical);
  }
  return tolerances;
}

template <Op op, Output output>
RowFinding compare(const RightRow& row, const void* c, Rigour rigour) {
  const auto* bits = static_cast<const typename OutputWords<output>::Bits*>(c);
  const RowTolerances tolerances = tolerances_of(row, rigour);
  const auto n = static_cast<std::size_t>(row.n);
  std::array<float, kRowLanes> worst{};
  std::array<float, kRowLanes> squares{};
  std::array<std::uint32_t, kRowLanes> largest_bits{};
  double all_squares = 0;
  const auto take = [&](std::size_t j, std::size_t lane) {
    const Element element = compare_at<op, output>(row, tolerances, bits, j);
    worst[lane] = element.error_over_bound > worst[lane] ? element.error_over_bound : worst[lane];
    squares[lane] += element.square;
    largest_bits[lane] =
        element.magnitude_bits > largest_bits[lane] ? element.magnitude_bits : largest_bits[lane];
  };
  std::size_t j = 0;
  for (; j + kRowLanes <= n; j += kRowLanes) {
    for (std::size_t lane = 0; lane < kRowLanes; ++lane) take(j + lane, lane);
    if (j % 1024 != 0) continue;
    for (float& lane : squares) all_squares += std::exchange(lane, 0.0f);
  }
  for (; j < n; ++j) take(j, j % kRowLanes);
  for (const float lane : squares) all_squares += lane;
  const bool finite =
      *std::max_element(largest_bits.begin(), largest_bits.end()) < OutputWords<output>::kInfinity;
  return {.max_error_over_bound = finite ? *std::max_element(worst.begin(), worst.end())
                                         : std::numeric_limits<double>::infinity(),
          .squares = all_squares};
}

template <Op op, Output output>
bool is_suspect(const RightRow& row, const void* c, Rigour rigour, std::size_t j) {
  using Words = OutputWords<output>;
  const auto* bits = static_cast<const typename Words::Bits*>(c);
  const RowTolerances tolerances = tolerances_of(row, rigour);
  const Element element = compare_at<op, output>(row, tolerances, bits, j);
  if (element.magnitude_bits >= Words::kInfinity) return true;
  if (rigour != Rigour::kBits) return !(element.error_over_bound <= 1);
  if (element.error_over_bound < kTie) return false;
  // Exact, so that rounding it says which bits are right.
  const double value = right_at<op>(row, tolerances, j).value;
  return output_value(bits[j], output) != output_value(round_to_output(value, output), output);
}

// Calls function<op, output> as the row says.
template <typename Call>
auto dispatch(const RightRow& row, Call call) {
  const bool dual = row.op == Op::kDual;
  if (row.output == Output::kFp16) {
    return dual ? call.template operator()<Op::kDual, Output::kFp16>()
                : call.template operator()<Op::kGemm, Output::kFp16>();
  }
  if (row.output == Output::kBf16) {
    return dual ? call.template operator()<Op::kDual, Output::kBf16>()
                : call.template operator()<Op::kGemm, Output::kBf16>();
  }
  return dual ? call.template operator()<Op::kDual, Output::kFp32>()
              : call.template operator()<Op::kGemm, Output::kFp32>();
}

}  // namespace

RowFinding compare_row(const RightRow& right, const void* c, Rigour rigour) {
  RowFinding found = dispatch(
      right, [&]<Op op, Output output>() { return compare<op, output>(right, c, rigour); });
  // A tie is nothing yet.
  if (rigour == Rigour::kBits) found.max_error_over_bound /= kTie;
  return found;
}

std::vector<std::int64_t> suspects(const RightRow& right, const void* c, Rigour rigour,
                                   std::size_t count_max) {
  std::vector<std::int64_t> columns;
  for (std::int64_t column = 0; column < right.n && columns.size() < count_max; ++column) {
    const bool suspect = dispatch(right, [&]<Op op, Output output>() {
      return is_suspect<op, output>(right, c, rigour, static_cast<std::size_t>(column));
    });
    if (suspect) columns.push_back(column);
  }
  return columns;
}

}  // namespace thresher
