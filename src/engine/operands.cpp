// SPDX-License-Identifier: Apache-2.0
#include "engine/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gemm/factor.hpp"

namespace thresher {
namespace {

using backend::c_stride;
using backend::rows_follow;

// What the sums of a group are multiplied by: alpha and the global scales. In double, so that each
// is rounded once whatever the order of its parts. gemm uses `gate` only.
struct Products {
  double gate = 1.0;
  double up = 1.0;
};

Products products_of(Activations activations, const GroupOperands& operands) {
  const backend::Weights& weights = operands.weights->state();
  const double a_scale = activations == Activations::kNvfp4 ? operands.a_global_scale : 1.0;
  return {.gate = a_scale * operands.alpha * weights.global_scale,
          .up = a_scale * operands.alpha_up * weights.global_scale_up};
}

// One group of a call, or the rows of all groups: what messages call it. Formats nothing before it
// fails, because every call is checked.
class Place {
 public:
  Place() = default;
  explicit Place(std::size_t group_index) : group_index_(static_cast<std::int64_t>(group_index)) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(group_index_ < 0 ? what : fmt::format("group {}: {}", group_index_, what));
  }
  void refuse(const std::string& why) const {
    if (!why.empty()) fail(why);
  }

 private:
  std::int64_t group_index_ = -1;
};

void check_weights(std::size_t index, const backend::Device& device, const Problem& problem,
                   const thresher::Weights* handle) {
  const Place place(index);
  const Group& group = problem.groups[index];
  if (handle == nullptr) place.fail("weights is null");
  const backend::Weights& weights = handle->state();
  if (weights.device != device.name()) {
    place.fail(fmt::format("weights were packed on device '{}' but this engine's is '{}'",
                           weights.device, device.name()));
  }
  if (weights.op != problem.op) {
    place.fail(fmt::format("weights were packed for {} but the problem is {}",
                           to_string(weights.op), to_string(problem.op)));
  }
  place.refuse(device.why_not_weights(weights, problem.activations));
  if (weights.n != group.n || weights.k_elements != group.k) {
    place.fail(fmt::format("weights are n = {}, k = {} but the plan has n = {}, k = {}", weights.n,
                           weights.k_elements, group.n, group.k));
  }
}

void check_address(const Place& place, const char* name, const void* address,
                   std::size_t alignment) {
  if (address == nullptr) place.fail(fmt::format("{} is null", name));
  if (reinterpret_cast<std::uintptr_t>(address) % alignment == 0) return;
  place.fail(fmt::format("{} is not aligned to {} bytes", name, alignment));
}

// `row_count` is the most that they may be.
void check_rows(const Place& place, const backend::Device& device, const Problem& problem,
                const Group& group, const Rows& rows, std::int64_t row_count) {
  check_address(place, "a", rows.a, device.activation_alignment(problem.activations));
  if (problem.activations == Activations::kNvfp4) {
    check_address(place, "a_scales", rows.a_scales, 1);
  }
  check_address(place, "c", rows.c, static_cast<std::size_t>(bytes_per_element(problem.output)));
  const std::int64_t stride = c_stride(rows, group);
  const std::int64_t stride_max = kMatrixElementsMax / std::max<std::int64_t>(row_count, 1);
  if (stride < group.n || stride > stride_max) {
    place.fail(fmt::format("c_stride_elements = {} is not between n = {} and {}", stride, group.n,
                           stride_max));
  }
}

void check_factors(std::size_t index, const Problem& problem, const GroupOperands& operands) {
  const Place place(index);
  if (problem.activations == Activations::kNvfp4 && !std::isfinite(operands.a_global_scale)) {
    place.fail(fmt::format("a_global_scale = {} is not finite", operands.a_global_scale));
  }
  const Products products = products_of(problem.activations, operands);
  place.refuse(why_not_factor("alpha", operands.alpha, products.gate));
  if (problem.op == Op::kDual) {
    place.refuse(why_not_factor("alpha_up", operands.alpha_up, products.up));
  }
}

void check_counts(const backend::Plan& plan, const DeviceCounts& counts) {
  if (counts.counts == nullptr) return;
  if (counts.tokens_max < 0 || counts.tokens_max > plan.tokens_max) {
    throw Error(
        fmt::format("tokens_max = {} is not between 0 and the {} that the plan was made for",
                    counts.tokens_max, plan.tokens_max));
  }
}

// Tokens that a group may have in a call.
std::int64_t tokens_of(const backend::Plan& plan, const DeviceCounts& counts, std::int64_t m) {
  if (counts.counts == nullptr) return m;
  return counts.tokens_max > 0 ? counts.tokens_max : plan.tokens_max;
}

void check_alike(const Problem& problem) {
  for (std::size_t i = 0; i < problem.groups.size(); ++i) {
    const Group& group = problem.groups[i];
    const Group& first = problem.groups.front();
    if (group.n == first.n && group.k == first.k) continue;
    Place(i).fail(fmt::format(
        "rows of all groups together need one n and k: n = {}, k = {} and not n = {}, k = {}",
        group.n, group.k, first.n, first.k));
  }
}

struct Extent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::string what;
  bool output = false;
};

class Extents {
 public:
  explicit Extents(const Problem& problem) : problem_(problem) {}

  void add_rows(const Rows& rows, const Group& group, std::int64_t row_count,
                const std::string& whose) {
    if (row_count == 0) return;
    const std::int64_t elements = row_count * group.k;
    const std::int64_t c_elements = (row_count - 1) * c_stride(rows, group) + group.n;
    add(rows.c, c_elements * bytes_per_element(problem_.output), "c" + whose, /*output=*/true);
    if (problem_.activations == Activations::kNvfp4) {
      add(rows.a, elements / 2, "a" + whose);
      add(rows.a_scales, elements / kBlockElements, "a_scales" + whose);
    } else {
      add(rows.a, elements * 2, "a" + whose);
    }
  }

  void add(const void* data, std::int64_t bytes, std::string what, bool output = false) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    all_.push_back({begin, begin + static_cast<std::uintptr_t>(bytes), std::move(what), output});
  }

  // Sorted by begin, an output overlaps something iff it overlaps the furthest-reaching extent
  // before it, or an extent that begins inside it. Inputs may share memory with each other.
  void check() {
    std::sort(all_.begin(), all_.end(),
              [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
    const Extent* reach = nullptr;         // the extent that ends last so far
    const Extent* output_reach = nullptr;  // the output that ends last so far
    for (const Extent& extent : all_) {
      const Extent* other = extent.output ? reach : output_reach;
      if (other != nullptr && other->end > extent.begin) {
        throw Error(fmt::format("{} overlaps {}", other->what, extent.what));
      }
      if (reach == nullptr || extent.end > reach->end) reach = &extent;
      if (extent.output && (output_reach == nullptr || extent.end > output_reach->end)) {
        output_reach = &extent;
      }
    }
  }

 private:
  const Problem& problem_;
  std::vector<Extent> all_;
};

}  // namespace

backend::GroupFactors backend::factors_of(Activations activations, const GroupOperands& operands) {
  const Products products = products_of(activations, operands);
  return {.gate = split_factor(products.gate), .up = split_factor(products.up)};
}

void check_rows(const backend::Device& device, const backend::Plan& plan, const Rows& rows,
                const DeviceCounts& counts) {
  const std::int64_t row_count = tokens_of(plan, counts, token_count(plan.problem));
  if (row_count == 0) return;
  check_rows(Place(), device, plan.problem, plan.problem.groups.front(), rows, row_count);
}

void check_operands(const backend::Device& device, const backend::Plan& plan,
                    const Operands& operands) {
  const Problem& problem = plan.problem;
  if (operands.groups.size() != problem.groups.size()) {
    throw Error(fmt::format("{} groups of operands for a plan with {} groups",
                            operands.groups.size(), problem.groups.size()));
  }
  check_counts(plan, operands.counts);
  const bool together = rows_follow(operands);
  if (together) {
    check_alike(problem);
    check_rows(device, plan, operands.rows, operands.counts);
  }
  for (std::size_t i = 0; i < operands.groups.size(); ++i) {
    const Group& group = problem.groups[i];
    const std::int64_t row_count = tokens_of(plan, operands.counts, group.m);
    if (row_count == 0) continue;
    const GroupOperands& own = operands.groups[i];
    check_weights(i, device, problem, own.weights);
    check_factors(i, problem, own);
    if (!together) check_rows(Place(i), device, problem, group, own.rows, row_count);
  }
}

void check_overlap(const backend::Plan& plan, const Operands& operands) {
  const Problem& problem = plan.problem;
  Extents extents(problem);
  if (rows_follow(operands)) {
    const std::int64_t row_count = tokens_of(plan, operands.counts, token_count(problem));
    extents.add_rows(operands.rows, problem.groups.front(), row_count, "");
  }
  for (std::size_t i = 0; i < operands.groups.size(); ++i) {
    const Group& group = problem.groups[i];
    if (group.m == 0) continue;
    const std::string whose = fmt::format(" of group {}", i);
    const GroupOperands& own = operands.groups[i];
    if (!rows_follow(operands)) extents.add_rows(own.rows, group, group.m, whose);
    const backend::Weights& weights = own.weights->state();
    extents.add(weights.data(), static_cast<std::int64_t>(weights.bytes()), "weights" + whose);
  }
  extents.check();
}

}  // namespace thresher
