// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "referee/statistics/statistics.hpp"
#include "referee/statistics/terms.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using referee::RoundMean;
using referee::RoundValues;
using referee::Standing;
using referee::TermStanding;

constexpr double kIntervalConfidence = 0.975;  // one-sided: the two-sided interval has 95 %
constexpr double kPower = 0.9;

double median_us(const std::vector<double>& log_ns) {
  return std::exp(referee::median(log_ns)) / 1e3;
}

ProblemEstimate estimate_problem(const RoundValues::OfProblem& values, const std::string& problem,
                                 double confidence) {
  const RoundMean log_ratio = referee::mean_of_rounds(values.log_ratio);
  return {.problem = problem,
          .speedup = referee::interval(log_ratio, kIntervalConfidence),
          .lower_bound = std::exp(log_ratio.lower(confidence)),
          .champion_us = median_us(values.champion_log_ns),
          .challenger_us = median_us(values.challenger_log_ns),
          .champion_spread = referee::mean_of_rounds(values.champion_log_ns).sd,
          .challenger_spread = referee::mean_of_rounds(values.challenger_log_ns).sd};
}

// The smallest gain that meets the gain's term with 90 % probability: its lower bound must come out
// above no gain, and its estimate above the gain asked for.
double minimum_detectable_effect(const RoundMean& gain, const DealTerms& terms, double confidence) {
  const double power_margin = gain.margin(kPower);
  const double log_asked = std::log(terms.speedup_min);
  return std::expm1(std::max(gain.margin(confidence), log_asked) + power_margin);
}

int more_rounds_needed(const std::vector<TermStanding>& standings, int round_count,
                       const AnalysisOptions& options) {
  int needed = std::max(round_count, options.rounds_min);
  for (const TermStanding& term : standings) {
    if (term.standing == Standing::kOpen) needed = std::max(needed, term.rounds_needed);
  }
  return needed - round_count;
}

MatchEstimate estimate_match(const MatchSamples& samples, const RoundValues& values,
                             const DealTerms& terms, const AnalysisOptions& options) {
  const double confidence = 1 - referee::look_error(1 - terms.confidence, options);
  const RoundMean gain = referee::mean_of_rounds(values.geomean_log_ratio);
  MatchEstimate estimate{
      .speedup = referee::interval(gain, kIntervalConfidence),
      .lower_bound = std::exp(gain.lower(confidence)),
      .controls = referee::judge_controls(samples, terms),
      .round_count = values.round_count,
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

std::string more_rounds_text(int more_rounds) {
  if (more_rounds == 0) return "more rounds would not help, a quieter machine would";
  const bool countable = more_rounds < referee::kRoundsNeededMax / 2;
  return countable
             ? fmt::format("about {} more rounds would tell", more_rounds)
             : fmt::format("not even {} more rounds would tell", referee::kRoundsNeededMax / 2);
}

Verdict judge_standings(const std::vector<TermStanding>& standings, const DealTerms& terms,
                        int more_rounds) {
  const TermStanding* open = nullptr;
  for (const TermStanding& term : standings) {
    if (term.standing == Standing::kBroken) {
      return verdict(VerdictKind::kRejected, referee::check::kTerms, term.finding);
    }
    if (term.standing != Standing::kOpen) continue;
    if (open == nullptr || term.rounds_needed > open->rounds_needed) open = &term;
  }
  if (open != nullptr) {
    return verdict(VerdictKind::kUnclear, referee::check::kTerms,
                   fmt::format("{}; {}", open->finding, more_rounds_text(more_rounds)));
  }
  return verdict(
      VerdictKind::kAccepted, referee::check::kTerms,
      fmt::format("{}; {:.3f}x was asked, and no problem is more than {:.1f} % slower",
                  standings.front().finding, terms.speedup_min, 100 * terms.regression_max));
}

Verdict judge(const MatchEstimate& estimate, const std::vector<TermStanding>& standings,
              const DealTerms& terms, const AnalysisOptions& options) {
  if (estimate.round_count < options.rounds_min) {
    return verdict(VerdictKind::kUnclear, referee::check::kRounds,
                   fmt::format("{} complete rounds; a verdict needs {}", estimate.round_count,
                               options.rounds_min));
  }
  if (!estimate.controls.ok) {
    return verdict(VerdictKind::kUnclear, referee::check::kControls,
                   fmt::format("the match is void: {}", estimate.controls.why_not));
  }
  return judge_standings(standings, terms, estimate.more_rounds_needed);
}

// Everything there is to say after these rounds.
struct Analysis {
  Verdict verdict;
  bool hopeless = false;
};

Analysis analyse(const MatchSamples& samples, const DealTerms& terms,
                 const AnalysisOptions& options) {
  const RoundValues values = referee::round_values(samples);
  if (values.round_count == 0) {
    return {verdict(VerdictKind::kUnclear, referee::check::kRounds,
                    "no round has a block of every problem")};
  }
  const std::vector<TermStanding> standings =
      referee::judge_terms(values, samples.problems, terms, options);
  MatchEstimate estimate = estimate_match(samples, values, terms, options);
  estimate.more_rounds_needed = more_rounds_needed(standings, values.round_count, options);
  Analysis analysis{judge(estimate, standings, terms, options),
                    referee::champion_surely_spreads(values, terms, options)};
  if (analysis.verdict.kind != VerdictKind::kUnclear) estimate.more_rounds_needed = 0;
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
  // Rounds that lost a problem's blocks were played too: they count against the budget.
  const int rounds_played = static_cast<int>(samples.rounds.size());
  if (rounds_played < options.rounds_min) return Next::kMoreRounds;
  if (rounds_played >= options.rounds_max) return Next::kStop;
  const Analysis analysis = analyse(samples, terms, options);
  if (analysis.verdict.check == referee::check::kRounds) return Next::kMoreRounds;
  const bool settled = analysis.verdict.kind != VerdictKind::kUnclear;
  return settled || analysis.hopeless ? Next::kStop : Next::kMoreRounds;
}

}  // namespace thresher
