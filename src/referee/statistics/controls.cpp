// SPDX-License-Identifier: Apache-2.0
#include "referee/statistics/controls.hpp"

#include <fmt/format.h>

#include <cmath>

#include "referee/statistics/round_mean.hpp"
#include "referee/statistics/round_values.hpp"

namespace thresher::referee {
namespace {

Estimate interval(const RoundMean& rounds) {
  const double margin = rounds.margin(1 - kControlError / 2);
  return {std::exp(rounds.mean), std::exp(rounds.mean - margin), std::exp(rounds.mean + margin)};
}

std::string to_text(const Estimate& estimate) {
  return fmt::format("{:.3f}x ({:.3f}..{:.3f})", estimate.value, estimate.low, estimate.high);
}

// Whether the control's mean is further from the truth than chance and tolerance explain.
bool is_off(const RoundMean& rounds, double truth, double tolerance) {
  const double distance = std::abs(rounds.mean - truth);
  return distance > tolerance && distance > rounds.margin(1 - kControlError / 2);
}

// Both return what is wrong, or nothing.
std::string complaint_of_same(const RoundMean& rounds, const DealTerms& terms) {
  if (!is_off(rounds, 0, kSameShareOfGain * std::abs(std::log(terms.speedup_min)))) return "";
  return fmt::format("the champion against its own copy came out at {}", to_text(interval(rounds)));
}

std::string complaint_of_slowed(const RoundMean& rounds, double slowed_truth,
                                const DealTerms& terms) {
  const double truth = std::log(slowed_truth);
  const bool found = rounds.upper(terms.confidence) < 0;
  if (found && !is_off(rounds, truth, kSlowedShareOfDelay * std::abs(truth))) return "";
  return fmt::format("the champion slowed to {:.3f}x came out at {}{}", slowed_truth,
                     to_text(interval(rounds)), found ? "" : ", too noisy to be seen");
}

}  // namespace

Controls judge_controls(const MatchSamples& samples, const DealTerms& terms) {
  Controls controls{.slowed_truth = samples.slowed_truth};
  const std::vector<double> same = control_values(samples, &RoundSamples::same);
  const std::vector<double> slowed = control_values(samples, &RoundSamples::slowed);
  if (same.empty() || slowed.empty()) {
    controls.why_not = same.empty() ? "the champion was not measured against its own copy"
                                    : "the champion was not measured with a known delay";
  } else {
    const RoundMean same_rounds = mean_of_rounds(same);
    const RoundMean slowed_rounds = mean_of_rounds(slowed);
    controls.same = interval(same_rounds);
    controls.slowed = interval(slowed_rounds);
    controls.why_not = complaint_of_same(same_rounds, terms);
    if (controls.why_not.empty()) {
      controls.why_not = complaint_of_slowed(slowed_rounds, samples.slowed_truth, terms);
    }
  }
  controls.ok = controls.why_not.empty();
  return controls;
}

}  // namespace thresher::referee
