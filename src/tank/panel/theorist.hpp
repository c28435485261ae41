// SPDX-License-Identifier: Apache-2.0
// The Theorist predicts from a machine model and knows no history. It sees the machine's measured
// ceilings, how champion and challenger cut the problems, and how long the champion takes.
#pragma once

#include <map>
#include <string>

#include "gemm/suite.hpp"
#include "tank/machine.hpp"
#include "tank/panel/shark.hpp"

namespace thresher {

struct TheoristEvidence {
  Suite suite;
  Machine machine;
  Contestant champion;
  std::map<std::string, double> champion_us;  // by problem, as measured; empty: not yet
  DealTerms terms;
};

Shark theorist(TheoristEvidence evidence);

}  // namespace thresher
