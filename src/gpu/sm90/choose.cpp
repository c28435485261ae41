// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm90/choose.hpp"

#include "gpu/gemm/choice_rule.hpp"
#include "gpu/sm90/gemm_support.hpp"
#include "gpu/sm90/model.hpp"

namespace thresher::gpu::sm90 {
namespace {

constexpr int kTokenChoices[] = {8, 16, 32, 48, 64, 80, 96, 104, 112, 128};
constexpr int kRowChoices[] = {128, 192, 256};
constexpr int kTokensOf192Rows = 64;  // and more: with fewer, nobody has timed them

constexpr int kPartsTokens = 32;  // of other widths the compiler cannot keep all parts' sums

// A tile shape with what suits it.
GemmKnobs knobs_for(int tokens, int rows) {
  const bool wide = tokens >= 64;
  GemmKnobs knobs;
  knobs.tokens = tokens;
  knobs.weight_rows = rows;
  knobs.consumer_warpgroups = rows == 192 ? 3 : 2;
  // What registers allow, and in between what was faster.
  const bool few_steps = rows == 192 || (rows == 256 && (tokens >= 64 || tokens <= 16));
  knobs.fragment_steps = few_steps ? 2 : 4;
  knobs.store = wide ? Store::kVectors : Store::kDirect;
  knobs.stages = tokens > 64 ? (rows > 128 ? 6 : 7) : 8;
  // A prologue of its own pays where the GEMM's blocks fit beside it and have little else to do.
  knobs.prologue = tokens == 16 ? Prologue::kKernel : Prologue::kInside;
  return knobs;
}

std::vector<GemmKnobs> shapes() {
  std::vector<GemmKnobs> all;
  for (const int tokens : kTokenChoices) {
    for (const int rows : kRowChoices) {
      if (rows == 192 && tokens < kTokensOf192Rows) continue;
      all.push_back(knobs_for(tokens, rows));
    }
  }
  return all;
}

bool may_have_parts(const GemmKnobs& knobs) { return knobs.tokens % kPartsTokens == 0; }

}  // namespace

std::vector<Variant> choices() {
  std::vector<Variant> all;
  for (GemmKnobs knobs : shapes()) {
    all.push_back({.knobs = knobs});
    knobs.schedule = Schedule::kBalanced;
    if (may_have_parts(knobs)) all.push_back({.knobs = knobs});
  }
  return all;
}

Variant choose(const Problem& problem, std::int64_t token_limit, const SmLimits& limits) {
  const ChoiceRule rule{tile_times(), may_have_parts, why_not};
  return {.knobs = soonest(shapes(), {}, {problem, token_limit, limits}, rule)};
}

std::vector<Variant> named_variants() {
  std::vector<Variant> variants{Variant{}};
  const auto turn = [&](auto change) {
    Variant variant;
    change(variant.knobs);
    variants.push_back(variant);
  };
  turn([](GemmKnobs& k) { k.kind = GemmKind::kPlain, k.launches = Launches::kPerGroup; });
  turn([](GemmKnobs& k) { k.stages = 2; });
  turn([](GemmKnobs& k) { k.tokens = 64; });
  for (const Prologue prologue : {Prologue::kKernel, Prologue::kInside}) {
    turn([=](GemmKnobs& k) { k.tokens = 16, k.stages = 6, k.prologue = prologue; });
  }
  turn([](GemmKnobs& k) { k.tokens = 256, k.stages = 3; });
  turn([](GemmKnobs& k) { k.widths = Widths::kFixed; });
  turn([](GemmKnobs& k) {
    k.tokens = 64, k.weight_rows = 256, k.fragment_steps = 2, k.store = Store::kVectors;
  });
  turn([](GemmKnobs& k) {
    k.weight_rows = 256, k.fragment_steps = 2, k.stages = 6, k.store = Store::kVectors;
    k.schedule = Schedule::kBalanced, k.prologue = Prologue::kInside;
  });
  turn([](GemmKnobs& k) { k.fragment_steps = 2; });
  turn([](GemmKnobs& k) { k.specialised = false; });
  turn([](GemmKnobs& k) { k.store = Store::kStaged; });
  turn([](GemmKnobs& k) { k.store = Store::kVectors; });
  turn([](GemmKnobs& k) { k.schedule = Schedule::kBalanced; });
  turn([](GemmKnobs& k) { k.split_k = 2; });
  turn([](GemmKnobs& k) {
    k.weight_rows = 192, k.consumer_warpgroups = 3, k.fragment_steps = 2, k.stages = 6;
    k.store = Store::kVectors, k.prologue = Prologue::kInside;
  });
  turn([](GemmKnobs& k) {
    k.tokens = 64, k.consumer_warpgroups = 1, k.fragment_steps = 2, k.blocks_per_sm = 2;
  });
  turn([](GemmKnobs& k) { k.arrive = Arrive::kWarp; });
  turn([](GemmKnobs& k) { k.launches = Launches::kPerGroup; });
  turn([](GemmKnobs& k) { k.launches = Launches::kStreams; });
  turn([](GemmKnobs& k) {
    k.consumer_warpgroups = 1, k.fragment_steps = 2, k.dual = Dual::kTwoPass;
  });
  variants.push_back({.knobs = {}, .graph = true});
  return variants;
}

Variant baseline() {
  return {
      .knobs = {.kind = GemmKind::kPlain, .launches = Launches::kPerGroup, .dual = Dual::kTwoPass}};
}

}  // namespace thresher::gpu::sm90
