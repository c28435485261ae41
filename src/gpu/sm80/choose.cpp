// SPDX-License-Identifier: Apache-2.0
// The rule is Hopper's (sm90/choose.cpp), with shapes and times of its own.
#include "gpu/sm80/choose.hpp"

#include "gpu/sm80/gemm_support.hpp"
#include "gpu/sm80/model.hpp"
#include "gpu/sm90/choose.hpp"

namespace thresher::gpu::sm80 {
namespace {

constexpr int kTokenChoices[] = {8, 16, 32, 64, 96};

// Tiles of 128 rows for blocks that share an SM, of 256 for one that has it alone; a warp has two
// strips in both, so that every load of tokens serves two MMAs.
GemmKnobs knobs_for(int tokens, int rows) {
  GemmKnobs knobs = default_knobs();
  knobs.tokens = tokens;
  knobs.weight_rows = rows;
  knobs.consumer_warpgroups = rows / 128;
  knobs.blocks_per_sm = rows == 128 ? 2 : 1;
  knobs.stages = tokens <= 32 ? 6 : 3;
  // Wider tiles would take too much shared memory to be staged.
  knobs.store = tokens == 64 ? sm90::Store::kVectors : sm90::Store::kDirect;
  return knobs;
}

std::vector<GemmKnobs> shapes() {
  std::vector<GemmKnobs> all;
  for (const int tokens : kTokenChoices) {
    for (const int rows : {128, 256}) all.push_back(knobs_for(tokens, rows));
  }
  return all;
}

}  // namespace

std::vector<Variant> choices() {
  std::vector<Variant> all;
  for (GemmKnobs knobs : shapes()) {
    all.push_back({.knobs = knobs});
    knobs.schedule = sm90::Schedule::kBalanced;
    all.push_back({.knobs = knobs});
  }
  return all;
}

Variant choose(const Problem& problem, std::int64_t token_limit, const SmLimits& limits) {
  const sm90::ChoiceRule rule{tile_times(), [](const GemmKnobs&) { return true; }, why_not};
  return {.knobs = sm90::soonest(shapes(), default_knobs(), {problem, token_limit, limits}, rule)};
}

std::vector<Variant> named_variants() {
  std::vector<Variant> variants{{.knobs = default_knobs()}};
  const auto turn = [&](auto change) {
    Variant variant{.knobs = default_knobs()};
    change(variant.knobs);
    variants.push_back(variant);
  };
  turn([](GemmKnobs& k) { k.tokens = 16, k.stages = 6; });
  turn([](GemmKnobs& k) {
    k.tokens = 96, k.weight_rows = 256, k.consumer_warpgroups = 2, k.stages = 3;
    k.store = sm90::Store::kVectors;
  });
  turn([](GemmKnobs& k) { k.stages = 2; });
  turn([](GemmKnobs& k) { k.schedule = sm90::Schedule::kBalanced; });
  turn([](GemmKnobs& k) { k.split_k = 2; });
  turn([](GemmKnobs& k) { k.launches = sm90::Launches::kPerGroup; });
  turn([](GemmKnobs& k) { k.dual = sm90::Dual::kTwoPass; });
  return variants;
}

Variant baseline() {
  Variant variant{.knobs = default_knobs()};
  variant.knobs.stages = 2;
  variant.knobs.launches = sm90::Launches::kPerGroup;
  variant.knobs.dual = sm90::Dual::kTwoPass;
  return variant;
}

}  // namespace thresher::gpu::sm80
