// SPDX-License-Identifier: Apache-2.0
// A regression over few trials of many knobs: extremely randomised trees (Geurts, Ernst and
// Wehenkel 2006). They need no scaling, know what knobs do together, and differ among each other
// where nothing has been tried.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gemm/random.hpp"

namespace thresher::tune {

using Features = std::vector<float>;

class Forest {
 public:
  struct Prediction {
    double mean = 0;
    double sd = 0;  // among the trees
  };

  // `rows` and `values` are of one length, which is not 0.
  void fit(std::span<const Features* const> rows, std::span<const double> values, Random& random);
  Prediction predict(const Features& row) const;

 private:
  struct Node {
    int feature = -1;  // -1: a leaf
    float threshold = 0;
    int right = 0;  // the left child follows its parent
    double value = 0;
  };
  using Tree = std::vector<Node>;

  std::vector<Tree> trees_;
};

}  // namespace thresher::tune
