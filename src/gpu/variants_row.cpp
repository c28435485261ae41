// SPDX-License-Identifier: Apache-2.0
#include "gpu/variants_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "gpu/sm100/choose.hpp"
#include "gpu/sm100/gemm_support.hpp"
#include "gpu/sm100/model.hpp"
#include "gpu/sm80/choose.hpp"
#include "gpu/sm80/gemm_support.hpp"
#include "gpu/sm80/model.hpp"
#include "gpu/sm90/choose.hpp"
#include "gpu/sm90/gemm_support.hpp"
#include "gpu/sm90/model.hpp"

namespace thresher::gpu {
namespace {

// What an architecture brings: a row each, in the order of lists.
struct Architecture {
  Mma mma;
  std::string_view devices;  // that alone can run it; empty: all
  std::vector<Variant> (*named_variants)();
  std::vector<Variant> (*choices)();
  Variant (*baseline)();
  const TileTimes& (*tile_times)();
  std::string (*why_not)(const GemmKnobs& knobs, const PlanRequest& request);
};

std::string why_not_of_warps(const GemmKnobs& knobs, const PlanRequest& request) {
  if (is_blackwell(request.limits) && request.problem.activations == Activations::kNvfp4) {
    return "weights for NVFP4 activations are packed for this GPU's own MMA: take gpu_sm100";
  }
  return sm80::why_not(knobs, request);
}

constexpr Architecture kArchitectures[] = {
    {.mma = Mma::kWarpgroup,
     .devices = "Hopper GPUs (sm_90)",
     .named_variants = sm90::named_variants,
     .choices = sm90::choices,
     .baseline = sm90::baseline,
     .tile_times = sm90::tile_times,
     .why_not = sm90::why_not},
    {.mma = Mma::kWarp,
     .devices = {},
     .named_variants = sm80::named_variants,
     .choices = sm80::choices,
     .baseline = sm80::baseline,
     .tile_times = sm80::tile_times,
     .why_not = why_not_of_warps},
    {.mma = Mma::kBlockScaled,
     .devices = "Blackwell GPUs (sm_100)",
     .named_variants = sm100::named_variants,
     .choices = sm100::choices,
     .baseline = sm100::baseline,
     .tile_times = sm100::tile_times,
     .why_not = sm100::why_not},
};

const Architecture& architecture_of(Mma mma) {
  return *std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                       [&](const Architecture& one) { return one.mma == mma; });
}

std::string why_not(const Variant& variant, const PlanRequest& request) {
  if (std::string why = why_not_here(name(variant), request.limits); !why.empty()) return why;
  return architecture_of(variant.knobs.mma).why_not(variant.knobs, request);
}

std::vector<std::string> names_of(const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& variant : variants) names.push_back(name(variant));
  return names;
}

// All architectures' variants, those of kFirst before the others.
template <Mma kFirst>
std::vector<Variant> of_all(std::vector<Variant> (*Architecture::*list)()) {
  std::vector<Variant> all = (architecture_of(kFirst).*list)();
  for (const Architecture& one : kArchitectures) {
    if (one.mma == kFirst) continue;
    const std::vector<Variant> others = (one.*list)();
    all.insert(all.end(), others.begin(), others.end());
  }
  return all;
}

KnobValues values_of(std::string_view variant) {
  const Variant read = variant_from_name(variant);
  KnobValues values = knobs_of(read);
  const std::string_view head = head_of(read.knobs.mma);
  values.emplace("isa", head.substr(head.find('_') + 1));
  return values;
}

std::string turned(std::string_view variant, const KnobValues& knobs) {
  Variant read = variant_from_name(variant);
  for (const auto& [knob, value] : knobs) read = with_knob(read, knob, value);
  return name(read);
}

// With exact sums nothing can differ. Otherwise a variant's two ways must agree, unless where it
// cuts k depends on how many tokens may come.
std::string twin_set(const Problem&, std::string_view variant, bool exact, bool device_counts) {
  if (exact) return "exact";
  const bool balanced = variant_from_name(variant).knobs.schedule == Schedule::kBalanced;
  return std::string(variant) + (balanced && device_counts ? " with device counts" : "");
}

std::string choose(const Problem& problem, std::int64_t tokens_max, const Machine& machine) {
  const SmLimits& limits = machine.limits;
  if (is_hopper(limits)) return name(sm90::choose(problem, tokens_max, limits));
  const bool own = is_blackwell(limits) && problem.activations == Activations::kNvfp4;
  return name((own ? sm100::choose : sm80::choose)(problem, tokens_max, limits));
}

ModelledRun modelled_run(const Problem& problem, std::string_view variant, const Machine& machine) {
  const Variant read = variant_from_name(variant);
  return modelled_run(problem, read, machine, architecture_of(read.knobs.mma).tile_times());
}

template <Mma kFirst>
Backend row_of() {
  return {.name = {},
          .variant_prefix = "gpu_",
          .title = {},
          .season_suite = "tank_gpu",
          .pitch_folder = "pitches/gpu",
          .pilot_seconds = 7,  // starting processes and packing take most of it
          .named_variants = [] { return names_of(of_all<kFirst>(&Architecture::named_variants)); },
          .missing_for = [](std::string_view) { return std::string(); },
          .choices = [] { return names_of(of_all<kFirst>(&Architecture::choices)); },
          .choose = choose,
          // Cut by how much work all tokens make together, k is summed in other parts.
          .batch_invariant =
              [](std::string_view variant) {
                return turned(variant, {{"schedule", "tiles"}, {"split_k", "1"}});
              },
          .baseline = [] { return name(architecture_of(kFirst).baseline()); },
          .knobs = [] { return knob_texts(kFirst); },
          .knobs_of = values_of,
          .turned = turned,
          .twin_set = twin_set,
          .supports =
              [](const Problem& problem, std::string_view variant, const Machine& machine) {
                return supports(variant_from_name(variant), problem, machine.limits);
              },
          .workspace_bytes =
              [](const Problem& problem, std::string_view variant, const Machine& machine) {
                return make_plan(variant_from_name(variant).knobs,
                                 {problem, token_count(problem), machine.limits})
                    .workspace.bytes;
              },
          .model = modelled_run};
}

}  // namespace

bool is_hopper(const SmLimits& limits) { return limits.compute_capability / 10 == 9; }

bool is_blackwell(const SmLimits& limits) { return limits.compute_capability == 100; }

Mma mma_for(const SmLimits& limits) {
  if (is_blackwell(limits)) return Mma::kBlockScaled;
  return is_hopper(limits) ? Mma::kWarpgroup : Mma::kWarp;
}

std::string why_not_here(std::string_view variant, const SmLimits& limits) {
  const Mma mma = variant_from_name(variant).knobs.mma;
  const std::string_view devices = architecture_of(mma).devices;
  if (devices.empty() || mma == mma_for(limits)) return {};
  return fmt::format("{} is for {}, and this one is sm_{}: take {}", head_of(mma), devices,
                     limits.compute_capability, head_of(mma_for(limits)));
}

Support supports(const Variant& variant, const Problem& problem, const SmLimits& limits) {
  std::string why =
      why_not(variant, {.problem = problem, .token_limit = token_count(problem), .limits = limits});
  const bool ok = why.empty();
  return {.ok = ok, .why_not = std::move(why)};
}

GemmPlan plan_of(const Variant& variant, const Problem& problem, std::int64_t tokens_max,
                 const SmLimits& limits) {
  const PlanRequest request{problem, tokens_max, limits};
  if (const std::string why = why_not(variant, request); !why.empty()) {
    throw Error(
        fmt::format("variant '{}' cannot run problem '{}': {}", name(variant), problem.name, why));
  }
  return make_plan(variant.knobs, request);
}

Backend variants_row(Mma first) {
  if (first == Mma::kBlockScaled) return row_of<Mma::kBlockScaled>();
  return first == Mma::kWarp ? row_of<Mma::kWarp>() : row_of<Mma::kWarpgroup>();
}

}  // namespace thresher::gpu
