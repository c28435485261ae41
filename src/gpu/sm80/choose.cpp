// SPDX-License-Identifier: Apache-2.0
// The rule is Hopper's (sm90/choose.cpp), with shapes and times of its own.
#include "gpu/sm80/choose.hpp"

#include "gpu/sm80/gemm_support.hpp"
#include "gpu/sm80/model.hpp"
#include "gpu/sm90/choose.hpp"

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

GemmKnobs knobs_for(const Shape& shape, sm90::Prologue prologue) {
  GemmKnobs knobs = default_knobs();
  knobs.tokens = shape.tokens;
  knobs.weight_rows = shape.rows;
  knobs.blocks_per_sm = shape.blocks;
  knobs.stages = shape.stages;
  knobs.prologue = prologue;
  return knobs;
}

std::vector<GemmKnobs> shapes(sm90::Prologue prologue) {
  std::vector<GemmKnobs> all;
  for (const Shape& shape : kShapes) all.push_back(knobs_for(shape, prologue));
  return all;
}

// NVFP4 tokens are decoded once, before. Those of 16 bits may also be read as they are, which saves
// a kernel, and costs every k tile some time.
std::vector<GemmKnobs> shapes_for(Activations activations) {
  std::vector<GemmKnobs> all = shapes(sm90::Prologue::kKernel);
  if (activations == Activations::kNvfp4) return all;
  const std::vector<GemmKnobs> readers = shapes(sm90::Prologue::kNone);
  all.insert(all.end(), readers.begin(), readers.end());
  return all;
}

}  // namespace

std::vector<Variant> choices() {
  std::vector<Variant> all;
  for (const sm90::Prologue prologue : {sm90::Prologue::kKernel, sm90::Prologue::kNone}) {
    for (GemmKnobs knobs : shapes(prologue)) {
      all.push_back({.knobs = knobs});
      knobs.schedule = sm90::Schedule::kBalanced;
      all.push_back({.knobs = knobs});
    }
  }
  return all;
}

Variant choose(const Problem& problem, std::int64_t token_limit, const SmLimits& limits) {
  const sm90::ChoiceRule rule{tile_times(), [](const GemmKnobs&) { return true; }, why_not};
  return {.knobs = sm90::soonest(shapes_for(problem.activations), default_knobs(),
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
    k.prologue = sm90::Prologue::kKernel;
  });
  turn([](GemmKnobs& k) { k.prologue = sm90::Prologue::kKernel; });
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
