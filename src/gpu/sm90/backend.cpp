// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm90/backend.hpp"

#include "gpu/sm90/choose.hpp"
#include "gpu/sm90/model.hpp"
#include "gpu/sm90/variant.hpp"

namespace thresher::gpu::sm90 {
namespace {

std::vector<std::string> names_of(const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& variant : variants) names.push_back(name(variant));
  return names;
}

KnobValues values_of(std::string_view variant) {
  KnobValues values = knobs_of(variant_from_name(variant));
  values.emplace("isa", kVariantHead.substr(kVariantHead.find('_') + 1));
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

}  // namespace

Backend variants_row() {
  return {.name = {},
          .variant_prefix = "gpu_",
          .title = {},
          .season_suite = "tank_gpu",
          .pitch_folder = "pitches/gpu",
          .pilot_seconds = 7,  // starting processes and packing take most of it
          .named_variants = [] { return names_of(named_variants()); },
          .missing_for = [](std::string_view) { return std::string(); },
          .choices = [] { return names_of(choices()); },
          .choose =
              [](const Problem& problem, std::int64_t tokens_max, const Machine& machine) {
                return name(choose(problem, tokens_max, machine.limits));
              },
          // Cut by how much work all tokens make together, k is summed in other parts.
          .batch_invariant =
              [](std::string_view variant) {
                return turned(variant, {{"schedule", "tiles"}, {"split_k", "1"}});
              },
          .baseline = [] { return name(plain_variant()); },
          .knobs = knob_texts,
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
          .model =
              [](const Problem& problem, std::string_view variant, const Machine& machine) {
                return modelled_run(problem, variant_from_name(variant), machine);
              }};
}

}  // namespace thresher::gpu::sm90
