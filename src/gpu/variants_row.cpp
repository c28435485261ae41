// SPDX-License-Identifier: Apache-2.0
#include "gpu/variants_row.hpp"

#include <fmt/format.h>

#include "gpu/sm80/choose.hpp"
#include "gpu/sm80/gemm_support.hpp"
#include "gpu/sm80/model.hpp"
#include "gpu/sm90/choose.hpp"
#include "gpu/sm90/model.hpp"

namespace thresher::gpu {
namespace {

using sm90::Mma;
using sm90::Variant;

std::string why_not(const Variant& variant, const sm90::PlanRequest& request) {
  if (variant.knobs.mma == Mma::kWarp) return sm80::why_not(variant.knobs, request);
  if (is_hopper(request.limits)) return sm90::why_not(variant.knobs, request);
  return why_not_here(name(variant), request.limits);
}

std::vector<std::string> names_of(const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& variant : variants) names.push_back(name(variant));
  return names;
}

template <Mma kFirst>
std::vector<Variant> of_both(const std::vector<Variant>& hopper, const std::vector<Variant>& warp) {
  std::vector<Variant> all = kFirst == Mma::kWarp ? warp : hopper;
  const std::vector<Variant>& others = kFirst == Mma::kWarp ? hopper : warp;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

KnobValues values_of(std::string_view variant) {
  const Variant read = sm90::variant_from_name(variant);
  KnobValues values = knobs_of(read);
  const std::string_view head = sm90::head_of(read.knobs.mma);
  values.emplace("isa", head.substr(head.find('_') + 1));
  return values;
}

std::string turned(std::string_view variant, const KnobValues& knobs) {
  Variant read = sm90::variant_from_name(variant);
  for (const auto& [knob, value] : knobs) read = with_knob(read, knob, value);
  return name(read);
}

// With exact sums nothing can differ. Otherwise a variant's two ways must agree, unless where it
// cuts k depends on how many tokens may come.
std::string twin_set(const Problem&, std::string_view variant, bool exact, bool device_counts) {
  if (exact) return "exact";
  const bool balanced =
      sm90::variant_from_name(variant).knobs.schedule == sm90::Schedule::kBalanced;
  return std::string(variant) + (balanced && device_counts ? " with device counts" : "");
}

std::string choose(const Problem& problem, std::int64_t tokens_max, const Machine& machine) {
  const auto choice = mma_for(machine.limits) == Mma::kWarp ? sm80::choose : sm90::choose;
  return name(choice(problem, tokens_max, machine.limits));
}

ModelledRun modelled_run(const Problem& problem, std::string_view variant, const Machine& machine) {
  const Variant read = sm90::variant_from_name(variant);
  const bool warp = read.knobs.mma == Mma::kWarp;
  return sm90::modelled_run(problem, read, machine,
                            warp ? sm80::tile_times() : sm90::hopper_times());
}

template <Mma kFirst>
Backend row_of() {
  return {
      .name = {},
      .variant_prefix = "gpu_",
      .title = {},
      .season_suite = "tank_gpu",
      .pitch_folder = "pitches/gpu",
      .pilot_seconds = 7,  // starting processes and packing take most of it
      .named_variants =
          [] { return names_of(of_both<kFirst>(sm90::named_variants(), sm80::named_variants())); },
      .missing_for = [](std::string_view) { return std::string(); },
      .choices = [] { return names_of(of_both<kFirst>(sm90::choices(), sm80::choices())); },
      .choose = choose,
      // Cut by how much work all tokens make together, k is summed in other parts.
      .batch_invariant =
          [](std::string_view variant) {
            return turned(variant, {{"schedule", "tiles"}, {"split_k", "1"}});
          },
      .baseline =
          [] { return name(kFirst == Mma::kWarp ? sm80::baseline() : sm90::plain_variant()); },
      .knobs = [] { return sm90::knob_texts(kFirst); },
      .knobs_of = values_of,
      .turned = turned,
      .twin_set = twin_set,
      .supports =
          [](const Problem& problem, std::string_view variant, const Machine& machine) {
            return supports(sm90::variant_from_name(variant), problem, machine.limits);
          },
      .workspace_bytes =
          [](const Problem& problem, std::string_view variant, const Machine& machine) {
            return make_plan(sm90::variant_from_name(variant).knobs,
                             {problem, token_count(problem), machine.limits})
                .workspace.bytes;
          },
      .model = modelled_run};
}

}  // namespace

bool is_hopper(const SmLimits& limits) { return limits.compute_capability / 10 == 9; }

Mma mma_for(const SmLimits& limits) { return is_hopper(limits) ? Mma::kWarpgroup : Mma::kWarp; }

std::string why_not_here(std::string_view variant, const SmLimits& limits) {
  const Mma mma = sm90::variant_from_name(variant).knobs.mma;
  if (mma == Mma::kWarp || is_hopper(limits)) return {};
  return fmt::format("{} is for Hopper GPUs (sm_90), and this one is sm_{}: take {}",
                     sm90::head_of(mma), limits.compute_capability, sm90::head_of(Mma::kWarp));
}

Support supports(const Variant& variant, const Problem& problem, const SmLimits& limits) {
  std::string why =
      why_not(variant, {.problem = problem, .token_limit = token_count(problem), .limits = limits});
  const bool ok = why.empty();
  return {.ok = ok, .why_not = std::move(why)};
}

sm90::GemmPlan plan_of(const Variant& variant, const Problem& problem, std::int64_t tokens_max,
                       const SmLimits& limits) {
  const sm90::PlanRequest request{problem, tokens_max, limits};
  if (const std::string why = why_not(variant, request); !why.empty()) {
    throw Error(
        fmt::format("variant '{}' cannot run problem '{}': {}", name(variant), problem.name, why));
  }
  return make_plan(variant.knobs, request);
}

Backend variants_row(Mma first) {
  return first == Mma::kWarp ? row_of<Mma::kWarp>() : row_of<Mma::kWarpgroup>();
}

}  // namespace thresher::gpu
