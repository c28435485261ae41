// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm80/choose.hpp"

#include "gpu/gemm/choice_rule.hpp"
#include "gpu/sm80/gemm_support.hpp"
#include "gpu/sm80/model.hpp"

namespace thresher::gpu::sm80 {
namespace {

// Tiles of a block of four warps, and how many blocks share an SM. Four strips per warp, in 256
// rows, have a load of tokens serve four MMAs. Where shared memory is little, what stands before
// cannot be, and fewer stages or blocks stand behind it.
struct Shape {
  int tokens;
  int rows;
  int stages;
  int blocks;
};

constexpr Shape kShapes[] = {
    {8, 128, 6, 4},  {8, 128, 4, 3},  {16, 128, 6, 4}, {16, 128, 4, 3}, {32, 128, 4, 3},
    {32, 128, 4, 2}, {56, 256, 4, 2}, {56, 256, 4, 1}, {64, 128, 4, 2}, {64, 128, 3, 2},
};

GemmKnobs knobs_for(const Shape& shape, Prologue prologue) {
  GemmKnobs knobs = default_knobs();
  knobs.tokens = shape.tokens;
  knobs.weight_rows = shape.rows;
  knobs.blocks_per_sm = shape.blocks;
  knobs.stages = shape.stages;
  knobs.prologue = prologue;
  return knobs;
}

std::vector<GemmKnobs> shapes(Prologue prologue) {
  std::vector<GemmKnobs> all;
  for (const Shape& shape : kShapes) all.push_back(knobs_for(shape, prologue));
  return all;
}

// NVFP4 tokens are decoded once, before. Those of 16 bits may also be read as they are, which saves
// a kernel, and costs every k tile some time.
std::vector<GemmKnobs> shapes_for(Activations activations) {
  std::vector<GemmKnobs> all = shapes(Prologue::kKernel);
  if (activations == Activations::kNvfp4) return all;
  const std::vector<GemmKnobs> readers = shapes(Prologue::kNone);
  all.insert(all.end(), readers.begin(), readers.end());
  return all;
}

}  // namespace

std::vector<Variant> choices() {
  std::vector<Variant> all;
  for (const Prologue prologue : {Prologue::kKernel, Prologue::kNone}) {
    for (GemmKnobs knobs : shapes(prologue)) {
      all.push_back({.knobs = knobs});
      knobs.schedule = Schedule::kBalanced;
      all.push_back({.knobs = knobs});
    }
  }
  return all;
}

Variant choose(const Problem& problem, std::int64_t token_limit, const SmLimits& limits) {
  const ChoiceRule rule{tile_times(), [](const GemmKnobs&) { return true; }, why_not};
  return {.knobs = soonest(shapes_for(problem.activations), default_knobs(),
                           {problem, token_limit, limits}, rule)};
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
    k.prologue = Prologue::kKernel;
  });
  turn([](GemmKnobs& k) { k.prologue = Prologue::kKernel; });
  turn([](GemmKnobs& k) { k.stages = 2; });
  turn([](GemmKnobs& k) { k.schedule = Schedule::kBalanced; });
  turn([](GemmKnobs& k) { k.split_k = 2; });
  turn([](GemmKnobs& k) { k.launches = Launches::kPerGroup; });
  turn([](GemmKnobs& k) { k.dual = Dual::kTwoPass; });
  return variants;
}

Variant baseline() {
  Variant variant{.knobs = default_knobs()};
  variant.knobs.stages = 2;
  variant.knobs.launches = Launches::kPerGroup;
  variant.knobs.dual = Dual::kTwoPass;
  return variant;
}

}  // namespace thresher::gpu::sm80
