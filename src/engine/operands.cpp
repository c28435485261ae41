// SPDX-License-Identifier: Apache-2.0
#include "engine/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/state.hpp"
#include "gemm/factor.hpp"

namespace thresher {
namespace {

[[noreturn]] void refuse(std::size_t index, const std::string& what) {
  throw Error(fmt::format("group {}: {}", index, what));
}

void check_weights(std::size_t index, const Problem& problem, const GroupOperands& operands) {
  const Group& group = problem.groups[index];
  const Weights* weights = operands.weights;
  if (weights == nullptr) refuse(index, "weights is null");
  if (weights->op() != problem.op) {
    refuse(index, fmt::format("weights were packed for {} but the problem is {}",
                              to_string(weights->op()), to_string(problem.op)));
  }
  if (weights->n() != group.n || weights->k_elements() != group.k) {
    refuse(index, fmt::format("weights are n = {}, k = {} but the plan has n = {}, k = {}",
                              weights->n(), weights->k_elements(), group.n, group.k));
  }
}

void check_activations(std::size_t index, const Problem& problem, const GroupOperands& operands) {
  const Group& group = problem.groups[index];
  if (problem.activations != Activations::kNvfp4) {
    if (operands.a16 == nullptr) {
      refuse(index, fmt::format("a16 is null but the problem has {} activations",
                                to_string(problem.activations)));
    }
    return;
  }
  if (operands.a.codes == nullptr) refuse(index, "a.codes is null");
  if (operands.a.scales == nullptr) refuse(index, "a.scales is null");
  if (operands.a.rows != group.m || operands.a.k_elements != group.k) {
    refuse(index, fmt::format("a is {} x {} but the plan has m = {}, k = {}", operands.a.rows,
                              operands.a.k_elements, group.m, group.k));
  }
  if (!std::isfinite(operands.a.global_scale)) {
    refuse(index, fmt::format("a.global_scale = {} is not finite", operands.a.global_scale));
  }
}

void check_output(std::size_t index, const Problem& problem, const GroupOperands& operands) {
  const Group& group = problem.groups[index];
  if (operands.c == nullptr) refuse(index, "c is null");
  const std::int64_t stride = c_stride(group, operands);
  if (stride < group.n || stride > kMatrixElementsMax / std::max<std::int64_t>(group.m, 1)) {
    refuse(index, fmt::format("c_stride_elements = {} is not between n = {} and {}", stride,
                              group.n, kMatrixElementsMax / std::max<std::int64_t>(group.m, 1)));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(operands.c);
  if (address % static_cast<std::uintptr_t>(bytes_per_element(problem.output)) != 0) {
    refuse(index, fmt::format("c is not aligned to its element size of {} bytes",
                              bytes_per_element(problem.output)));
  }
}

void check_factor(std::size_t index, const char* name, float alpha, double factor) {
  if (const std::string why = why_not_factor(name, alpha, factor); !why.empty()) refuse(index, why);
}

void check_factors(std::size_t index, const Problem& problem, const GroupOperands& operands) {
  const Factors factors = factors_of(problem.activations, operands);
  check_factor(index, "alpha", operands.alpha, factors.gate);
  if (problem.op == Op::kDual) check_factor(index, "alpha_up", operands.alpha_up, factors.up);
}

struct Extent {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::size_t group_index;
  const char* what;
  bool output;
};

void add(std::vector<Extent>& extents, const void* data, std::int64_t bytes, std::size_t index,
         const char* what) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const bool output = what[0] == 'c';
  extents.push_back({begin, begin + static_cast<std::uintptr_t>(bytes), index, what, output});
}

std::vector<Extent> extents_of(const Problem& problem, std::span<const GroupOperands> operands) {
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Group& group = problem.groups[i];
    if (group.m == 0) continue;
    const std::int64_t elements = (group.m - 1) * c_stride(group, operands[i]) + group.n;
    add(extents, operands[i].c, elements * bytes_per_element(problem.output), i, "c");
    if (problem.activations == Activations::kNvfp4) {
      add(extents, operands[i].a.codes, group.m * group.k / 2, i, "a.codes");
      add(extents, operands[i].a.scales, group.m * group.k / kBlockElements, i, "a.scales");
    } else {
      add(extents, operands[i].a16, group.m * group.k * 2, i, "a16");
    }
    const cpu::PackedWeights& packed = operands[i].weights->state().packed;
    add(extents, packed.pages.data(), static_cast<std::int64_t>(packed.pages.bytes()), i,
        "weights");
  }
  return extents;
}

}  // namespace

Factors factors_of(Activations activations, const GroupOperands& operands) {
  const cpu::PackedWeights& weights = operands.weights->state().packed;
  const double a_scale = activations == Activations::kNvfp4 ? operands.a.global_scale : 1.0;
  return {.gate = a_scale * operands.alpha * weights.global_scale,
          .up = a_scale * operands.alpha_up * weights.global_scale_up};
}

void check_operands(const Problem& problem, std::span<const GroupOperands> operands) {
  if (operands.size() != problem.groups.size()) {
    throw Error(fmt::format("{} groups of operands for a plan with {} groups", operands.size(),
                            problem.groups.size()));
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (problem.groups[i].m == 0) continue;
    check_weights(i, problem, operands[i]);
    check_activations(i, problem, operands[i]);
    check_factors(i, problem, operands[i]);
    check_output(i, problem, operands[i]);
  }
}

// Sorted by begin, an output overlaps something iff it overlaps the furthest-reaching extent before
// it, or an extent that begins inside it. Inputs may share memory with each other.
void check_overlap(const Problem& problem, std::span<const GroupOperands> operands) {
  std::vector<Extent> extents = extents_of(problem, operands);
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  const Extent* reach = nullptr;         // the extent that ends last so far
  const Extent* output_reach = nullptr;  // the output that ends last so far
  for (const Extent& extent : extents) {
    const Extent* other = extent.output ? reach : output_reach;
    if (other != nullptr && other->end > extent.begin) {
      throw Error(fmt::format("{} of group {} overlaps {} of group {}", other->what,
                              other->group_index, extent.what, extent.group_index));
    }
    if (reach == nullptr || extent.end > reach->end) reach = &extent;
    if (extent.output && (output_reach == nullptr || extent.end > output_reach->end)) {
      output_reach = &extent;
    }
  }
}

}  // namespace thresher
