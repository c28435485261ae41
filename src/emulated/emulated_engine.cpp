// SPDX-License-Identifier: Apache-2.0
#include "emulated/emulated_engine.hpp"

#include <fmt/format.h>

#include <utility>

#include "emulated/named_kernels.hpp"
#include "gpu/sm90/plan_extents.hpp"
#include "gpu/sm90/variant.hpp"
#include "thresher/error.hpp"

namespace thresher::emulated {
namespace {

gpu::sm90::GemmPlan plan_of(const gpu::sm90::Variant& variant, const Problem& problem,
                            const gpu::sm90::DeviceLimits& limits) {
  return gpu::sm90::make_plan(
      variant.knobs,
      {.problem = problem, .token_limit = gpu::sm90::token_count(problem), .limits = limits});
}

// The same problem with the types for which every named variant has kernels.
Problem in_fp16(Problem problem) {
  if (problem.activations == Activations::kBf16) problem.activations = Activations::kFp16;
  problem.output = Output::kFp16;
  return problem;
}

// The types of a problem that in_fp16() would change.
std::string unusual_types(const Problem& problem) {
  std::string types;
  if (problem.activations == Activations::kBf16) types = "bf16 activations";
  if (problem.output == Output::kFp16) return types;
  if (!types.empty()) types += " and ";
  return types + fmt::format("{} output", to_string(problem.output));
}

// Empty: all kernels are there. Shared memory depends on the output's type, so a variant that runs
// the problem may have no plan for it in fp16, and then has no kernels either.
std::string why_no_kernels(const gpu::sm90::Variant& variant, const Problem& problem,
                           const gpu::sm90::DeviceLimits& limits) {
  if (named_kernels().has(plan_of(variant, problem, limits))) return {};
  const Problem usual = in_fp16(problem);
  if (gpu::sm90::supports(variant, usual, limits).ok &&
      named_kernels().has(plan_of(variant, usual, limits))) {
    return fmt::format("the emulator has no kernel for {} of this variant; use the default variant",
                       unusual_types(problem));
  }
  return "the emulator has no kernel for this variant; use one that 'thresher variants' names";
}

Support supports(const gpu::sm90::Variant& variant, const Problem& problem,
                 const gpu::sm90::DeviceLimits& limits) {
  const Support support = gpu::sm90::supports(variant, problem, limits);
  if (!support.ok) return support;
  std::string why = why_no_kernels(variant, problem, limits);
  return {.ok = why.empty(), .why_not = std::move(why)};
}

// What of a group's operands does not fit the problem; null: nothing.
const char* find_misfit(const Problem& problem, const Group& group, const HostOperands& operands) {
  const bool nvfp4 = problem.activations == Activations::kNvfp4;
  if (nvfp4 && (operands.a.codes == nullptr || operands.a.scales == nullptr)) return "a is null";
  if (nvfp4 && (operands.a.rows != group.m || operands.a.k_elements != group.k)) {
    return "a has another shape";
  }
  if (!nvfp4 && operands.a16 == nullptr) return "a16 is null";
  if (operands.weights == nullptr) return "weights is null";
  const gpu::sm90::WeightTiles& tiles = operands.weights->tiles;
  if (tiles.op != problem.op) return "weights were packed for another operation";
  if (tiles.operand != gpu::sm90::operand_of(problem.activations)) {
    return "weights were packed for other activations";
  }
  if (tiles.n != group.n || tiles.k_elements != group.k) return "weights have another shape";
  if (operands.c == nullptr) return "c is null";
  if (operands.c_stride_elements != 0 && operands.c_stride_elements < group.n) {
    return "c_stride_elements is below n";
  }
  return nullptr;
}

void check_operands(const Problem& problem, std::span<const HostOperands> operands) {
  if (operands.size() != problem.groups.size()) {
    throw Error(fmt::format("{} groups of operands for a problem with {} groups", operands.size(),
                            problem.groups.size()));
  }
  for (std::size_t g = 0; g < operands.size(); ++g) {
    const Group& group = problem.groups[g];
    if (group.m == 0) continue;
    if (const char* misfit = find_misfit(problem, group, operands[g]); misfit != nullptr) {
      throw Error(fmt::format("group {} (m = {}, n = {}, k = {}): {}", g, group.m, group.n, group.k,
                              misfit));
    }
  }
}

}  // namespace

std::vector<std::string> EmulatedEngine::variants() const {
  std::vector<std::string> names;
  for (const gpu::sm90::Variant& variant : gpu::sm90::named_variants())
    names.push_back(name(variant));
  return names;
}

Support EmulatedEngine::supports(const Problem& problem, std::string_view variant) const {
  check(problem);
  return emulated::supports(gpu::sm90::variant_from_name(variant), problem, limits_);
}

void EmulatedEngine::run(const Problem& problem, std::string_view variant,
                         std::span<const HostOperands> operands, std::uint64_t seed) const {
  check(problem);
  const gpu::sm90::Variant chosen = gpu::sm90::variant_from_name(variant);
  const Support support = emulated::supports(chosen, problem, limits_);
  if (!support.ok) {
    throw Error(fmt::format("variant '{}' cannot run problem '{}': {}", variant, problem.name,
                            support.why_not));
  }
  check_operands(problem, operands);
  DeviceCall(problem, operands).run(plan_of(chosen, problem, limits_), named_kernels(), seed);
}

}  // namespace thresher::emulated
