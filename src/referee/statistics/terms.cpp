// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "assert.hpp"
#include "referee/statistics/distributions.hpp"

namespace thresher::referee {
namespace {

constexpr double kErrorKeptBack = 0.2;
constexpr double kErrorPerLogHeat = 3;

class Judge {
 public:
  Judge(const HeatValues& values, const DealTerms& terms, const AnalysisOptions& options)
      : values_(values),
        terms_(terms),
        options_(options),
        error_(look_error(1 - terms.confidence, options, values.heat_count)),
        // Accepting needs all problems to pass, so each may err with the full probability. One
        // problem suffices to reject, so there they share it.
        shared_error_(error_ / static_cast<double>(values.problems.size())) {}

  TermStanding gain() const {
    const HeatMean heats = mean_of_heats(values_.geomean_log_ratio);
    const double asked = std::log(terms_.speedup_min);
    const double value = std::exp(heats.mean);
    const double margin = heats.margin(1 - error_);
    const double at_least = std::exp(heats.mean - margin);
    const double at_most = std::exp(heats.mean + margin);
    if (heats.mean >= asked && heats.mean > margin) {
      return {Standing::kMet, fmt::format("geomean {:.3f}x, at least {:.3f}x", value, at_least)};
    }
    if (heats.mean + margin < asked) {
      return {Standing::kBroken, fmt::format("geomean {:.3f}x, at most {:.3f}x; {:.3f}x was asked",
                                             value, at_most, terms_.speedup_min)};
    }
    if (heats.mean >= asked) {
      return {
          Standing::kOpen,
          fmt::format("geomean {:.3f}x, at least {:.3f}x: a gain is not certain", value, at_least),
          heats_needed(heats, heats.mean, 1 - error_)};
    }
    return {Standing::kOpen,
            fmt::format("geomean {:.3f}x, at most {:.3f}x: it may reach the {:.3f}x asked", value,
                        at_most, terms_.speedup_min),
            heats_needed(heats, asked - heats.mean, 1 - error_)};
  }

  TermStanding regression(std::size_t index, const std::string& problem) const {
    const HeatMean heats = mean_of_heats(values_.problems[index].log_ratio);
    const double line = -std::log1p(terms_.regression_max);
    const double distance = heats.mean - line;
    const double value = std::exp(heats.mean);
    const double allowed = std::exp(line);
    const double margin = heats.margin(1 - error_);
    if (distance > margin) return {Standing::kMet, ""};
    const double shared_margin = heats.margin(1 - shared_error_);
    if (distance < -shared_margin) {
      return {Standing::kBroken,
              fmt::format("{}: {:.3f}x, at most {:.3f}x; {:.3f}x is allowed", problem, value,
                          std::exp(heats.mean + shared_margin), allowed)};
    }
    return {Standing::kOpen,
            fmt::format("{}: {:.3f}x, at least {:.3f}x; {:.3f}x is allowed", problem, value,
                        std::exp(heats.mean - margin), allowed),
            heats_needed(heats, std::abs(distance), 1 - (distance > 0 ? error_ : shared_error_))};
  }

  // More heats make the spread better known, not smaller, so an open spread asks for none. It is
  // the challenger's fault only if it is certain and the champion stayed within the limit.
  TermStanding spread(std::size_t index, const std::string& problem) const {
    const HeatMean champion = mean_of_heats(values_.problems[index].champion_log_ns);
    const HeatMean challenger = mean_of_heats(values_.problems[index].challenger_log_ns);
    const bool champion_ok = champion.sd < terms_.spread_max;
    if (champion_ok && challenger.sd < terms_.spread_max) return {Standing::kMet, ""};
    const bool blamed = champion_ok && surely_spreads(challenger);
    return {
        blamed ? Standing::kBroken : Standing::kOpen,
        fmt::format("{}: the {}'s heats spread by {:.1f} %; {:.1f} % is allowed", problem,
                    champion_ok ? "challenger" : "champion",
                    100 * (champion_ok ? challenger.sd : champion.sd), 100 * terms_.spread_max)};
  }

  // Whether the true spread is over the limit: (n-1) s^2 / limit^2 is chi-square on the limit.
  bool surely_spreads(const HeatMean& log_ns) const {
    if (log_ns.count < 2) return false;
    const double df = log_ns.count - 1;
    const double ratio = log_ns.sd / terms_.spread_max;
    return chi_square_cdf(df * ratio * ratio, df) > 1 - shared_error_;
  }

 private:
  const HeatValues& values_;
  const DealTerms& terms_;
  const AnalysisOptions& options_;
  const double error_;
  const double shared_error_;
};

Estimate control_interval(const HeatMean& heats) { return interval(heats, 1 - kControlError / 2); }

std::string to_text(const Estimate& estimate) {
  return fmt::format("{:.3f}x ({:.3f}..{:.3f})", estimate.value, estimate.low, estimate.high);
}

// Whether the control's mean is further from the truth than chance and tolerance explain.
bool is_off(const HeatMean& heats, double truth, double tolerance) {
  const double distance = std::abs(heats.mean - truth);
  return distance > tolerance && distance > heats.margin(1 - kControlError / 2);
}

// Both return what is wrong, or nothing.
std::string complaint_of_same(const HeatMean& heats, const DealTerms& terms) {
  if (!is_off(heats, 0, kSameShareOfGain * std::abs(std::log(terms.speedup_min)))) return "";
  return fmt::format("the champion against its own copy came out at {}",
                     to_text(control_interval(heats)));
}

std::string complaint_of_slowed(const HeatMean& heats, double slowed_truth,
                                const DealTerms& terms) {
  const double truth = std::log(slowed_truth);
  const bool found = heats.upper(terms.confidence) < 0;
  if (found && !is_off(heats, truth, kSlowedShareOfDelay * std::abs(truth))) return "";
  return fmt::format("the champion slowed to {:.3f}x came out at {}{}", slowed_truth,
                     to_text(control_interval(heats)), found ? "" : ", too noisy to be seen");
}

}  // namespace

double look_error(double error, const AnalysisOptions& options, int heat_count) {
  THRESHER_ASSERT(options.heats_min >= 1 && options.heats_max >= options.heats_min);
  if (heat_count > options.heats_max) {
    const double beyond = 1 + std::log(static_cast<double>(heat_count) / options.heats_max);
    return kErrorKeptBack * error / (kErrorPerLogHeat * beyond * beyond);
  }
  const double range = std::log(static_cast<double>(options.heats_max) / options.heats_min);
  return (1 - kErrorKeptBack) * error / (1 + kErrorPerLogHeat * range);
}

std::vector<TermStanding> judge_terms(const HeatValues& values,
                                      const std::vector<std::string>& problems,
                                      const DealTerms& terms, const AnalysisOptions& options) {
  const Judge judge(values, terms, options);
  std::vector<TermStanding> standings{judge.gain()};
  for (std::size_t i = 0; i < problems.size(); ++i) {
    standings.push_back(judge.regression(i, problems[i]));
  }
  for (std::size_t i = 0; i < problems.size(); ++i) {
    standings.push_back(judge.spread(i, problems[i]));
  }
  return standings;
}

bool champion_surely_spreads(const HeatValues& values, const DealTerms& terms,
                             const AnalysisOptions& options) {
  const Judge judge(values, terms, options);
  return std::any_of(values.problems.begin(), values.problems.end(),
                     [&](const HeatValues::OfProblem& problem) {
                       return judge.surely_spreads(mean_of_heats(problem.champion_log_ns));
                     });
}

Controls judge_controls(const MatchSamples& samples, const DealTerms& terms) {
  Controls controls{.slowed_truth = samples.slowed_truth};
  const std::vector<double> same = control_values(samples, &HeatSamples::same);
  const std::vector<double> slowed = control_values(samples, &HeatSamples::slowed);
  if (same.empty() || slowed.empty()) {
    controls.why_not = same.empty() ? "the champion was not measured against its own copy"
                                    : "the champion was not measured with a known delay";
  } else {
    const HeatMean same_heats = mean_of_heats(same);
    const HeatMean slowed_heats = mean_of_heats(slowed);
    controls.same = control_interval(same_heats);
    controls.slowed = control_interval(slowed_heats);
    controls.why_not = complaint_of_same(same_heats, terms);
    if (controls.why_not.empty()) {
      controls.why_not = complaint_of_slowed(slowed_heats, samples.slowed_truth, terms);
    }
  }
  controls.ok = controls.why_not.empty();
  return controls;
}

}  // namespace thresher::referee
