// SPDX-License-Identifier: Apache-2.0
// The raw samples of a match: the ratio of every heat as a trace, and every timed call.
#pragma once

#include "report/page.hpp"
#include "tank/ledger/ledger.hpp"

namespace thresher::report {

// Of a `match` entry. Adds nothing where it has no heats; samples that cannot be read are said to
// be so on the page.
void add_samples(Page& page, const LedgerEntry& match);

}  // namespace thresher::report
