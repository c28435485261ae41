// SPDX-License-Identifier: Apache-2.0
#include "gemm/speed_of_light.hpp"

#include "assert.hpp"

namespace thresher {
namespace {

double elements(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

double activation_bytes_per_element(Activations activations) {
  return activations == Activations::kNvfp4 ? kNvfp4BytesPerElement : 2.0;
}

double rate_gop_per_s(const MachineRates& rates, Activations activations) {
  switch (activations) {
    case Activations::kFp16:
      return rates.fp16_gop_per_s;
    case Activations::kBf16:
      return rates.bf16_gop_per_s;
    case Activations::kNvfp4:
      break;
  }
  return rates.nvfp4_gop_per_s;
}

}  // namespace

double weight_bytes(const Problem& problem) {
  double bytes = 0;
  for (const Group& group : problem.groups) {
    if (group.m > 0) bytes += elements(group.n, group.k) * kNvfp4BytesPerElement;
  }
  return problem.op == Op::kDual ? 2 * bytes : bytes;
}

double fewest_bytes(const Problem& problem) {
  const double activation_bytes = activation_bytes_per_element(problem.activations);
  const double output_bytes = static_cast<double>(bytes_per_element(problem.output));
  double bytes = weight_bytes(problem);
  for (const Group& group : problem.groups) {
    bytes += elements(group.m, group.k) * activation_bytes;
    bytes += elements(group.m, group.n) * output_bytes;
  }
  return bytes;
}

SpeedOfLight speed_of_light(const Problem& problem, const MachineRates& rates) {
  return speed_of_light(fewest_bytes(problem), flop_count(problem), problem.activations, rates);
}

SpeedOfLight speed_of_light(double bytes, double operations, Activations activations,
                            const MachineRates& rates) {
  const double gop_per_s = rate_gop_per_s(rates, activations);
  THRESHER_ASSERT(rates.read_gb_per_s > 0 && gop_per_s > 0);
  return {.memory_us = bytes / (rates.read_gb_per_s * 1e3),
          .compute_us = operations / (gop_per_s * 1e3)};
}

}  // namespace thresher
