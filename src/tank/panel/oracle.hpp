// SPDX-License-Identifier: Apache-2.0
// The Oracle buys a pilot: a match too short for a verdict, long enough for a hint. It reads
// nothing else, not even the claim.
#pragma once

#include <functional>
#include <optional>

#include "tank/panel/shark.hpp"

namespace thresher {

// What a pilot of `contestant` against the champion found; nothing when no time is left for one.
using Pilot = std::function<std::optional<Verdict>(const Contestant& contestant)>;

Shark oracle(Pilot pilot, const DealTerms& terms);

}  // namespace thresher
