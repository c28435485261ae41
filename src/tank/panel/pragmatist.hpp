// SPDX-License-Identifier: Apache-2.0
// The Pragmatist weighs cost and risk and reads them off the contestant itself: can it run the
// suite at all, how many knobs it turns, how much memory it needs, whether foreign code comes in.
#pragma once

#include "gemm/suite.hpp"
#include "tank/machine.hpp"
#include "tank/panel/shark.hpp"

namespace thresher {

struct PragmatistEvidence {
  Suite suite;
  Machine machine;
  Contestant champion;
  DealTerms terms;
};

Shark pragmatist(PragmatistEvidence evidence);

}  // namespace thresher
