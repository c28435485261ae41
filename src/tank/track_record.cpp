// SPDX-License-Identifier: Apache-2.0
#include "tank/track_record.hpp"

#include <cmath>
#include <map>
#include <utility>

namespace thresher {
namespace {

using Json = nlohmann::json;

// A ratio that has a logarithm. Ledgers may come from elsewhere, so nothing is taken for granted.
std::optional<double> log_of(const Json& estimate) {
  if (!estimate.is_object() || !estimate.contains("value")) return std::nullopt;
  const Json& value = estimate.at("value");
  if (!value.is_number() || !(value.get<double>() > 0)) return std::nullopt;
  return std::log(value.get<double>());
}

}  // namespace

std::vector<PastClaim> past_claims(const Ledger& ledger) {
  std::map<std::pair<std::string, std::string>, PastClaim> pitches;  // by season and name
  std::vector<PastClaim> claims;
  for (const LedgerEntry& entry : ledger.entries()) {
    const Json& data = entry.data;
    if (entry.kind == "pitch") {
      const std::optional<double> log_claim = log_of(data.value("claim", Json()));
      if (!log_claim) continue;
      pitches[{entry.season, data.value("name", "")}] = {.family = data.value("family", ""),
                                                         .author = data.value("author", ""),
                                                         .log_claim = *log_claim};
    } else if (entry.kind == "verdict" && data.value("kind", "") != "unclear") {
      const auto pitch = pitches.find({entry.season, data.value("pitch", "")});
      if (pitch == pitches.end()) continue;
      PastClaim claim = pitch->second;
      claim.worked = data.value("kind", "") == "accepted";
      claim.log_speedup = log_of(data.value("speedup", Json()));
      claim.reported = entry.source == "reported";
      claims.push_back(std::move(claim));
    }
  }
  return claims;
}

}  // namespace thresher
