// SPDX-License-Identifier: Apache-2.0
// After the verdicts of a round: which forecasts were right, and what the sharks are worth now.
#pragma once

#include <nlohmann/json.hpp>

#include "tank/season/season_record.hpp"

namespace thresher {

// What the forecasts about a match are compared with. Unclear verdicts do not say whether it works.
Outcome outcome_of(const Verdict& verdict);

// The data of the `credibility` entry of a round (docs/ledger.md). effective_judges is null while
// too few pitches have resolved; `resolved_pitches` says how many have.
nlohmann::json credibility_entry(const SeasonRecord& record, int round);

}  // namespace thresher
