// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/simulation.hpp"

#include <cmath>

#include "referee/statistics/distributions.hpp"

namespace thresher::referee {
namespace {

constexpr double kConfidence = 0.975;  // one-sided, for a two-sided test at 5 %

// The two contestants in one process each, with whatever luck these have.
struct Bench {
  Bench(const SimulatedWorld& world, double speedup, std::uint64_t seed)
      : machine(world, seed),
        a_log_ns(machine.draw_process_offset()),
        b_log_ns(machine.draw_process_offset() - std::log(speedup)) {}

  double call_a() { return std::log(machine.call_ns(a_log_ns)); }
  double call_b() { return std::log(machine.call_ns(b_log_ns)); }
  double play_block_log_ratio() {
    return block_log_ratio(play_block(machine, 0, a_log_ns, b_log_ns));
  }

  SimulatedMachine machine;
  double a_log_ns;
  double b_log_ns;
};

Finding find(double log_ratio, double margin) {
  if (log_ratio > margin) return Finding::kFaster;
  return log_ratio < -margin ? Finding::kSlower : Finding::kNothing;
}

Finding t_test(const std::vector<double>& log_ratios) {
  const HeatMean mean = mean_of_heats(log_ratios);
  return find(mean.mean, mean.margin(kConfidence));
}

Finding welch_test(const HeatMean& a, const HeatMean& b) {
  const double a_variance = a.standard_error() * a.standard_error();
  const double b_variance = b.standard_error() * b.standard_error();
  const double variance = a_variance + b_variance;
  const double df =
      variance * variance /
      (a_variance * a_variance / (a.count - 1) + b_variance * b_variance / (b.count - 1));
  return find(a.mean - b.mean, student_t_quantile(kConfidence, df) * std::sqrt(variance));
}

constexpr double kGain = 1.02;
constexpr double kNoLimit = 1e6;     // of a term
constexpr double kUnsteadySd = 0.4;  // from heat to heat, in every problem

// A season's match on two cores with calls of milliseconds (docs/statistics.md).
constexpr int kHeatsIn25Seconds = 12;

// Seeds of trials must not meet those of another base seed close by.
std::uint64_t trial_seed(std::uint64_t seed, int trial_index) {
  return Random(seed, static_cast<std::uint64_t>(trial_index)).next();
}

struct Outcome {
  VerdictKind kind = VerdictKind::kUnclear;
  bool controls_failed = false;
  bool for_spread = false;
  int heat_count = 0;
};

bool is_rejected_for_spread(const Verdict& verdict, const MatchSamples& samples,
                            const MatchPlan& plan) {
  if (verdict.kind != VerdictKind::kRejected) return false;
  DealTerms lenient = plan.terms;
  lenient.spread_max = kNoLimit;
  return decide(samples, lenient, plan.options).kind != VerdictKind::kRejected;
}

Outcome play_by_referee(const MatchPlan& plan, std::uint64_t seed) {
  SimulatedMatch match(plan.world, plan.truth, seed);
  do {
    match.play_heat();
  } while (next_step(match.samples(), plan.terms, plan.options) == Next::kMoreHeats);
  const Verdict verdict = decide(match.samples(), plan.terms, plan.options);
  return {verdict.kind, verdict.check == check::kControls,
          is_rejected_for_spread(verdict, match.samples(), plan), verdict.estimate->heat_count};
}

Outcome play_by_probability_ratio_test(const MatchPlan& plan, std::uint64_t seed) {
  SimulatedMatch match(plan.world, plan.truth, seed);
  Outcome outcome;
  while (outcome.kind == VerdictKind::kUnclear && outcome.heat_count < plan.options.heats_max) {
    match.play_heat();
    if (++outcome.heat_count < plan.options.heats_min) continue;
    const HeatMean gain = mean_of_heats(heat_values(match.samples()).geomean_log_ratio);
    outcome.kind = probability_ratio_test(gain, std::log(plan.terms.speedup_min));
  }
  return outcome;
}

template <typename Play>
VerdictRates rate(const MatchPlan& plan, int trial_count, std::uint64_t seed, Play play) {
  VerdictRates rates;
  for (int i = 0; i < trial_count; ++i) {
    const Outcome outcome = play(plan, trial_seed(seed, i));
    rates.accepted += outcome.kind == VerdictKind::kAccepted;
    rates.rejected += outcome.kind == VerdictKind::kRejected;
    rates.rejected_for_spread += outcome.for_spread;
    rates.unclear += outcome.kind == VerdictKind::kUnclear;
    rates.controls_failed += outcome.controls_failed;
    rates.heats_mean += outcome.heat_count;
  }
  for (double* value : {&rates.accepted, &rates.rejected, &rates.rejected_for_spread,
                        &rates.unclear, &rates.controls_failed, &rates.heats_mean}) {
    *value /= trial_count;
  }
  return rates;
}

}  // namespace

Finding play_one_after_the_other(const SimulatedWorld& world, double speedup, std::uint64_t seed) {
  Bench bench(world, speedup, seed);
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 30; ++i) a.push_back(bench.call_a());
  for (int i = 0; i < 30; ++i) b.push_back(bench.call_b());
  return welch_test(mean_of_heats(a), mean_of_heats(b));
}

Finding play_pairs(const SimulatedWorld& world, double speedup, std::uint64_t seed) {
  Bench bench(world, speedup, seed);
  std::vector<double> log_ratios;
  for (int i = 0; i < 30; ++i) {
    const double a = bench.call_a();
    log_ratios.push_back(a - bench.call_b());
  }
  return t_test(log_ratios);
}

Finding play_one_process(const SimulatedWorld& world, double speedup, std::uint64_t seed) {
  Bench bench(world, speedup, seed);
  std::vector<double> log_ratios;
  for (int i = 0; i < 15; ++i) log_ratios.push_back(bench.play_block_log_ratio());
  return t_test(log_ratios);
}

Finding play_until_significant(const SimulatedWorld& world, double speedup, std::uint64_t seed) {
  Bench bench(world, speedup, seed);
  std::vector<double> log_ratios;
  while (log_ratios.size() < 60) {
    log_ratios.push_back(bench.play_block_log_ratio());
    if (log_ratios.size() < 5) continue;
    const Finding finding = t_test(log_ratios);
    if (finding != Finding::kNothing) return finding;
  }
  return Finding::kNothing;
}

Finding play_fresh_processes(const SimulatedWorld& world, double speedup, std::uint64_t seed) {
  SimulatedMatch match(world, {.speedups = {speedup}, .blocks_per_problem = 3}, seed);
  for (int i = 0; i < 5; ++i) match.play_heat();
  const Estimate found =
      estimate(match.samples(), DealTerms{}, {.heats_min = 5, .heats_max = 5}).speedup;
  if (found.low > 1) return Finding::kFaster;
  return found.high < 1 ? Finding::kSlower : Finding::kNothing;
}

VerdictKind probability_ratio_test(const HeatMean& gain, double log_speedup_asked) {
  constexpr double kHistoryVariance = 0.01 * 0.01;
  constexpr double kHistoryWeight = 5;
  const double bound = std::log(19);
  const double df = gain.count - 1;
  const double variance =
      (df * gain.sd * gain.sd + kHistoryWeight * kHistoryVariance) / (df + kHistoryWeight);
  const double llr =
      gain.count * log_speedup_asked * (2 * gain.mean - log_speedup_asked) / (2 * variance);
  if (llr >= bound) return VerdictKind::kAccepted;
  return llr <= -bound ? VerdictKind::kRejected : VerdictKind::kUnclear;
}

DesignRates rate_design(const Design& design, const SimulatedWorld& world, int trial_count,
                        std::uint64_t seed) {
  DesignRates rates;
  for (int i = 0; i < trial_count; ++i) {
    const std::uint64_t one = trial_seed(seed, i);
    rates.false_positives += design.play(world, 1, one) != Finding::kNothing;
    rates.power += design.play(world, kGain, one) == Finding::kFaster;
  }
  rates.false_positives /= trial_count;
  rates.power /= trial_count;
  return rates;
}

VerdictRates rate_verdicts(const MatchPlan& plan, int trial_count, std::uint64_t seed) {
  return rate(plan, trial_count, seed, play_by_referee);
}

VerdictRates rate_probability_ratio_test(const MatchPlan& plan, int trial_count,
                                         std::uint64_t seed) {
  return rate(plan, trial_count, seed, play_by_probability_ratio_test);
}

std::vector<NamedTruth> contract_truths() {
  return {{"no gain", {1, 1, 1, 1}},
          {"half of the gain asked", {1.005, 1.005, 1.005, 1.005}},
          {"exactly the gain asked", {1.01, 1.01, 1.01, 1.01}},
          {"+2 % everywhere", {1.02, 1.02, 1.02, 1.02}},
          {"+3/+3/+3/-1 %", {1.03, 1.03, 1.03, 0.99}},
          {"+4/+4/+4/-3 %, the limit", {1.04, 1.04, 1.04, 1 / 1.03}},
          {"+4/+4/+4/-4 %", {1.04, 1.04, 1.04, 0.96}},
          {"20 % faster", {1.2, 1.2, 1.2, 1.2}},
          {"20 % slower", {0.8, 0.8, 0.8, 0.8}}};
}

MatchPlan contract_plan(const std::vector<double>& speedups, const AnalysisOptions& options) {
  return {.world = kWorlds.back().world, .truth = {.speedups = speedups}, .options = options};
}

MatchPlan noisy_plan(const SimulatedWorld& world, const std::vector<double>& speedups,
                     double challenger_heat_sd) {
  return {.world = world,
          .truth = {.speedups = speedups,
                    .challenger_heat_sd = challenger_heat_sd,
                    .blocks_per_problem = 9},
          .options = {.heats_min = 4, .heats_max = kHeatsIn25Seconds}};
}

std::vector<NamedTruth> noisy_truths(const SimulatedWorld& world) {
  std::vector<NamedTruth> truths;
  if (world.guest.unequal_by_code == 0) {
    truths = {{"no gain", {1, 1, 1}},
              {"+8/+8/-4 %", {1.08, 1.08, 0.96}},
              {"+8/+8/-3 %, the limit", {1.08, 1.08, 1 / 1.03}}};
  }
  truths.insert(truths.end(), {{"10 % faster", {1.1, 1.1, 1.1}},
                               {"30 % faster", {1.3, 1.3, 1.3}},
                               {"20 % slower", {0.8, 0.8, 0.8}},
                               {"30 % faster, unsteady", {1.3, 1.3, 1.3}, kUnsteadySd}});
  return truths;
}

MatchPlan noise_plan(double noise_sd, double speedup) {
  return {.world = {.noise_sd = noise_sd},
          .truth = {.speedups = {speedup}, .slowed_speedup = 0.5},
          .terms = {.regression_max = kNoLimit, .spread_max = kNoLimit}};
}

}  // namespace thresher::referee
