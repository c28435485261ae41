// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/rotation.hpp"

#include <algorithm>
#include <cmath>

#include "gemm/speed_of_light.hpp"

namespace thresher::referee {
namespace {

// The device's clock ticks every half microsecond: of this time it is three thousandths, far less
// than processes differ.
constexpr double kBatchNs = 150e3;
constexpr int kColdCopiesMin = 2;
constexpr int kInspectedMin = 2;
constexpr std::uint8_t kSigns = 0x88;  // of both codes of a byte

int whole_between(double value, int low, int high) {
  return static_cast<int>(std::clamp(std::ceil(value), double(low), double(high)));
}

void turn_matrix(Nvfp4Matrix& matrix, Random& random) {
  const auto row_bytes = static_cast<std::size_t>(matrix.k_elements / 2);
  for (std::size_t begin = 0; begin < matrix.codes.size(); begin += row_bytes) {
    if (random.below(2) == 0) continue;
    std::uint8_t* row = matrix.codes.data() + begin;  // a local, or no compiler makes vectors of it
    for (std::size_t i = 0; i < row_bytes; ++i) row[i] ^= kSigns;
  }
}

}  // namespace

Rotation rotation_for(const Problem& problem, double floor_ns, std::size_t l2_bytes, bool cold) {
  const double bytes = std::max(1.0, weight_bytes(problem));
  const double copies = 2 * static_cast<double>(l2_bytes) / bytes;
  Rotation rotation;
  if (cold) rotation.copy_count = whole_between(copies, kColdCopiesMin, kCallsPerBatchMax);
  rotation.call_count =
      whole_between(kBatchNs / std::max(1.0, floor_ns), rotation.copy_count, kCallsPerBatchMax);
  return rotation;
}

void turn_rows(const Problem& problem, Inputs& inputs, Random& random) {
  for (GroupInputs& group : inputs.groups) {
    turn_matrix(group.b, random);
    if (problem.op == Op::kDual) turn_matrix(group.b_up, random);
  }
}

Inputs activations_of(const Inputs& inputs) {
  Inputs result;
  for (const GroupInputs& group : inputs.groups) {
    result.groups.push_back(
        {.a = group.a, .a16 = group.a16, .alpha = group.alpha, .alpha_up = group.alpha_up});
  }
  return result;
}

void put_activations(Inputs activations, Inputs& inputs) {
  for (std::size_t g = 0; g < inputs.groups.size(); ++g) {
    inputs.groups[g].a = std::move(activations.groups[g].a);
    inputs.groups[g].a16 = std::move(activations.groups[g].a16);
    inputs.groups[g].alpha = activations.groups[g].alpha;
    inputs.groups[g].alpha_up = activations.groups[g].alpha_up;
  }
}

int inspected_count_for(int call_count, int batch_count) {
  const auto escape_share = [&](int inspected_count) {
    return std::pow(double(call_count - inspected_count) / (call_count - 1), batch_count);
  };
  int count = std::min(kInspectedMin, call_count);
  while (count < call_count && escape_share(count) >= kEscapeShareMax) ++count;
  return count;
}

std::vector<int> draw_inspected(int call_count, int inspected_count, Random& random) {
  std::vector<int> calls = {call_count - 1};
  while (static_cast<int>(calls.size()) < std::min(inspected_count, call_count)) {
    const auto call = static_cast<int>(random.below(static_cast<std::uint64_t>(call_count)));
    if (std::find(calls.begin(), calls.end(), call) == calls.end()) calls.push_back(call);
  }
  std::sort(calls.begin(), calls.end());
  return calls;
}

}  // namespace thresher::referee
