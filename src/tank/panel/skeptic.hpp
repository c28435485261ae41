// SPDX-License-Identifier: Apache-2.0
// The Skeptic believes a claim as far as claims of that family and that author were worth
// something, and knows nothing of machines.
#pragma once

#include <vector>

#include "tank/panel/shark.hpp"
#include "tank/panel/track_record.hpp"

namespace thresher {

Shark skeptic(std::vector<PastClaim> history, const DealTerms& terms);

}  // namespace thresher
