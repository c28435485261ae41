// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "referee/statistics/distributions.hpp"

namespace thresher {
namespace {

// What is believed of a contestant that nobody has seen run.
constexpr double kUnseenSd = 0.10;
// A pilot is short: a machine that drifts or a lucky process is not in its own interval.
constexpr double kPilotSdMin = 0.02;

// Shrinks the pilot towards no difference by how noisy it was, and widens by what it cannot see.
Belief belief_from(const MatchEstimate& estimate) {
  const double value = std::log(estimate.speedup.value);
  const double half = (std::log(estimate.speedup.high) - std::log(estimate.speedup.low)) / 2;
  // An open interval: so few rounds that only the value itself says anything.
  const double noise = std::isfinite(half) ? half / referee::kNormalQuantile975 : kUnseenSd;
  const double trust = kUnseenSd * kUnseenSd / (kUnseenSd * kUnseenSd + noise * noise);
  Belief belief;
  belief.p_right = 0.97;
  belief.log_speedup = trust * value;
  belief.log_speedup_sd = std::hypot(std::sqrt(1 - trust) * kUnseenSd, kPilotSdMin);
  belief.evidence = kScoreMax * trust;
  belief.reason = fmt::format("a pilot of {} rounds found {:.3f}x with a noise of {:.1f} %.",
                              estimate.round_count, estimate.speedup.value, 100 * noise);
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
  return {"Oracle", [pilot = std::move(pilot), terms](const Pitch& pitch) {
            return make_ballot("Oracle", pitch, belief_from(pilot(pitch.contestant)), terms);
          }};
}

}  // namespace thresher
