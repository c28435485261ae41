// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm100/choose.hpp"

#include "gpu/gemm/choice_rule.hpp"
#include "gpu/sm100/gemm_support.hpp"
#include "gpu/sm100/model.hpp"

namespace thresher::gpu::sm100 {
namespace {

constexpr int kTokenChoices[] = {16, 32, 64, 96, 128};
// The deepest first: what does not fit a dual product is passed over.
constexpr int kStageChoices[] = {6, 4};

std::vector<GemmKnobs> shapes() {
  std::vector<GemmKnobs> all;
  for (const int tokens : kTokenChoices) {
    for (const int stages : kStageChoices) {
      GemmKnobs knobs = default_knobs();
      knobs.tokens = tokens;
      knobs.stages = stages;
      all.push_back(knobs);
    }
  }
  return all;
}

}  // namespace

std::vector<Variant> choices() {
  std::vector<Variant> all;
  for (const GemmKnobs& knobs : shapes()) all.push_back({.knobs = knobs});
  return all;
}

Variant choose(const Problem& problem, std::int64_t token_limit, const SmLimits& limits) {
  const ChoiceRule rule{tile_times(), [](const GemmKnobs&) { return false; }, why_not};
  return {.knobs = soonest(shapes(), default_knobs(), {problem, token_limit, limits}, rule)};
}

std::vector<Variant> named_variants() {
  std::vector<Variant> variants{{.knobs = default_knobs()}};
  const auto turn = [&](auto change) {
    Variant variant{.knobs = default_knobs()};
    change(variant.knobs);
    variants.push_back(variant);
  };
  turn([](GemmKnobs& k) { k.tokens = 16; });
  turn([](GemmKnobs& k) { k.tokens = 64; });
  turn([](GemmKnobs& k) { k.tokens = 256, k.stages = 2; });
  turn([](GemmKnobs& k) { k.stages = 2; });
  turn([](GemmKnobs& k) { k.widths = Widths::kFixed; });
  turn([](GemmKnobs& k) { k.store = Store::kVectors; });
  turn([](GemmKnobs& k) { k.tokens = 32, k.stages = 2, k.blocks_per_sm = 2; });
  turn([](GemmKnobs& k) { k.launches = Launches::kPerGroup; });
  turn([](GemmKnobs& k) { k.launches = Launches::kStreams; });
  turn([](GemmKnobs& k) { k.dual = Dual::kTwoPass; });
  turn([](GemmKnobs& k) { k.weight_rows = 256; });
  turn([](GemmKnobs& k) {
    k.tokens = 32, k.weight_rows = 256, k.stages = 5, k.store = Store::kVectors;
  });
  turn([](GemmKnobs& k) { k.stages = 3, k.store = Store::kStaged; });
  turn([](GemmKnobs& k) { k.schedule = Schedule::kBalanced; });
  turn([](GemmKnobs& k) { k.split_k = 2; });
  turn([](GemmKnobs& k) {
    k.tokens = 64, k.weight_rows = 256, k.store = Store::kStaged;
    k.schedule = Schedule::kBalanced;
  });
  turn([](GemmKnobs& k) { k.weight_rows = 256, k.dual = Dual::kTwoPass; });
  turn([](GemmKnobs& k) { k.loads = Loads::kMulticast; });
  turn([](GemmKnobs& k) {
    k.tokens = 64, k.loads = Loads::kMulticast, k.store = Store::kStaged;
    k.schedule = Schedule::kBalanced;
  });
  turn([](GemmKnobs& k) { k.loads = Loads::kMulticast, k.dual = Dual::kTwoPass; });
  turn([](GemmKnobs& k) { k.weight_rows = 256, k.loads = Loads::kBoxes; });
  turn([](GemmKnobs& k) { k.loads = Loads::kBoxes, k.split_k = 2, k.dual = Dual::kTwoPass; });
  variants.push_back({.knobs = default_knobs(), .graph = true});
  return variants;
}

Variant baseline() {
  Variant variant{.knobs = default_knobs()};
  variant.knobs.stages = 2;
  variant.knobs.launches = Launches::kPerGroup;
  variant.knobs.dual = Dual::kTwoPass;
  return variant;
}

}  // namespace thresher::gpu::sm100
