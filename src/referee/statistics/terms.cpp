// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

#include "assert.hpp"
#include "referee/statistics/distributions.hpp"

namespace thresher::referee {
namespace {

constexpr double kErrorKeptBack = 0.2;
constexpr double kErrorPerLogHeat = 3;
// To accept a regression is worse than to miss a gain: this share of the error has to do there.
constexpr double kRegressionShare = 0.1;
// So is to convict of a spread that was the machine's, which real machines do to fewer than all
// arms now and then: heats are not quite exchangeable there.
constexpr double kSpreadShare = 0.1;
// And the weather hits no two kernels alike: who suffers from a neighbour a fifth more than usual,
// where the champion suffers a fifth less, spreads this many times as much without a fault of its
// own.
constexpr double kSpreadByWeather = 1.5;
// And to convict of a tail that a few stalls of the machine made: who looks that way and is not
// convicted is not accepted either.
constexpr double kTailShare = 0.02;

std::vector<double> exp_of(const std::vector<double>& values) {
  std::vector<double> results;
  for (const double value : values) results.push_back(std::exp(value));
  return results;
}

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

// Three digits, or so many as tell two numbers apart: "at most 0.971x; 0.971x is allowed" is no
// reason.
int digits_apart(double a, double b) {
  constexpr int kDigits = 3;
  constexpr int kDigitsMax = 6;
  int digits = kDigits;
  while (digits < kDigitsMax &&
         fmt::format("{:.{}f}", a, digits) == fmt::format("{:.{}f}", b, digits)) {
    ++digits;
  }
  return digits;
}

// "p2: 0.990x, at least 0.927x; 0.971x is allowed".
std::string compared(const std::string& problem, double value, const char* bounded, double bound,
                     double allowed) {
  return fmt::format("{0}: {1:.{5}f}x, {2} {3:.{5}f}x; {4:.{5}f}x is allowed", problem, value,
                     bounded, bound, allowed, digits_apart(bound, allowed));
}

// To accept is the graver error.
HeatMean cautious_heats(const HeatValues::OfProblem& values) {
  HeatMean heats = mean_of_heats(values.log_ratio);
  heats.sd = std::max(heats.sd, values.log_ratio_sd_min);
  return heats;
}

class Judge {
 public:
  Judge(const HeatValues& values, const DealTerms& terms, const AnalysisOptions& options)
      : values_(values),
        terms_(terms),
        options_(options),
        error_(error_after(values.heat_count)),
        // Accepting needs all problems to pass, so each may err with the full probability. One
        // problem suffices to reject, so there they share it.
        shared_error_(error_ / problem_count()) {}

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
      const int digits = digits_apart(at_most, terms_.speedup_min);
      return {Standing::kBroken, fmt::format("geomean {0:.{3}f}x, at most {1:.{3}f}x; {2:.{3}f}x "
                                             "was asked",
                                             value, at_most, terms_.speedup_min, digits)};
    }
    if (heats.mean >= asked) {
      return {.finding = fmt::format("geomean {:.3f}x, at least {:.3f}x: a gain is not certain",
                                     value, at_least),
              .heats_needed = heats_needed(heats, heats.mean, confidence_sharing(1)),
              .would_be_met = true};
    }
    return {.finding = fmt::format("geomean {:.3f}x, at most {:.3f}x: it may reach the {:.3f}x "
                                   "asked",
                                   value, at_most, terms_.speedup_min),
            .heats_needed = heats_needed(heats, asked - heats.mean, confidence_sharing(1))};
  }

  TermStanding regression(std::size_t index, const std::string& problem) const {
    const HeatValues::OfProblem& of_problem = values_.problems[index];
    const HeatMean heats = mean_of_heats(of_problem.log_ratio);
    const HeatMean cautious = cautious_heats(of_problem);
    const double line = -std::log1p(terms_.regression_max);
    const double distance = heats.mean - line;
    const double value = std::exp(heats.mean);
    const double allowed = std::exp(line);
    const double lower = regression_lower(of_problem, error_);
    if (lower > line) return {Standing::kMet, ""};
    const double shared_margin = heats.margin(1 - shared_error_);
    if (distance < -shared_margin) {
      return {Standing::kBroken,
              compared(problem, value, "at most", std::exp(heats.mean + shared_margin), allowed)};
    }
    const bool would_be_met = distance > 0;
    return {.finding = compared(problem, value, "at least", std::exp(lower), allowed),
            .heats_needed = heats_needed(
                would_be_met ? cautious : heats, std::abs(distance),
                confidence_sharing(would_be_met ? 1 / kRegressionShare : problem_count())),
            .would_be_met = would_be_met};
  }

  // Broken or met, never open: an unquiet machine is nobody's fault, and no number of heats mends
  // it. It is the challenger's only if what it adds to the champion's spread is beyond the limit,
  // and if it surely spreads more than weather that likes the champion better explains.
  TermStanding spread(std::size_t index, const std::string& problem) const {
    const HeatValues::OfProblem& of_problem = values_.problems[index];
    const double champion = mean_of_heats(of_problem.champion_log_ns).sd;
    const double challenger = mean_of_heats(of_problem.challenger_log_ns).sd;
    const double added = std::sqrt(std::max(0.0, challenger * challenger - champion * champion));
    if (!(added > terms_.spread_max)) return {Standing::kMet, ""};
    // What a machine takes is often so many milliseconds, whoever is hit, and a larger share of a
    // faster arm's time. So it must spread more in time as well as in shares of it.
    const auto chance = [](const std::vector<double>& of_champion,
                           const std::vector<double>& of_challenger) {
      return spread_p_value(scaled(of_champion, kSpreadByWeather), of_challenger);
    };
    const double p =
        std::max(chance(of_problem.champion_log_ns, of_problem.challenger_log_ns),
                 chance(exp_of(of_problem.champion_log_ns), exp_of(of_problem.challenger_log_ns)));
    if (p >= kSpreadShare * shared_error_) return {Standing::kMet, ""};
    return {Standing::kBroken,
            fmt::format("{}: the challenger adds {:.1f} % of spread to the champion's, {:.1f} % is "
                        "allowed: its heats spread by {:.1f} %, surely more than {:.1f} times the "
                        "champion's {:.1f} % in the same match",
                        problem, 100 * added, 100 * terms_.spread_max, 100 * challenger,
                        kSpreadByWeather, 100 * champion)};
  }

  // What a median does not see: calls that are slow now and then. The mean or the 90th percentile
  // of a faster challenger's calls that is surely slower has lost what the median gained. Of heats
  // that show it and are not sure, more are asked; their middle counts, so that one stall is
  // nothing.
  TermStanding tail(const char* what, const std::vector<double>& log_ratios) const {
    const HeatMean heats = mean_of_heats(log_ratios);
    const double margin = heats.margin(1 - kTailShare * error_);
    const double middle = middle_of_pairs(log_ratios);
    const std::string looks =
        fmt::format("tail: the {} of all calls is {:.3f}x", what, std::exp(middle));
    if (heats.mean + margin < 0 && middle < 0) {
      return {Standing::kBroken, fmt::format("{}, at most {:.3f}x: slow calls lose what the median "
                                             "gains",
                                             looks, std::exp(heats.mean + margin))};
    }
    if (middle >= -std::log1p(terms_.tail_max)) return {Standing::kMet, ""};
    return {.finding =
                fmt::format("{}; a look of {:.3f}x is allowed", looks, 1 / (1 + terms_.tail_max)),
            .heats_needed =
                heats_needed(heats, std::abs(heats.mean), confidence_sharing(1 / kTailShare))};
  }

  // Of one problem, beyond what it may be slower: broken or met.
  TermStanding tail_of(const char* what, const std::string& problem,
                       const std::vector<double>& log_ratios) const {
    const HeatMean heats = mean_of_heats(log_ratios);
    const double margin = heats.margin(1 - kTailShare * shared_error_);
    const double line = -std::log1p(std::max(terms_.regression_max, terms_.tail_max));
    const bool sure = heats.mean + margin < line && middle_of_pairs(log_ratios) < line;
    if (!sure) return {Standing::kMet, ""};
    return {Standing::kBroken,
            fmt::format("tail: {}: the {} of its calls is {:.3f}x, at most {:.3f}x; {:.3f}x is "
                        "allowed",
                        problem, what, std::exp(heats.mean), std::exp(heats.mean + margin),
                        std::exp(line))};
  }

 private:
  double problem_count() const { return static_cast<double>(values_.problems.size()); }

  double error_after(int heat_count) const {
    return look_error(1 - terms_.confidence, options_, heat_count);
  }

  ConfidenceByHeats confidence_sharing(double sharer_count) const {
    return {.confidence =
                [this, sharer_count](int heats) { return 1 - error_after(heats) / sharer_count; },
            .planned_max = options_.heats_max};
  }

  const HeatValues& values_;
  const DealTerms& terms_;
  const AnalysisOptions& options_;
  const double error_;
  const double shared_error_;
};

// How likely a random order of so many values has at most this many pairs the wrong way round: by
// adding one value after the other, each equally likely at every place among those before it.
double chance_of_inversions(std::size_t value_count, std::size_t inversions_max) {
  std::vector<double> chance{1};  // by number of inversions
  for (std::size_t count = 2; count <= value_count; ++count) {
    std::vector<double> next(chance.size() + count - 1, 0);
    for (std::size_t i = 0; i < chance.size(); ++i) {
      for (std::size_t place = 0; place < count; ++place) {
        next[i + place] += chance[i] / static_cast<double>(count);
      }
    }
    chance = std::move(next);
  }
  double sum = 0;
  for (std::size_t i = 0; i < chance.size() && i <= inversions_max; ++i) sum += chance[i];
  return sum;
}

Estimate control_interval(const HeatMean& heats) { return interval(heats, 1 - kControlError / 2); }

std::string to_text(const Estimate& estimate) {
  return fmt::format("{:.3f}x ({:.3f}..{:.3f})", estimate.value, estimate.low, estimate.high);
}

// What a control shows of the instrument: nothing, or by how much it may be off at most.
struct Complaint {
  std::string text;
  double bias_max = 0;  // of ln(speedup)
};

// Whether the control's mean is further from the truth than chance and tolerance explain.
std::optional<double> bias_max(const HeatMean& heats, double truth, double tolerance) {
  const double distance = std::abs(heats.mean - truth);
  const double margin = heats.margin(1 - kControlError / 2);
  if (distance <= tolerance || distance <= margin) return std::nullopt;
  return distance + margin;
}

std::optional<Complaint> complaint_of_same(const HeatMean& heats, const DealTerms& terms) {
  const std::optional<double> bias =
      bias_max(heats, 0, kSameShareOfGain * std::abs(std::log(terms.speedup_min)));
  if (!bias) return std::nullopt;
  return Complaint{fmt::format("the champion against its own copy came out at {}",
                               to_text(control_interval(heats))),
                   *bias};
}

std::optional<Complaint> complaint_of_slowed(const HeatMean& heats, double slowed_truth) {
  const double truth = std::log(slowed_truth);
  const std::optional<double> bias = bias_max(heats, truth, kSlowedShareOfDelay * std::abs(truth));
  if (!bias) return std::nullopt;
  return Complaint{fmt::format("the champion slowed to {:.3f}x came out at {}", slowed_truth,
                               to_text(control_interval(heats))),
                   *bias};
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

double regression_lower(const HeatValues::OfProblem& values, double error) {
  return cautious_heats(values).lower(1 - kRegressionShare * error);
}

double spread_p_value(std::span<const double> champion, std::span<const double> challenger) {
  THRESHER_ASSERT(champion.size() == challenger.size());
  std::size_t against = 0;  // pairs of heats where the larger sum has not the larger difference
  for (std::size_t i = 0; i < champion.size(); ++i) {
    for (std::size_t j = i + 1; j < champion.size(); ++j) {
      const double sum = challenger[i] + champion[i] - challenger[j] - champion[j];
      const double difference = challenger[i] - champion[i] - challenger[j] + champion[j];
      against += sum * difference > 0 ? 0 : 1;
    }
  }
  return chance_of_inversions(champion.size(), against);
}

std::vector<TermStanding> judge_terms(const HeatValues& values, const MatchSamples& samples,
                                      const DealTerms& terms, const AnalysisOptions& options) {
  const Judge judge(values, terms, options);
  const std::vector<std::string>& same = samples.same_plan;
  std::vector<TermStanding> standings{judge.gain()};
  for (std::size_t i = 0; i < samples.problems.size(); ++i) {
    const std::string& problem = samples.problems[i];
    const bool same_plan = std::find(same.begin(), same.end(), problem) != same.end();
    standings.push_back(same_plan ? TermStanding{Standing::kMet, ""}
                                  : judge.regression(i, problem));
  }
  for (std::size_t i = 0; i < samples.problems.size(); ++i) {
    standings.push_back(judge.spread(i, samples.problems[i]));
  }
  if (terms.tail_max <= 0) return standings;
  standings.push_back(judge.tail("mean", values.geomean_mean_log_ratio));
  standings.push_back(judge.tail("90th percentile", values.geomean_tail_log_ratio));
  for (std::size_t i = 0; i < samples.problems.size(); ++i) {
    const HeatValues::OfProblem& of_problem = values.problems[i];
    const std::string& problem = samples.problems[i];
    standings.push_back(judge.tail_of("mean", problem, of_problem.mean_log_ratio));
    standings.push_back(judge.tail_of("90th percentile", problem, of_problem.tail_log_ratio));
  }
  return standings;
}

JudgedControls judge_controls(const MatchSamples& samples, const DealTerms& terms) {
  JudgedControls judged{.controls = {.slowed_truth = samples.slowed_truth}};
  Controls& controls = judged.controls;
  const std::vector<double> same = control_values(samples, &HeatSamples::same);
  const std::vector<double> slowed = control_values(samples, &HeatSamples::slowed);
  if (same.empty() || slowed.empty()) {
    controls.why_not = same.empty() ? "the champion was not measured against its own copy"
                                    : "the champion was not measured with a known delay";
    judged.bias_max = std::numeric_limits<double>::infinity();
  } else {
    const HeatMean same_heats = mean_of_heats(same);
    const HeatMean slowed_heats = mean_of_heats(slowed);
    controls.same = control_interval(same_heats);
    controls.slowed = control_interval(slowed_heats);
    for (const std::optional<Complaint>& complaint :
         {complaint_of_same(same_heats, terms),
          complaint_of_slowed(slowed_heats, samples.slowed_truth)}) {
      if (!complaint) continue;
      if (controls.why_not.empty()) controls.why_not = complaint->text;
      judged.bias_max = std::max(judged.bias_max, complaint->bias_max);
    }
  }
  controls.ok = controls.why_not.empty();
  return judged;
}

}  // namespace thresher::referee
