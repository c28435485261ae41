// SPDX-License-Identifier: Apache-2.0
// Shrinkage towards a base rate: the prior counts as a few claims, every past claim counts by how
// much it resembles this one and by who measured it.
#include "tank/panel/shark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace thresher {
namespace {

using Json = nlohmann::json;

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

// Weighted sums over the prior and the history.
struct Record {
  double count = kPriorClaims;
  double accepted = kPriorClaims * kPriorAccepted;
  double timed = kPriorClaims;
  double worth_sum = kPriorClaims * kPriorWorth;
  int same_family = 0;

  double rate() const { return accepted / count; }
  double worth() const { return worth_sum / timed; }
};

Record record_for(const Pitch& pitch, const std::vector<PastClaim>& history) {
  Record record;
  for (const PastClaim& past : history) {
    const double weight = weight_of(past, pitch);
    record.count += weight;
    record.accepted += past.worked ? weight : 0;
    record.same_family += past.family == pitch.family ? 1 : 0;
    if (!past.log_speedup) continue;
    record.timed += weight;
    record.worth_sum += weight * worth_of(past);
  }
  return record;
}

// How far past claims lay from what this record would have made of them.
double spread_of(const Record& record, const Pitch& pitch, const std::vector<PastClaim>& history) {
  double squares = kPriorClaims * kPriorSd * kPriorSd;
  for (const PastClaim& past : history) {
    if (!past.log_speedup) continue;
    const double miss = *past.log_speedup - record.worth() * past.log_claim;
    squares += weight_of(past, pitch) * miss * miss;
  }
  return std::sqrt(squares / record.timed);
}

Belief belief_on(const Pitch& pitch, const std::vector<PastClaim>& history) {
  const Record record = record_for(pitch, history);
  const double log_speedup = record.worth() * std::log(pitch.claim.value);
  return {.p_right = 0.5 + 0.5 * record.timed / record.count,  // timed: it built and was right
          .log_speedup = log_speedup,
          .log_speedup_sd = spread_of(record, pitch, history),
          .evidence = kScoreMax * record.rate() + (pitch.evidence.empty() ? 0 : 2),
          .p_works = record.rate(),
          .reason = fmt::format(
              "claims like this delivered {:.0f} % of their promise and {:.0f} % were accepted ({} "
              "of its family among {} in the ledger), so {:.2f}x becomes {:.2f}x.",
              100 * record.worth(), 100 * record.rate(), record.same_family, history.size(),
              pitch.claim.value, std::exp(log_speedup))};
}

std::optional<double> log_of_number(const Json& object, const char* name) {
  const std::optional<double> value = number_field(object, name);
  return value && *value > 0 ? std::optional(std::log(*value)) : std::nullopt;
}

// Of a speedup: its value, or the middle of its range where nobody said more.
std::optional<double> log_of(const Json& speedup) {
  const std::optional<double> value = log_of_number(speedup, "value");
  const std::optional<double> low = log_of_number(speedup, "low");
  const std::optional<double> high = log_of_number(speedup, "high");
  if (value || !low || !high) return value;
  return (*low + *high) / 2;
}

}  // namespace

std::vector<PastClaim> past_claims(const Ledger& ledger) {
  std::map<std::pair<std::string, std::string>, PastClaim> pitches;  // by season and name
  std::vector<PastClaim> claims;
  for (const LedgerEntry& entry : ledger.entries()) {
    const Json& data = entry.data;
    if (entry.source == "predicted") continue;
    if (entry.kind == "pitch") {
      const std::optional<double> log_claim = log_of(field(data, "claim"));
      if (!log_claim) continue;
      pitches[{entry.season, text_field(data, "name")}] = {.family = text_field(data, "family"),
                                                           .author = text_field(data, "author"),
                                                           .log_claim = *log_claim};
    } else if (entry.kind == "verdict" && text_field(data, "kind") != "unclear") {
      const auto pitch = pitches.find({entry.season, text_field(data, "pitch")});
      if (pitch == pitches.end()) continue;
      PastClaim claim = pitch->second;
      claim.worked = text_field(data, "kind") == "accepted";
      claim.log_speedup = log_of(field(data, "speedup"));
      claim.reported = entry.source == "reported";
      claims.push_back(std::move(claim));
    }
  }
  return claims;
}

Shark skeptic(std::vector<PastClaim> history, const DealTerms& terms) {
  return {"Skeptic", [history = std::move(history), terms](const Pitch& pitch) {
            return make_ballot("Skeptic", pitch, belief_on(pitch, history), terms);
          }};
}

}  // namespace thresher
