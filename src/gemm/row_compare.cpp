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

// Elements are compared in chunks, one plain loop after the other over arrays of floats: that is
// what compilers make vectors of.
constexpr std::size_t kChunk = 128;
using Chunk = std::array<float, kChunk>;

struct RightChunk {
  Chunk value;
  Chunk bound;    // before rounding to the output
  Chunk typical;  // likewise
};

struct ProductChunk {
  Chunk value;
  Chunk error;
  Chunk typical;
};

void take_product(const RightProduct& product, std::size_t begin, std::size_t count, float typical,
                  const RowTolerances& tolerances, ProductChunk& chunk) {
  const float* values = product.values + begin;
  const float* signs = product.signs + begin;
  const float* norms = product.norms + begin;
  const float reach = tolerances.reach;
  const float relative = tolerances.relative;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = values[i] * signs[i];
    const float usual = typical * norms[i];
    chunk.value[i] = value;
    chunk.typical[i] = usual;
    chunk.error[i] = reach * usual + relative * magnitude_of(value);
  }
}

// What is right for a gemm is its product.
void take_gemm(const ProductChunk& product, std::size_t count, float flush, RightChunk& right) {
  for (std::size_t i = 0; i < count; ++i) {
    right.value[i] = product.value[i];
    right.bound[i] = product.error[i] + flush;
    right.typical[i] = product.typical[i];
  }
}

void take_dual(const ProductChunk& gate, const ProductChunk& up, std::size_t count, float flush,
               RightChunk& right) {
  for (std::size_t i = 0; i < count; ++i) {
    const float s = silu_of(gate.value[i]);
    const float s_size = magnitude_of(s);
    const float up_size = magnitude_of(up.value[i]);
    const float s_moved = kSlopeMax * gate.error[i];
    const float s_error = s_moved + kSiluError * (s_size + s_moved) +
                          kSaturation * (magnitude_of(gate.value[i]) + gate.error[i]);
    const float value = s * up.value[i];
    const float own = kSiluError * magnitude_of(value);
    right.value[i] = value;
    right.bound[i] = s_size * up.error[i] + up_size * s_error + s_error * up.error[i] + own + flush;
    right.typical[i] = s_size * up.typical[i] + up_size * kSlopeMax * gate.typical[i] + own;
  }
}

template <Op op>
void take_right(const RightRow& row, const RowTolerances& tolerances, std::size_t begin,
                std::size_t count, RightChunk& right) {
  ProductChunk gate;
  take_product(row.product, begin, count, tolerances.gate_typical, tolerances, gate);
  if constexpr (op == Op::kGemm) {
    take_gemm(gate, count, tolerances.flush, right);
  } else {
    ProductChunk up;
    take_product(row.up, begin, count, tolerances.up_typical, tolerances, up);
    take_dual(gate, up, count, tolerances.flush, right);
  }
}

struct ErrorChunk {
  Chunk over_bound;
  Chunk square;  // over what is expected
  std::array<std::int32_t, kChunk> magnitude_bits;
};

template <Output output>
void compare_chunk(const typename OutputWords<output>::Bits* c, std::size_t count,
                   const RightChunk& right, ErrorChunk& errors) {
  using Words = OutputWords<output>;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = c[i];
    const float error = magnitude_of(Words::value(bits) - right.value[i]);
    const float half = half_ulp_of<output>(magnitude_of(right.value[i]) + right.typical[i]);
    const float expected = half * half * (1.0f / 3) + right.typical[i] * right.typical[i] + kTiny;
    errors.over_bound[i] = error / (half + right.bound[i]);
    errors.square[i] = error * error / expected;
    errors.magnitude_bits[i] =
        static_cast<std::int32_t>(bits & (Words::kInfinity | (Words::kInfinity - 1)));
  }
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

// Many maxima and sums side by side, which needs no order of float operations to be changed.
struct RowLanes {
  std::array<float, kRowLanes> worst = {};
  std::array<float, kRowLanes> squares = {};
  std::array<std::int32_t, kRowLanes> bits = {};

  void add(const ErrorChunk& errors) {
    for (std::size_t i = 0; i < kChunk; i += kRowLanes) {
      for (std::size_t lane = 0; lane < kRowLanes; ++lane) {
        const float over_bound = errors.over_bound[i + lane];
        const std::int32_t magnitude = errors.magnitude_bits[i + lane];
        worst[lane] = over_bound > worst[lane] ? over_bound : worst[lane];
        squares[lane] += errors.square[i + lane];
        bits[lane] = magnitude > bits[lane] ? magnitude : bits[lane];
      }
    }
  }
};

template <Op op, Output output>
RowFinding compare(const RightRow& row, const void* c, Rigour rigour) {
  using Words = OutputWords<output>;
  const auto* elements = static_cast<const typename Words::Bits*>(c);
  const RowTolerances tolerances = tolerances_of(row, rigour);
  const auto n = static_cast<std::size_t>(row.n);
  RightChunk right;
  ErrorChunk errors;
  RowFinding found;
  float worst = 0;
  std::int32_t largest_bits = 0;
  for (std::size_t begin = 0; begin < n; begin += kChunk) {
    const std::size_t count = std::min(kChunk, n - begin);
    if (count < kChunk) errors = {};  // what is left over counts as right
    take_right<op>(row, tolerances, begin, count, right);
    compare_chunk<output>(elements + begin, count, right, errors);
    RowLanes lanes;
    lanes.add(errors);
    worst = std::max(worst, *std::max_element(lanes.worst.begin(), lanes.worst.end()));
    largest_bits = std::max(largest_bits, *std::max_element(lanes.bits.begin(), lanes.bits.end()));
    for (const float lane : lanes.squares) found.squares += lane;
  }
  const bool finite = largest_bits < static_cast<std::int32_t>(Words::kInfinity);
  found.max_error_over_bound = finite ? worst : std::numeric_limits<double>::infinity();
  return found;
}

template <Op op, Output output>
bool is_suspect(const RightRow& row, const void* c, Rigour rigour, std::size_t j) {
  using Words = OutputWords<output>;
  const auto* element = static_cast<const typename Words::Bits*>(c) + j;
  RightChunk right;
  ErrorChunk errors;
  take_right<op>(row, tolerances_of(row, rigour), j, 1, right);
  compare_chunk<output>(element, 1, right, errors);
  if (errors.magnitude_bits[0] >= static_cast<std::int32_t>(Words::kInfinity)) return true;
  if (rigour != Rigour::kBits) return !(errors.over_bound[0] <= 1);
  if (errors.over_bound[0] < kTie) return false;
  // Exact, so that rounding it says which bits are right.
  const std::uint32_t bits = round_to_output(right.value[0], output);
  return output_value(*element, output) != output_value(bits, output);
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

void ErrorsTogether::add(double error, double right, Output output) {
  if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
  error_squares += error * error;
  right_squares += right * right;
  const double allowed = together_element_limit(output) * std::abs(right);
  largest_excess = std::max(largest_excess, std::abs(error) - allowed);
  count += 1;
}

void ErrorsTogether::add(const ErrorsTogether& others) {
  error_squares += others.error_squares;
  right_squares += others.right_squares;
  largest_excess = std::max(largest_excess, others.largest_excess);
  count += others.count;
}

double ErrorsTogether::over_limit(Output output) const {
  if (error_squares == 0) return 0;
  const double together = std::sqrt(error_squares / right_squares) / together_limit(output);
  const double typical = std::sqrt(right_squares / count);
  return std::max(together, largest_excess / (together_element_limit(output) * typical));
}

ErrorsTogether errors_of_row(const RightRow& right, const void* c) {
  return dispatch(right, [&]<Op op, Output output>() {
    using Words = OutputWords<output>;
    const auto* elements = static_cast<const typename Words::Bits*>(c);
    const RowTolerances tolerances = tolerances_of(right, Rigour::kTogether);
    const auto n = static_cast<std::size_t>(right.n);
    ErrorsTogether errors;
    RightChunk chunk;
    for (std::size_t begin = 0; begin < n; begin += kChunk) {
      const std::size_t count = std::min(kChunk, n - begin);
      take_right<op>(right, tolerances, begin, count, chunk);
      for (std::size_t i = 0; i < count; ++i) {
        const double value = output_value(elements[begin + i], output);
        errors.add(value - chunk.value[i], chunk.value[i], output);
      }
    }
    return errors;
  });
}

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
