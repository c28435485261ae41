// SPDX-License-Identifier: Apache-2.0
// A product of matrices seen from one random direction: where C = A * B^T, C * r = A * (B^T * r)
// for every vector r. The right side needs a single pass over B in float64, after which a row of C
// is proved for the price of reading it. Who does not know r cannot be wrong in any element and
// keep the sum, but for errors that are lost among those of rounding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gemm/random.hpp"
#include "thresher/nvfp4.hpp"

namespace thresher {

struct Projection {
  std::vector<double> direction;  // r: n times 1 or -1
  std::vector<double> projected;  // B^T * r: k sums, exact
  std::vector<double> squares;    // k sums of b^2
  std::vector<float> norms;       // Euclidean, of the n rows of B
};

Projection project(const Nvfp4Matrix& b, Random& random);

struct RowProjection {
  double value = 0;  // a * (B^T * r)
  double rms = 0;    // root of the sum of (a*b)^2 over all of B: how large errors of c * r may be
};

RowProjection project_row(std::span<const float> a, const Projection& projection);

double norm_of(std::span<const float> a);

// How far c * r may be from factor * value if c was accumulated over k terms in FP32: eight times
// what rounding does at most, in the root mean square (bound.cpp, step 6).
double projection_error(const RowProjection& row, double factor, const Projection& projection);

// c * r
double project_result(std::span<const float> c, const Projection& projection);

}  // namespace thresher
