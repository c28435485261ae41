// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/heat_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <numeric>

#include "assert.hpp"
#include "measure/statistics.hpp"
#include "referee/statistics/distributions.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

// Of fewer values nobody can tell which is the wild one.
constexpr std::size_t kRobustBlocksMin = 5;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double middle_of_blocks(std::span<const double> log_ratios) {
  return log_ratios.size() < kRobustBlocksMin ? mean(log_ratios) : middle_of_pairs(log_ratios);
}

// One problem's blocks within one heat.
struct ProblemBlocks {
  std::vector<double> log_ratio;
  std::vector<double> a_ns;
  std::vector<double> b_ns;
  int left_out_count = 0;
  bool takes_disturbed = false;  // it has no others
};

void check(const Block& block, std::size_t problem_count, std::size_t heat_index) {
  if (block.problem_index < 0 || static_cast<std::size_t>(block.problem_index) >= problem_count) {
    throw Error(fmt::format("heat {}: a block of problem {} where there are {} problems",
                            heat_index, block.problem_index, problem_count));
  }
  for (const double ns : {block.a_ns[0], block.a_ns[1], block.b_ns[0], block.b_ns[1]}) {
    if (std::isfinite(ns) && ns > 0) continue;
    throw Error(
        fmt::format("heat {}, problem {}: a time of {} ns", heat_index, block.problem_index, ns));
  }
}

void add(const Block& block, ProblemBlocks& problem) {
  problem.log_ratio.push_back(block_log_ratio(block));
  problem.a_ns.insert(problem.a_ns.end(), std::begin(block.a_ns), std::end(block.a_ns));
  problem.b_ns.insert(problem.b_ns.end(), std::begin(block.b_ns), std::end(block.b_ns));
}

std::vector<ProblemBlocks> by_problem(const std::vector<Block>& blocks, std::size_t problem_count,
                                      std::size_t heat_index) {
  std::vector<ProblemBlocks> sorted(problem_count);
  for (const Block& block : blocks) {
    check(block, problem_count, heat_index);
    ProblemBlocks& problem = sorted[static_cast<std::size_t>(block.problem_index)];
    if (block.disturbed) {
      ++problem.left_out_count;
    } else {
      add(block, problem);
    }
  }
  // Where there is nothing but disturbed blocks, they have to do.
  for (const Block& block : blocks) {
    ProblemBlocks& problem = sorted[static_cast<std::size_t>(block.problem_index)];
    if (!block.disturbed || problem.left_out_count == 0) continue;
    problem.takes_disturbed = problem.takes_disturbed || problem.log_ratio.empty();
    if (!problem.takes_disturbed) continue;
    --problem.left_out_count;
    add(block, problem);
  }
  return sorted;
}

double square(double value) { return value * value; }

// From sums of squares over heats to root mean squares.
void set_sd_min(HeatValues& values) {
  for (HeatValues::OfProblem& problem : values.problems) {
    problem.log_ratio_sd_min = std::sqrt(problem.log_ratio_sd_min / std::max(1, values.heat_count));
  }
}

bool has_blocks(const ProblemBlocks& problem) { return !problem.log_ratio.empty(); }

}  // namespace

double block_log_ratio(const Block& block) {
  return (std::log(block.a_ns[0]) + std::log(block.a_ns[1]) - std::log(block.b_ns[0]) -
          std::log(block.b_ns[1])) /
         2;
}

double middle_of_pairs(std::span<const double> values) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  return measure::median(means);
}

double middle_of_pairs_error(std::span<const double> values) {
  constexpr double kNormalSd = 1.0483;  // of a normal variable, over the median distance of two
  constexpr double kVariance = std::numbers::pi / 3;  // of the estimate, over that of a mean
  std::vector<double> distances;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j)
      distances.push_back(std::abs(values[i] - values[j]));
  }
  if (distances.empty()) return 0;
  return kNormalSd * measure::median(distances) *
         std::sqrt(kVariance / static_cast<double>(values.size()));
}

double ninetieth_percentile(std::vector<double> values) {
  const std::size_t rank = (9 * values.size() + 9) / 10;  // of n: 0.9 n rounded up, from 1
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

HeatValues heat_values(const MatchSamples& samples) {
  HeatValues values;
  values.problems.resize(samples.problems.size());
  for (std::size_t heat_index = 0; heat_index < samples.heats.size(); ++heat_index) {
    const std::vector<ProblemBlocks> problems =
        by_problem(samples.heats[heat_index].match, samples.problems.size(), heat_index);
    if (problems.empty() || !std::all_of(problems.begin(), problems.end(), has_blocks)) continue;
    const auto count = static_cast<double>(problems.size());
    double sum = 0;
    double mean_sum = 0;
    double tail_sum = 0;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const double log_ratio = middle_of_blocks(problems[i].log_ratio);
      values.problems[i].log_ratio.push_back(log_ratio);
      values.problems[i].champion_log_ns.push_back(std::log(measure::median(problems[i].a_ns)));
      values.problems[i].challenger_log_ns.push_back(std::log(measure::median(problems[i].b_ns)));
      values.problems[i].log_ratio_sd_min += square(middle_of_pairs_error(problems[i].log_ratio));
      const double mean_ratio = std::log(mean(problems[i].a_ns) / mean(problems[i].b_ns));
      const double tail_ratio =
          std::log(ninetieth_percentile(problems[i].a_ns) / ninetieth_percentile(problems[i].b_ns));
      values.problems[i].mean_log_ratio.push_back(mean_ratio);
      values.problems[i].tail_log_ratio.push_back(tail_ratio);
      sum += log_ratio;
      mean_sum += mean_ratio;
      tail_sum += tail_ratio;
      values.left_out_count += problems[i].left_out_count;
      values.block_count +=
          problems[i].left_out_count + static_cast<int>(problems[i].log_ratio.size());
    }
    values.geomean_log_ratio.push_back(sum / count);
    values.geomean_mean_log_ratio.push_back(mean_sum / count);
    values.geomean_tail_log_ratio.push_back(tail_sum / count);
    ++values.heat_count;
  }
  set_sd_min(values);
  return values;
}

std::vector<double> control_values(const MatchSamples& samples,
                                   std::vector<Block> HeatSamples::*control) {
  std::vector<double> values;
  for (std::size_t heat_index = 0; heat_index < samples.heats.size(); ++heat_index) {
    std::vector<double> of_problems;
    for (const ProblemBlocks& problem :
         by_problem(samples.heats[heat_index].*control, samples.problems.size(), heat_index)) {
      if (has_blocks(problem)) of_problems.push_back(middle_of_blocks(problem.log_ratio));
    }
    if (!of_problems.empty()) values.push_back(mean(of_problems));
  }
  return values;
}

double HeatMean::standard_error() const { return sd / std::sqrt(count); }

double HeatMean::margin(double confidence) const {
  if (count < 2) return std::numeric_limits<double>::infinity();
  return student_t_quantile(confidence, count - 1) * standard_error();
}

double HeatMean::lower(double confidence) const { return mean - margin(confidence); }

double HeatMean::upper(double confidence) const { return mean + margin(confidence); }

HeatMean mean_of_heats(std::span<const double> values) {
  THRESHER_ASSERT(!values.empty());
  const double n = static_cast<double>(values.size());
  HeatMean result{.count = static_cast<int>(values.size()),
                  .sd = std::numeric_limits<double>::infinity()};
  for (const double value : values) result.mean += value / n;
  if (values.size() == 1) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.sd = std::sqrt(squares / (n - 1));
  return result;
}

Estimate interval(const HeatMean& log_ratio, double confidence) {
  return {std::exp(log_ratio.mean), std::exp(log_ratio.lower(confidence)),
          std::exp(log_ratio.upper(confidence))};
}

int heats_needed(const HeatMean& mean, double distance, const ConfidenceByHeats& by_heats) {
  const auto suffice = [&](int count) {
    HeatMean extended = mean;
    extended.count = count;
    return extended.margin(by_heats.confidence(count)) < distance;
  };
  // The margin falls with every heat but one, where the confidence steps up.
  int low = std::max(1, mean.count);
  int high = kHeatsNeededMax;
  if (by_heats.planned_max > low && suffice(by_heats.planned_max)) {
    high = by_heats.planned_max;
  } else {
    low = std::max(low, by_heats.planned_max < kHeatsNeededMax ? by_heats.planned_max : 0);
  }
  if (low >= high || !suffice(high)) return kHeatsNeededMax;
  while (low + 1 < high) {
    const int middle = (low + high) / 2;
    (suffice(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace thresher::referee
