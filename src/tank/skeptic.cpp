// SPDX-License-Identifier: Apache-2.0
// Shrinkage towards a base rate: the prior counts as a few claims, every past claim counts by how
// much it resembles this one and by who measured it.
#include "tank/skeptic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace thresher {
namespace {

// Before anything is known: claims deliver a quarter of what they promise, one in four is accepted.
constexpr double kPriorClaims = 2;
constexpr double kPriorWorth = 0.25;
constexpr double kPriorAccepted = 0.25;
constexpr double kPriorSd = 0.10;

constexpr double kSameFamily = 1;
constexpr double kSameAuthor = 0.5;
constexpr double kAnyClaim = 0.1;        // the base rate of all pitches
constexpr double kReportedShare = 0.25;  // what nobody measured here counts less

// A claim of nearly nothing that lost a little must not count as minus a hundred times its promise.
constexpr double kWorthMax = 2;
constexpr double kLogClaimMin = 0.01;

double weight_of(const PastClaim& past, const Pitch& pitch) {
  const bool same_family = !pitch.family.empty() && past.family == pitch.family;
  const bool same_author = !pitch.author.empty() && past.author == pitch.author;
  const double likeness =
      kAnyClaim + (same_family ? kSameFamily : 0) + (same_author ? kSameAuthor : 0);
  return likeness * (past.reported ? kReportedShare : 1);
}

double worth_of(const PastClaim& past) {
  return std::clamp(*past.log_speedup / std::max(past.log_claim, kLogClaimMin), -kWorthMax,
                    kWorthMax);
}

Belief belief_on(const Pitch& pitch, const std::vector<PastClaim>& history) {
  double count = kPriorClaims;
  double accepted = kPriorClaims * kPriorAccepted;
  double timed = kPriorClaims;
  double worth = kPriorClaims * kPriorWorth;
  double squares = kPriorClaims * kPriorSd * kPriorSd;
  int same_family = 0;
  for (const PastClaim& past : history) {
    const double weight = weight_of(past, pitch);
    count += weight;
    accepted += past.worked ? weight : 0;
    same_family += past.family == pitch.family ? 1 : 0;
    if (!past.log_speedup) continue;
    timed += weight;
    worth += weight * worth_of(past);
    const double miss = *past.log_speedup - kPriorWorth * past.log_claim;
    squares += weight * miss * miss;
  }
  worth /= timed;
  const double rate = accepted / count;
  Belief belief;
  belief.log_speedup = worth * std::log(pitch.claim.value);
  belief.log_speedup_sd = std::sqrt(squares / timed);
  belief.p_right = 0.5 + 0.5 * timed / count;  // timed: it built and was right
  belief.evidence = kScoreMax * rate + (pitch.evidence.empty() ? 0 : 2);
  belief.reason = fmt::format(
      "claims like this delivered {:.0f} % of their promise and {:.0f} % were accepted ({} of its "
      "family among {} in the ledger), so {:.2f}x becomes {:.2f}x.",
      100 * worth, 100 * rate, same_family, history.size(), pitch.claim.value,
      std::exp(belief.log_speedup));
  return belief;
}

}  // namespace

Shark skeptic(std::vector<PastClaim> history, const DealTerms& terms) {
  return {"Skeptic", [history = std::move(history), terms](const Pitch& pitch) {
            return make_ballot("Skeptic", pitch, belief_on(pitch, history), terms);
          }};
}

}  // namespace thresher
