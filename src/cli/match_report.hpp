// SPDX-License-Identifier: Apache-2.0
// What a match found: one JSON object, or tables for people.
#pragma once

#include "referee/match.hpp"

namespace thresher::cli {

void print_json(const Match& match, const MatchRecord& record);
void print_tables(const Match& match, const MatchRecord& record);

}  // namespace thresher::cli
