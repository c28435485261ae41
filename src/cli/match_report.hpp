// SPDX-License-Identifier: Apache-2.0
// What a match found: one JSON object, or tables for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "referee/match.hpp"

namespace thresher::cli {

nlohmann::json match_json(const Match& match, const MatchRecord& record);
// `goes_on_with` is the command that goes on with it; empty: nobody would.
void print_tables(const Match& match, const MatchRecord& record, const std::string& goes_on_with);

}  // namespace thresher::cli
