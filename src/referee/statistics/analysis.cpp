// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/analysis.hpp"

#include <fmt/format.h>

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
                                 double confidence) {
  const HeatMean log_ratio = referee::mean_of_heats(values.log_ratio);
  return {.problem = problem,
          .speedup = referee::interval(log_ratio, kIntervalConfidence),
          .lower_bound = std::exp(log_ratio.lower(confidence)),
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

int more_heats_needed(const std::vector<TermStanding>& standings, int heat_count,
                      const AnalysisOptions& options) {
  int needed = std::max(heat_count, options.heats_min);
  for (const TermStanding& term : standings) {
    if (term.standing == Standing::kOpen) needed = std::max(needed, term.heats_needed);
  }
  return needed - heat_count;
}

MatchEstimate estimate_match(const MatchSamples& samples, const HeatValues& values,
                             const DealTerms& terms, const AnalysisOptions& options) {
  const double confidence = 1 - referee::look_error(1 - terms.confidence, options, values.heat_count);
  const HeatMean gain = referee::mean_of_heats(values.geomean_log_ratio);
  MatchEstimate estimate{
      .speedup = referee::interval(gain, kIntervalConfidence),
      .lower_bound = std::exp(gain.lower(confidence)),
      .controls = referee::judge_controls(samples, terms),
      .heat_count = values.heat_count,
      .minimum_detectable_effect = minimum_detectable_effect(gain, terms, confidence)};
  for (std::size_t i = 0; i < values.problems.size(); ++i) {
    estimate.problems.push_back(
        estimate_problem(values.problems[i], samples.problems[i], confidence));
  }
  return estimate;
}

Verdict verdict(VerdictKind kind, std::string check, std::string reason) {
  return {.kind = kind, .check = std::move(check), .reason = std::move(reason)};
}

std::string more_heats_text(int more_heats) {
  if (more_heats == 0) return "more heats would not help, a quieter machine would";
  const bool countable = more_heats < referee::kHeatsNeededMax / 2;
  return countable ? fmt::format("about {} more heats would tell", more_heats)
                   : fmt::format("not even {} more heats would tell", referee::kHeatsNeededMax / 2);
}

Verdict judge_standings(const std::vector<TermStanding>& standings, const DealTerms& terms,
                        int more_heats) {
  const TermStanding* open = nullptr;
  for (const TermStanding& term : standings) {
    if (term.standing == Standing::kBroken) {
      return verdict(VerdictKind::kRejected, referee::check::kTerms, term.finding);
    }
    if (term.standing != Standing::kOpen) continue;
    if (open == nullptr || term.heats_needed > open->heats_needed) open = &term;
  }
  if (open != nullptr) {
    return verdict(VerdictKind::kUnclear, referee::check::kTerms,
                   fmt::format("{}; {}", open->finding, more_heats_text(more_heats)));
  }
  return verdict(
      VerdictKind::kAccepted, referee::check::kTerms,
      fmt::format("{}; {:.3f}x was asked, and no problem is more than {:.1f} % slower",
                  standings.front().finding, terms.speedup_min, 100 * terms.regression_max));
}

Verdict judge(const MatchEstimate& estimate, const std::vector<TermStanding>& standings,
              const DealTerms& terms, const AnalysisOptions& options) {
  if (estimate.heat_count < options.heats_min) {
    return verdict(VerdictKind::kUnclear, referee::check::kHeats,
                   fmt::format("{} complete heats; a verdict needs {}", estimate.heat_count,
                               options.heats_min));
  }
  if (!estimate.controls.ok) {
    return verdict(VerdictKind::kUnclear, referee::check::kControls,
                   fmt::format("the match is void: {}", estimate.controls.why_not));
  }
  return judge_standings(standings, terms, estimate.more_heats_needed);
}

// Everything there is to say after these heats.
struct Analysis {
  Verdict verdict;
  bool hopeless = false;
};

Analysis analyse(const MatchSamples& samples, const DealTerms& terms,
                 const AnalysisOptions& options) {
  const HeatValues values = referee::heat_values(samples);
  if (values.heat_count == 0) {
    return {verdict(VerdictKind::kUnclear, referee::check::kHeats,
                    "no heat has a block of every problem")};
  }
  const std::vector<TermStanding> standings =
      referee::judge_terms(values, samples.problems, terms, options);
  MatchEstimate estimate = estimate_match(samples, values, terms, options);
  estimate.more_heats_needed = more_heats_needed(standings, values.heat_count, options);
  Analysis analysis{judge(estimate, standings, terms, options),
                    referee::champion_surely_spreads(values, terms, options)};
  if (analysis.verdict.kind != VerdictKind::kUnclear) estimate.more_heats_needed = 0;
  analysis.verdict.estimate = std::move(estimate);
  return analysis;
}

}  // namespace

MatchEstimate estimate(const MatchSamples& samples, const DealTerms& terms,
                       const AnalysisOptions& options) {
  Verdict found = decide(samples, terms, options);
  if (!found.estimate) throw Error(found.reason);
  return *std::move(found.estimate);
}

Verdict decide(const MatchSamples& samples, const DealTerms& terms,
               const AnalysisOptions& options) {
  return analyse(samples, terms, options).verdict;
}

Next next_step(const MatchSamples& samples, const DealTerms& terms,
               const AnalysisOptions& options) {
  // Heats that lost a problem's blocks were played too: they count against the budget.
  const int heats_played = static_cast<int>(samples.heats.size());
  if (heats_played < options.heats_min) return Next::kMoreHeats;
  if (heats_played >= options.heats_limit()) return Next::kStop;
  const Analysis analysis = analyse(samples, terms, options);
  if (analysis.verdict.check == referee::check::kHeats) return Next::kMoreHeats;
  const bool settled = analysis.verdict.kind != VerdictKind::kUnclear;
  return settled || analysis.hopeless ? Next::kStop : Next::kMoreHeats;
}

}  // namespace thresher
