// SPDX-License-Identifier: Apache-2.0
#include "tank/panel/track_record.hpp"

#include <cmath>
#include <map>
#include <utility>

namespace thresher {
namespace {

using Json = nlohmann::json;

// Ledgers may come from elsewhere, so nothing is taken for granted.
std::string text(const Json& data, const char* key) {
  const auto found = data.find(key);
  return found != data.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> log_of_number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return value > 0 ? std::optional(std::log(value)) : std::nullopt;
}

// Of a speedup: its value, or the middle of its range where nobody said more.
std::optional<double> log_of(const Json& data, const char* key) {
  const auto found = data.find(key);
  if (found == data.end() || !found->is_object()) return std::nullopt;
  const std::optional<double> value = log_of_number(*found, "value");
  const std::optional<double> low = log_of_number(*found, "low");
  const std::optional<double> high = log_of_number(*found, "high");
  if (value || !low || !high) return value;
  return (*low + *high) / 2;
}

}  // namespace

std::vector<PastClaim> past_claims(const Ledger& ledger) {
  std::map<std::pair<std::string, std::string>, PastClaim> pitches;  // by season and name
  std::vector<PastClaim> claims;
  for (const LedgerEntry& entry : ledger.entries()) {
    const Json& data = entry.data;
    if (entry.kind == "pitch") {
      const std::optional<double> log_claim = log_of(data, "claim");
      if (!log_claim) continue;
      pitches[{entry.season, text(data, "name")}] = {
          .family = text(data, "family"), .author = text(data, "author"), .log_claim = *log_claim};
    } else if (entry.kind == "verdict" && text(data, "kind") != "unclear") {
      const auto pitch = pitches.find({entry.season, text(data, "pitch")});
      if (pitch == pitches.end()) continue;
      PastClaim claim = pitch->second;
      claim.worked = text(data, "kind") == "accepted";
      claim.log_speedup = log_of(data, "speedup");
      claim.reported = entry.source == "reported";
      claims.push_back(std::move(claim));
    }
  }
  return claims;
}

}  // namespace thresher
