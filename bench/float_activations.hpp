// SPDX-License-Identifier: Apache-2.0
// The activations of a problem as float, expanded anew by every call of a peer.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/pages.hpp"
#include "cpu/pool.hpp"
#include "gemm/inputs.hpp"
#include "thresher/problem.hpp"

namespace thresher::bench {

class FloatActivations {
 public:
  FloatActivations(const Problem& problem, const Inputs& inputs);

  void expand(cpu::Pool& pool);
  const float* group(std::size_t group_index) const { return floats() + offsets_[group_index]; }

 private:
  struct Row {
    std::size_t group_index = 0;
    std::int64_t row_index = 0;
  };

  float* floats() const { return reinterpret_cast<float*>(pages_.data()); }
  void expand_row(const Row& row) const;

  const Problem& problem_;
  const Inputs& inputs_;
  std::vector<std::int64_t> offsets_;
  std::vector<Row> rows_;
  cpu::Pages pages_;
};

}  // namespace thresher::bench
