// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/analysis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "measure/statistics.hpp"
#include "referee/statistics/terms.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using referee::HeatMean;
using referee::HeatValues;
using referee::Standing;
using referee::TermStanding;

constexpr double kIntervalConfidence = 0.975;  // one-sided: the two-sided interval has 95 %
constexpr double kPower = 0.9;

double median_us(const std::vector<double>& log_ns) {
  return std::exp(measure::median(log_ns)) / 1e3;
}

ProblemEstimate estimate_problem(const HeatValues::OfProblem& values, const std::string& problem,
                                 double error) {
  const HeatMean log_ratio = referee::mean_of_heats(values.log_ratio);
  return {.problem = problem,
          .speedup = referee::interval(log_ratio, kIntervalConfidence),
          .lower_bound = std::exp(referee::regression_lower(values, error)),
          .champion_us = median_us(values.champion_log_ns),
          .challenger_us = median_us(values.challenger_log_ns),
          .champion_spread = referee::mean_of_heats(values.champion_log_ns).sd,
          .challenger_spread = referee::mean_of_heats(values.challenger_log_ns).sd};
}

// The smallest gain that meets the gain's term with 90 % probability: its lower bound must come out
// above no gain, and its estimate above the gain asked for.
double minimum_detectable_effect(const HeatMean& gain, const DealTerms& terms, double confidence) {
  const double power_margin = gain.margin(kPower);
  const double log_asked = std::log(terms.speedup_min);
  return std::expm1(std::max(gain.margin(confidence), log_asked) + power_margin);
}

// 0 where more heats would not lead to acceptance: one term that would be broken is enough.
int more_heats_needed(const std::vector<TermStanding>& standings, int heat_count,
                      const AnalysisOptions& options) {
  int needed = std::max(heat_count, options.heats_min);
  for (const TermStanding& term : standings) {
    if (term.standing != Standing::kOpen) continue;
    if (!term.would_be_met) return 0;
    needed = std::max(needed, term.heats_needed);
  }
  return needed - heat_count;
}

MatchEstimate estimate_match(const MatchSamples& samples, const HeatValues& values,
                             const DealTerms& terms, const AnalysisOptions& options) {
  const double error = referee::look_error(1 - terms.confidence, options, values.heat_count);
  const double confidence = 1 - error;
  const HeatMean gain = referee::mean_of_heats(values.geomean_log_ratio);
  MatchEstimate estimate{
      .speedup = referee::interval(gain, kIntervalConfidence),
      .lower_bound = std::exp(gain.lower(confidence)),
      .heat_count = values.heat_count,
      .minimum_detectable_effect = minimum_detectable_effect(gain, terms, confidence),
      .block_count = values.block_count,
      .left_out_count = values.left_out_count};
  for (std::size_t i = 0; i < values.problems.size(); ++i) {
    estimate.problems.push_back(estimate_problem(values.problems[i], samples.problems[i], error));
  }
  return estimate;
}

Verdict verdict(VerdictKind kind, std::string check, std::string reason) {
  return {.kind = kind, .check = std::move(check), .reason = std::move(reason)};
}

// The words before and behind the number in what more_heats_text says.
struct PromiseWords {
  std::string_view before;
  std::string_view behind;
};
constexpr PromiseWords kWouldTell{"about ", " more heats would tell"};
constexpr PromiseWords kWouldReject{"if nothing changes, about ", " more heats would reject it"};
constexpr PromiseWords kWouldNotTell{"not even ", " more heats would tell"};

constexpr std::string_view kLeftOut = " blocks left out, the machine was disturbed)";

std::string more_heats_text(const TermStanding& term, int heat_count) {
  constexpr int kCountable = referee::kHeatsNeededMax / 2;
  const auto said = [](const PromiseWords& words, int count) {
    return fmt::format("{}{}{}", words.before, count, words.behind);
  };
  const int more = term.heats_needed - heat_count;
  if (more >= kCountable) return said(kWouldNotTell, kCountable);
  return said(term.would_be_met ? kWouldTell : kWouldReject, more);
}

// The one that decides what more heats are good for: one that they would break, or the slowest.
bool is_more_open(const TermStanding& one, const TermStanding& other) {
  if (one.would_be_met != other.would_be_met) return !one.would_be_met;
  return one.would_be_met ? one.heats_needed > other.heats_needed
                          : one.heats_needed < other.heats_needed;
}

const TermStanding* first_broken(const std::vector<TermStanding>& standings) {
  for (const TermStanding& term : standings) {
    if (term.standing == Standing::kBroken) return &term;
  }
  return nullptr;
}

const TermStanding* most_open(const std::vector<TermStanding>& standings) {
  const TermStanding* open = nullptr;
  for (const TermStanding& term : standings) {
    if (term.standing != Standing::kOpen) continue;
    if (open == nullptr || is_more_open(term, *open)) open = &term;
  }
  return open;
}

std::string same_plan_text(const std::vector<std::string>& same_plan) {
  if (same_plan.empty()) return "";
  return fmt::format("; both arms run the same plan in {}", fmt::join(same_plan, ", "));
}

Verdict judge_standings(const std::vector<TermStanding>& standings, const MatchSamples& samples,
                        const DealTerms& terms, int heat_count) {
  if (const TermStanding* broken = first_broken(standings)) {
    return verdict(VerdictKind::kRejected, referee::check::kTerms, broken->finding);
  }
  if (const TermStanding* open = most_open(standings)) {
    return verdict(VerdictKind::kUnclear, referee::check::kTerms,
                   fmt::format("{}; {}", open->finding, more_heats_text(*open, heat_count)));
  }
  return verdict(VerdictKind::kAccepted, referee::check::kTerms,
                 fmt::format("{}; {:.3f}x was asked, and no problem is more than {:.1f} % slower{}",
                             standings.front().finding, terms.speedup_min,
                             100 * terms.regression_max, same_plan_text(samples.same_plan)));
}

HeatValues in_favour_of_challenger(HeatValues values, double log_ratio) {
  const auto favour = [&](std::vector<double>& ratios) {
    for (double& value : ratios) value += log_ratio;
  };
  favour(values.geomean_log_ratio);
  favour(values.geomean_mean_log_ratio);
  favour(values.geomean_tail_log_ratio);
  for (HeatValues::OfProblem& problem : values.problems) {
    favour(problem.log_ratio);
    favour(problem.mean_log_ratio);
    favour(problem.tail_log_ratio);
  }
  return values;
}

// One match, looked at after these heats.
class Look {
 public:
  Look(const MatchSamples& samples, const HeatValues& values, const DealTerms& terms,
       const AnalysisOptions& options)
      : samples_(samples), values_(values), terms_(terms), options_(options) {}

  Verdict judge() const {
    const std::vector<TermStanding> standings =
        referee::judge_terms(values_, samples_, terms_, options_);
    referee::JudgedControls controls = referee::judge_controls(samples_, terms_);
    Verdict found = judge(standings, controls);
    MatchEstimate estimate = estimate_match(samples_, values_, terms_, options_);
    estimate.controls = std::move(controls.controls);
    if (found.kind == VerdictKind::kUnclear) {
      estimate.more_heats_needed = more_heats_needed(standings, values_.heat_count, options_);
    }
    if (estimate.left_out_count > 0) {
      found.reason +=
          fmt::format(" ({} of {}{}", estimate.left_out_count, estimate.block_count, kLeftOut);
    }
    found.estimate = std::move(estimate);
    found.timing = samples_.timing;
    return found;
  }

 private:
  Verdict judge(const std::vector<TermStanding>& standings,
                const referee::JudgedControls& controls) const {
    if (values_.heat_count < options_.heats_min) {
      return verdict(VerdictKind::kUnclear, referee::check::kHeats,
                     fmt::format("{} complete heats; a verdict needs {}", values_.heat_count,
                                 options_.heats_min));
    }
    if (controls.controls.ok) {
      return judge_standings(standings, samples_, terms_, values_.heat_count);
    }
    return judge_in_doubt(controls);
  }

  // An instrument that is off by this much at most can still tell what lies further away.
  Verdict judge_in_doubt(const referee::JudgedControls& controls) const {
    if (std::isfinite(controls.bias_max)) {
      const HeatValues favoured = in_favour_of_challenger(values_, controls.bias_max);
      const std::vector<TermStanding> standings =
          referee::judge_terms(favoured, samples_, terms_, options_);
      if (const TermStanding* broken = first_broken(standings)) {
        return verdict(
            VerdictKind::kRejected, referee::check::kTerms,
            fmt::format("geomean {:.3f}x; even with {:.1f} % added in its favour, because {}: {}",
                        std::exp(referee::mean_of_heats(values_.geomean_log_ratio).mean),
                        100 * std::expm1(controls.bias_max), controls.controls.why_not,
                        broken->finding));
      }
    }
    return verdict(VerdictKind::kUnclear, referee::check::kControls,
                   fmt::format("the match is void: {}", controls.controls.why_not));
  }

  const MatchSamples& samples_;
  const HeatValues& values_;
  const DealTerms& terms_;
  const AnalysisOptions& options_;
};

}  // namespace

MatchEstimate estimate(const MatchSamples& samples, const DealTerms& terms,
                       const AnalysisOptions& options) {
  Verdict found = decide(samples, terms, options);
  if (!found.estimate) throw Error(found.reason);
  return *std::move(found.estimate);
}

Verdict decide(const MatchSamples& samples, const DealTerms& terms,
               const AnalysisOptions& options) {
  const HeatValues values = referee::heat_values(samples);
  if (values.heat_count == 0) {
    return verdict(VerdictKind::kUnclear, referee::check::kHeats,
                   "no heat has a block of every problem");
  }
  return Look(samples, values, terms, options).judge();
}

std::string without_promise(const std::string& reason, const std::string& instead) {
  for (const PromiseWords& words : {kWouldTell, kWouldReject, kWouldNotTell}) {
    const std::size_t end = reason.rfind(words.behind);
    if (end == std::string::npos) continue;
    const std::size_t begin = reason.rfind(words.before, end);
    if (begin == std::string::npos) continue;
    return reason.substr(0, begin) + instead + reason.substr(end + words.behind.size());
  }
  return reason;
}

std::string without_left_out(const std::string& reason) {
  const std::size_t end = reason.find(kLeftOut);
  const std::size_t begin = reason.rfind(" (", end);
  if (end == std::string::npos || begin == std::string::npos) return reason;
  return reason.substr(0, begin) + reason.substr(end + kLeftOut.size());
}

Next next_step(const MatchSamples& samples, const DealTerms& terms,
               const AnalysisOptions& options) {
  // Heats that lost a problem's blocks were played too: they count against the budget.
  const int heats_played = static_cast<int>(samples.heats.size());
  if (heats_played < options.heats_min) return Next::kMoreHeats;
  if (heats_played >= options.heats_limit()) return Next::kStop;
  const bool open = decide(samples, terms, options).kind == VerdictKind::kUnclear;
  return open ? Next::kMoreHeats : Next::kStop;
}

}  // namespace thresher
