// SPDX-License-Identifier: Apache-2.0
#include "bench/float_activations.hpp"

#include "bench/float_rows.hpp"

namespace thresher::bench {

FloatActivations::FloatActivations(const Problem& problem, const Inputs& inputs)
    : problem_(problem), inputs_(inputs) {
  std::int64_t element_count = 0;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const Group& group = problem.groups[g];
    offsets_.push_back(element_count);
    for (std::int64_t row = 0; row < group.m; ++row) rows_.push_back({g, row});
    element_count += group.m * group.k;
  }
  pages_ = cpu::Pages(static_cast<std::size_t>(element_count) * sizeof(float));
}

void FloatActivations::expand(cpu::Pool& pool) {
  pool.for_each(static_cast<std::int64_t>(rows_.size()),
                [this](std::int64_t i, int) { expand_row(rows_[i]); });
}

void FloatActivations::expand_row(const Row& row) const {
  const std::int64_t k = problem_.groups[row.group_index].k;
  const GroupInputs& inputs = inputs_.groups[row.group_index];
  const std::int64_t first = row.row_index * k;
  float* out = floats() + offsets_[row.group_index] + first;
  switch (problem_.activations) {
    case Activations::kNvfp4:
      return expand_nvfp4(inputs.a.codes.data() + first / 2,
                          inputs.a.scales.data() + first / kBlockElements, k, out);
    case Activations::kFp16:
      return expand_fp16(inputs.a16.data() + first, k, out);
    case Activations::kBf16:
      return expand_bf16(inputs.a16.data() + first, k, out);
  }
}

}  // namespace thresher::bench
