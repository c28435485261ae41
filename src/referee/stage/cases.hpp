// SPDX-License-Identifier: Apache-2.0
// What the correctness gate asks: the suite's own problems, and problems nobody was told about.
#pragma once

#include <cstdint>
#include <vector>

#include "gemm/inputs.hpp"
#include "gemm/random.hpp"
#include "gemm/suite.hpp"
#include "measure/guarded_region.hpp"

namespace thresher::referee {

using measure::OutputShape;

struct Case {
  Problem problem;
  InputFamily family = InputFamily::kNatural;
  OutputShape shape;
  bool hidden = false;
};

// The least there is to ask of a contestant: the smallest problem of the suite.
Case smoke_case(const Suite& suite);

// The suite's problems, then hidden ones, so that who fails at the latter alone is known to have
// been made for the former. Each kind of problem in the suite (operation and types) has hidden ones
// with ragged rows, an empty group where there are several, and another n and k: small ones of
// every family; one near the extents of each of its largest groups, by n, by k, by rows and by
// work; and one with nearly as many groups as its largest number.
std::vector<Case> correctness_cases(const Suite& suite, Random& random);

// Contestants may have tiles: this is a hidden problem they must not decline, with n a multiple of
// 128 and k of 256.
Problem made_coarse(Problem problem);

}  // namespace thresher::referee
