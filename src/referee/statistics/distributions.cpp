// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/distributions.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "assert.hpp"

namespace thresher::referee {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kIterationsMax = 10000;  // far beyond need: a loop that reaches it is a bug

using Coefficients = std::array<double, 8>;

double polynomial(const Coefficients& coefficients, double x) {
  double sum = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// Lentz's evaluation of the continued fraction b0 + a1/(b1 + a2/(b2 + ...)). `term(i)` gives the
// i-th pair.
struct FractionTerm {
  double a = 0;
  double b = 0;
};

template <typename Term>
double continued_fraction(double b0, Term term) {
  static constexpr double kTiny = 1e-300;  // stands in for a denominator of zero
  const auto nonzero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double value = nonzero(b0);
  double c = value;
  double d = 0;
  for (int i = 1; i < kIterationsMax; ++i) {
    const FractionTerm t = term(i);
    d = 1 / nonzero(t.b + t.a * d);
    c = nonzero(t.b + t.a / c);
    value *= c * d;
    if (std::abs(c * d - 1) < 4 * kEpsilon) return value;
  }
  THRESHER_ASSERT(false && "the continued fraction converges");
  return value;
}

double log_beta(double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }

struct BetaArgument {
  double x = 0;
  double one_minus_x = 0;  // the caller knows it better than a subtraction would
};

// The regularised incomplete beta function I_x(a, b), Abramowitz and Stegun 26.5.8.
double incomplete_beta(double a, double b, double log_beta_ab, BetaArgument at) {
  if (at.x <= 0) return 0;
  if (at.one_minus_x <= 0) return 1;
  // The fraction converges fast on this side of the mean only.
  if (at.x > (a + 1) / (a + b + 2)) {
    return 1 - incomplete_beta(b, a, log_beta_ab, {at.one_minus_x, at.x});
  }
  const auto term = [&](int i) -> FractionTerm {
    if (i == 1) return {1, 1};
    const int half = i / 2;  // 1, 1, 2, 2, 3 ...
    const double m = half;
    return {i % 2 == 0 ? -(a + m - 1) * (a + b + m - 1) * at.x / ((a + 2 * m - 2) * (a + 2 * m - 1))
                       : m * (b - m) * at.x / ((a + 2 * m - 1) * (a + 2 * m)),
            1};
  };
  const double log_front = a * std::log(at.x) + b * std::log(at.one_minus_x) - log_beta_ab;
  return std::exp(log_front) / a * continued_fraction(0, term);
}

class StudentT {
 public:
  explicit StudentT(double degrees_of_freedom)
      : df_(degrees_of_freedom), log_beta_(log_beta(df_ / 2, 0.5)) {
    THRESHER_ASSERT(degrees_of_freedom > 0);
  }

  double density(double t) const {
    return std::exp(-(df_ + 1) / 2 * std::log1p(t * t / df_) - log_beta_) / std::sqrt(df_);
  }

  // P(T > t) for t >= 0, without the cancellation of 1 - cdf.
  double tail(double t) const {
    const double sum = df_ + t * t;
    return incomplete_beta(df_ / 2, 0.5, log_beta_, {df_ / sum, t * t / sum}) / 2;
  }

 private:
  const double df_;
  const double log_beta_;
};

}  // namespace

double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

// Wichura's algorithm AS 241 (1988): rational approximations on three ranges, 16 digits.
double normal_quantile(double probability) {
  THRESHER_ASSERT(probability > 0 && probability < 1);
  constexpr Coefficients kMiddleAbove = {
      3.387132872796366608,  133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
      45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727};
  constexpr Coefficients kMiddleBelow = {1,
                                         42.313330701600911252,
                                         687.1870074920579083,
                                         5394.1960214247511077,
                                         21213.794301586595867,
                                         39307.89580009271061,
                                         28729.085735721942674,
                                         5226.495278852545925};
  constexpr Coefficients kOuterAbove = {1.42343711074968357734,  4.6303378461565452959,
                                        5.7694972214606914055,   3.64784832476320460504,
                                        1.27045825245236838258,  .24178072517745061177,
                                        .0227238449892691845833, 7.7454501427834140764e-4};
  constexpr Coefficients kOuterBelow = {1,
                                        2.05319162663775882187,
                                        1.6763848301838038494,
                                        .68976733498510000455,
                                        .14810397642748007459,
                                        .0151986665636164571966,
                                        5.475938084995344946e-4,
                                        1.05075007164441684324e-9};
  constexpr Coefficients kTailAbove = {6.6579046435011037772,     5.4637849111641143699,
                                       1.7848265399172913358,     .29656057182850489123,
                                       .026532189526576123093,    .0012426609473880784386,
                                       2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr Coefficients kTailBelow = {1,
                                       .59983220655588793769,
                                       .13692988092273580531,
                                       .0148753612908506148525,
                                       7.868691311456132591e-4,
                                       1.8463183175100546818e-5,
                                       1.4215117583164458887e-7,
                                       2.04426310338993978564e-15};

  const double centred = probability - 0.5;
  if (std::abs(centred) <= 0.425) {
    const double r = 0.180625 - centred * centred;
    return centred * polynomial(kMiddleAbove, r) / polynomial(kMiddleBelow, r);
  }
  const double r = std::sqrt(-std::log(centred < 0 ? probability : 1 - probability));
  const double x = r <= 5 ? polynomial(kOuterAbove, r - 1.6) / polynomial(kOuterBelow, r - 1.6)
                          : polynomial(kTailAbove, r - 5) / polynomial(kTailBelow, r - 5);
  return centred < 0 ? -x : x;
}

double student_t_cdf(double t, double degrees_of_freedom) {
  const double tail = StudentT(degrees_of_freedom).tail(std::abs(t));
  return t > 0 ? 1 - tail : tail;
}

double student_t_quantile(double probability, double degrees_of_freedom) {
  THRESHER_ASSERT(probability > 0 && probability < 1);
  if (probability < 0.5) return -student_t_quantile(1 - probability, degrees_of_freedom);
  const StudentT distribution(degrees_of_freedom);
  const double tail = 1 - probability;
  // Two terms of the Cornish-Fisher expansion start below the quantile. The distribution function
  // is concave there, so Newton's steps climb to the quantile and never overshoot it.
  const double z = normal_quantile(probability);
  double t = z + (z * z * z + z) / (4 * degrees_of_freedom);
  for (int i = 0; i < kIterationsMax; ++i) {
    const double step = (distribution.tail(t) - tail) / distribution.density(t);
    t += step;
    if (std::abs(step) <= 1e-7 * t) break;  // the error left is of the order of its square
  }
  return t;
}

double binomial_tail(int success_count, int trial_count, double probability) {
  THRESHER_ASSERT(probability > 0 && probability < 1);
  double sum = 0;
  for (int count = std::max(0, success_count); count <= trial_count; ++count) {
    const double log_ways = std::lgamma(trial_count + 1.0) - std::lgamma(count + 1.0) -
                            std::lgamma(trial_count - count + 1.0);
    sum += std::exp(log_ways + count * std::log(probability) +
                    (trial_count - count) * std::log1p(-probability));
  }
  return std::min(sum, 1.0);
}

}  // namespace thresher::referee
