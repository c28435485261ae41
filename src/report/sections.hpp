// SPDX-License-Identifier: Apache-2.0
// The sections of a season, in the order of the page; one file each.
#pragma once

#include "report/page.hpp"
#include "report/season.hpp"

namespace thresher::report {

void add_scoreboard(Page& page, const Season& season);   // who won, what was predicted and found
void add_predictions(Page& page, const Season& season);  // every claim and forecast, and its result
void add_matches(Page& page, const Season& season);      // intervals, controls, raw samples
void add_credibility(Page& page, const Season& season);  // who is believed, round by round
void add_constraints(Page& page, const Season& season);  // what vetoes, and what was vetoed
void add_documents(Page& page, const Season& season);    // score sheets and times others reported
void add_environment(Page& page, const Season& season);  // the machine and the rules

}  // namespace thresher::report
