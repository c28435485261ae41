// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/simulated_designs.hpp"

#include <cmath>
#include <vector>

#include "referee/statistics/analysis.hpp"
#include "referee/statistics/distributions.hpp"
#include "referee/statistics/round_mean.hpp"
#include "referee/statistics/round_values.hpp"

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
  const RoundMean mean = mean_of_rounds(log_ratios);
  return find(mean.mean, mean.margin(kConfidence));
}

Finding welch_test(const RoundMean& a, const RoundMean& b) {
  const double a_variance = a.standard_error() * a.standard_error();
  const double b_variance = b.standard_error() * b.standard_error();
  const double variance = a_variance + b_variance;
  const double df =
      variance * variance /
      (a_variance * a_variance / (a.count - 1) + b_variance * b_variance / (b.count - 1));
  return find(a.mean - b.mean, student_t_quantile(kConfidence, df) * std::sqrt(variance));
}

}  // namespace

Finding play_one_after_the_other(const SimulatedWorld& world, double speedup, std::uint64_t seed) {
  Bench bench(world, speedup, seed);
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 30; ++i) a.push_back(bench.call_a());
  for (int i = 0; i < 30; ++i) b.push_back(bench.call_b());
  return welch_test(mean_of_rounds(a), mean_of_rounds(b));
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
  SimulatedMatch match(world, {.speedups = {speedup}}, seed);
  for (int i = 0; i < 5; ++i) match.play_round();
  const Estimate found =
      estimate(match.samples(), DealTerms{}, {.rounds_min = 5, .rounds_max = 5}).speedup;
  if (found.low > 1) return Finding::kFaster;
  return found.high < 1 ? Finding::kSlower : Finding::kNothing;
}

VerdictKind probability_ratio_test(const RoundMean& gain, double log_speedup_asked) {
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

}  // namespace thresher::referee
