// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/shark.hpp"

#include <fmt/format.h>

#include <cmath>

#include "tank/panel/credibility.hpp"

namespace thresher {
namespace {

// What is believed of a contestant that nobody has seen run.
constexpr double kUnseenSd = 0.10;
// A pilot is short: a machine that drifts or a lucky process is not in its own interval.
constexpr double kPilotSdMin = 0.02;

// Shrinks the pilot towards no difference by how noisy it was, and widens by what it cannot see.
Belief belief_from(const MatchEstimate& estimate) {
  const double value = std::log(estimate.speedup.value);
  const double sd = log_sd(estimate.speedup);
  // An open interval: so few heats that only the value itself says anything.
  const double noise = std::isfinite(sd) ? sd : kUnseenSd;
  const double trust = kUnseenSd * kUnseenSd / (kUnseenSd * kUnseenSd + noise * noise);
  Belief belief;
  belief.p_right = 0.97;
  belief.log_speedup = trust * value;
  belief.log_speedup_sd = std::hypot(std::sqrt(1 - trust) * kUnseenSd, kPilotSdMin);
  belief.evidence = kScoreMax * trust;
  belief.reason = fmt::format("a pilot of {} heats found {:.3f}x with a noise of {:.1f} %.",
                              estimate.heat_count, estimate.speedup.value, 100 * noise);
  return belief;
}

Belief belief_from(const std::optional<Verdict>& verdict) {
  if (!verdict) {
    return {
        .p_right = 0.8,
        .log_speedup_sd = kUnseenSd,
        .evidence = 0,
        .reason = "no time is left for a pilot, so nothing is known: 1.00x, give or take 10 %."};
  }
  if (verdict->estimate && verdict->estimate->speedup.value > 0) {
    return belief_from(*verdict->estimate);
  }
  if (verdict->kind == VerdictKind::kUnclear) {
    return {.p_right = 0.9,
            .log_speedup_sd = kUnseenSd,
            .evidence = 1,
            .reason = fmt::format("the pilot came to no timing: {}.", verdict->reason)};
  }
  return {
      .p_right = 0,
      .log_speedup_sd = kUnseenSd,
      .evidence = 0,
      .reason = fmt::format("the pilot was {}: {}.", to_string(verdict->kind), verdict->reason)};
}

}  // namespace

Shark oracle(Pilot pilot, const DealTerms& terms) {
  return {kOracle, [pilot = std::move(pilot), terms](const Pitch& pitch) {
            const std::optional<Verdict> verdict = pilot(pitch.contestant);
            Ballot ballot = make_ballot(kOracle, pitch, belief_from(verdict), terms);
            ballot.pilot_failed = verdict && (verdict->kind == VerdictKind::kWrong ||
                                              verdict->kind == VerdictKind::kInvalid);
            return ballot;
          }};
}

}  // namespace thresher
