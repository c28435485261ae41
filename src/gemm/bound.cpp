// SPDX-License-Identifier: Apache-2.0
// The derivation. u = 2^-24 is the unit roundoff of FP32, T the magnitude: the sum of |a*b| over k,
// times |alpha| and the global scales.
//
// 1. The sum. Decoded operands have at most 6 (NVFP4), 11 (fp16) or 8 (bf16) significant bits, so
//    every a*b is exact in FP32. Adding k numbers in any order, to nearest, errs by at most
//    (k-1)*u*T for every k (Jeannerod and Rump, "Improved error bounds for inner products in
//    floating-point arithmetic", 2013). Fused operations and exact integer blocks only take errors
//    away; a scale applied to a block of 16 instead of to its terms puts 15 + k/16 roundings on a
//    path, never more than k. Global scales and alpha cost at most four roundings more, and
//      (1 + (k-1)u) (1 + u)^4 - 1 <= (k-1)u + 4u + 4u*(k-1)u + O(u^2) <= (k+8)u    for k <= 2^24:
//    the bound is (k+8)*u*T with no higher-order term left over.
//
// 2. Underflow. FP32 may flush to zero: an operand (a bf16 subnormal, its weight up to 6*448), its
//    product, and the addition lose less than (2688 + 1 + 1) * 2^-126 per term before `factor`, and
//    each of the k+8 operations of step 1 less than 2^-126 after it. Together less than
//    (k+8) * 2^-126 * (1 + 2690*|factor|): far below half an ulp of fp16, and enough to forgive
//    flushed bf16 and FP32 subnormals in the output. Overflow inside the sum is not forgiven, and
//    an engine forms `factor` in double or otherwise without underflow and overflow of its own.
//
// 3. Dual. |silu'| <= 1.1, so gate_error reaches SiLU's value at most 1.1-fold. An FP32 SiLU is
//    right to 8u relative (exponential 4u, addition u, division u, the rest is slack); where its
//    exponential saturates, between e^84 and e^88.7, it may return anything up to |x| * 2^-120,
//    zero included. The product of s and t adds |s|*error(t) + |t|*error(s) + error(s)*error(t),
//    one rounding and one flush.
//
// 4. The output. y is within `error` of the value, and rounding moves it by at most half an ulp at
//    |value| + error, since ulps grow with the magnitude. Subnormals share the least normal's ulp.
//
// 5. Overflow of the output. Rounding to nearest goes to infinity exactly when, with unbounded
//    exponents, it would go to 2^(largest exponent + 1): 65536 for fp16. So an infinity is judged
//    as that number, or as the value itself where that is larger; a finite result is judged as
//    ever. Near the threshold both can be right. 70000 saturated to 65504 is wrong unless `error`
//    reaches that far, and so is infinity for 65510.
//
// 6. Typical errors. The bound grows with k as no error does that comes from rounding: at k = 7168
//    it has room for activations of 8 bits. Where terms have random signs, as those of natural
//    inputs, a sum of i of them is about sqrt(i/k)*R, with R the root of the sum of (a*b)^2.
//      To nearest: each addition errs by |s|*u/sqrt(3) in the root mean square, independently; k of
//      them one after the other by u*R*sqrt(k/6). Every other order errs by less.
//      Cut off: a tensor core drops what is below the last bit of the largest summand, up to
//      2*u*|s| and towards zero every time. Its shortest instruction adds 8 terms, and k/8 steps
//      err by u * sum of |s|, about (k/8) * u * R * 2/3 * 0.8.
//    (sqrt(k) + k/8) * u * R has room for either, and nearly twice that for the latter. Then the
//    rounding to the output: evenly distributed between -h and h, half an ulp, its mean square is
//    h^2/3. So E[error^2] <= h^2/3 + ((sqrt(k) + k/8) * u * R)^2.
//
// 7. How sure. x = error^2 over that expectation has a mean of at most 1 over the N elements of a
//    call. For rounding alone x lies between 0 and 3 with variance 4/5, and Bernstein's inequality
//    says P(mean >= 1 + t) <= p for t = sqrt(2 * 4/5 * L / N) + 4L/(3N), L = ln(1/p). With p =
//    10^-12 and fewer than 10^6 checked calls in a match, right contestants are accused in fewer
//    than one match in 10^6; sums only add far smaller terms than they are allowed.
//
// 8. Roundings on the way. A foreign kernel may round to 16 bits operands that it has scaled, parts
//    of a sum, the two products of a dual and the result. With v = 2^-8 for bf16 and 2^-11 for fp16
//    a rounding moves a value x by at most v*|x|, evenly distributed: by v/sqrt(3)*|x| or less in
//    the root mean square, and independent ones add up as squares. Two for the operands, two for a
//    dual's products, whose gate reaches SiLU's value 1.1-fold, one for the result, and 16 for the
//    parts of a sum, none of which is larger than the whole but by chance: sqrt(22/3)*v = 2.7*v.
//    Three times v has room for them; of a group with one element in 10^4 that is another's,
//    sqrt(2*10^-4) = 0.014, it has not. One element may be off by 32*v of itself and of what is
//    typical, far more than such roundings make, and far less than what makes a result useless.
#include "gemm/bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thresher {
namespace {

constexpr double kFlush = 0x1p-126;
constexpr double kRoundingsBesidesSum = 8;
constexpr double kUnscaledFlushesPerTerm = 2688 + 2;
constexpr double kSiluSlopeMax = 1.1;
constexpr double kSiluRelativeError = 8 * kUnitRoundoff;
constexpr double kSiluSaturation = 0x1p-120;
constexpr double kTermsPerCut = 8;  // of the narrowest tensor core
constexpr double kSquareVariance = 4.0 / 5;
constexpr double kLogOfChance = 27.63;  // ln(10^12)
constexpr double kRoundingsTogether = 3;
constexpr double kElementOverTogether = 32;

struct Format {
  int mantissa_bits;  // stored ones
  int exponent_min;   // of the least normal value
  int exponent_max;   // of the largest finite value
};

Format format_of(Output output) {
  if (output == Output::kFp16) return {10, -14, 15};
  if (output == Output::kBf16) return {7, -126, 127};
  return {23, -126, 127};
}

double underflow(double factor) {
  return kFlush * (1 + kUnscaledFlushesPerTerm * std::abs(factor));
}

}  // namespace

double half_ulp(double magnitude, Output output) {
  const Format format = format_of(output);
  // ilogb(0) is the smallest int there is, and that of infinity the largest: both clamp.
  const int exponent = std::clamp(std::ilogb(magnitude), format.exponent_min, format.exponent_max);
  return std::ldexp(0.5, exponent - format.mantissa_bits);
}

double sum_error(const ExactSum& sum, std::int64_t k) {
  const double steps = static_cast<double>(k) + kRoundingsBesidesSum;
  return steps * (kUnitRoundoff * sum.magnitude + underflow(sum.factor));
}

double exact_sum_error(const ExactSum& sum, std::int64_t k) {
  const double steps = static_cast<double>(k) + kRoundingsBesidesSum;
  return kRoundingsBesidesSum * kUnitRoundoff * std::abs(sum.value) + steps * underflow(sum.factor);
}

double typical_sum_error(double sum_rms, std::int64_t k) {
  const auto terms = static_cast<double>(k);
  return (std::sqrt(terms) + terms / kTermsPerCut) * kUnitRoundoff * sum_rms;
}

double silu(double x) { return x / (1 + std::exp(-x)); }

double dual_error(const DualSums& sums) {
  const double s = std::abs(silu(sums.gate));
  const double t = std::abs(sums.up);
  const double gate_reach = std::abs(sums.gate) + sums.gate_error;
  const double s_moved = kSiluSlopeMax * sums.gate_error;
  const double s_error =
      s_moved + kSiluRelativeError * (s + s_moved) + kSiluSaturation * gate_reach;
  const double t_error = sums.up_error;
  const double product_error = s * t_error + t * s_error + s_error * t_error;
  return product_error + kUnitRoundoff * (s * t + product_error) + kFlush;
}

double bound_after_rounding(double value, double error, Output output) {
  return error + half_ulp(std::abs(value) + error, output);
}

double mean_square_after_rounding(double value, double error, Output output) {
  const double half = half_ulp(std::abs(value), output);
  return half * half / 3 + error * error;
}

double precision_limit(double element_count) {
  return 1 + std::sqrt(2 * kSquareVariance * kLogOfChance / element_count) +
         4 * kLogOfChance / (3 * element_count);
}

double together_limit(Output output) { return kRoundingsTogether * half_ulp(1, output); }

double together_element_limit(Output output) { return kElementOverTogether * half_ulp(1, output); }

double distance(double result, double value, Output output) {
  if (std::isnan(result) || std::isnan(value)) return std::numeric_limits<double>::infinity();
  if (std::isfinite(result)) return std::abs(result - value);
  const double infinity_from = std::ldexp(1.0, format_of(output).exponent_max + 1);
  const double value_along_result = std::signbit(result) ? -value : value;
  return std::max(0.0, infinity_from - value_along_result);
}

}  // namespace thresher
