// SPDX-License-Identifier: Apache-2.0
#include "referee/controls.hpp"

#include <fmt/format.h>

#include <cmath>

#include "referee/round_mean.hpp"
#include "referee/round_values.hpp"

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

void judge_same(const RoundMean& rounds, const DealTerms& terms, Controls& controls) {
  controls.same = interval(rounds);
  if (!is_off(rounds, 0, kSameShareOfGain * std::abs(std::log(terms.speedup_min)))) return;
  controls.ok = false;
  controls.why_not =
      fmt::format("the champion against its own copy came out at {}", to_text(controls.same));
}

void judge_slowed(const RoundMean& rounds, const DealTerms& terms, Controls& controls) {
  controls.slowed = interval(rounds);
  const double truth = std::log(controls.slowed_truth);
  const bool found = rounds.upper(terms.confidence) < 0;
  if (found && !is_off(rounds, truth, kSlowedShareOfDelay * std::abs(truth))) return;
  controls.ok = false;
  controls.why_not = fmt::format("the champion slowed to {:.3f}x came out at {}{}",
                                 controls.slowed_truth, to_text(controls.slowed),
                                 found ? "" : ": too noisy to be found");
}

}  // namespace

Controls judge_controls(const MatchSamples& samples, const DealTerms& terms) {
  Controls controls{.slowed_truth = samples.slowed_truth};
  const std::vector<double> same = control_values(samples, &RoundSamples::same);
  const std::vector<double> slowed = control_values(samples, &RoundSamples::slowed);
  if (same.empty() || slowed.empty()) {
    controls.ok = false;
    controls.why_not = same.empty() ? "the champion was not measured against its own copy"
                                    : "the champion was not measured with a known delay";
    return controls;
  }
  judge_slowed(mean_of_rounds(slowed), terms, controls);
  judge_same(mean_of_rounds(same), terms, controls);
  return controls;
}

}  // namespace thresher::referee
