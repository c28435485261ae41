// SPDX-License-Identifier: Apache-2.0
// GPUs with fewer SMs and less shared memory than the one that these kernels were run on: whatever
// is chosen for them runs in the emulator, within their limits, and is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gemm/suite.hpp"
#include "gpu/sm80/choose.hpp"
#include "gpu/sm80/warp_scene.hpp"

namespace thresher::gpu::sm80::testing {
namespace {

// Shared memory by compute capability, as the CUDA Programming Guide has it.
constexpr SmLimits small_memory(int capability, int sm_count) {
  return {.compute_capability = capability,
          .sm_count = sm_count,
          .shared_bytes_per_block = 99 << 10,
          .shared_bytes_per_sm = 100 << 10};
}
constexpr SmLimits middle_memory(int capability, int sm_count) {
  return {.compute_capability = capability,
          .sm_count = sm_count,
          .shared_bytes_per_block = 163 << 10,
          .shared_bytes_per_sm = 164 << 10};
}

constexpr SmLimits kSmallGpus[] = {
    small_memory(86, 16),    // RTX 3050 of a laptop
    small_memory(86, 28),    // RTX 3060
    small_memory(86, 72),    // A10
    small_memory(86, 82),    // RTX 3090
    small_memory(89, 24),    // RTX 4060
    small_memory(89, 142),   // L40S
    small_memory(120, 30),   // RTX 5060
    small_memory(120, 170),  // RTX 5090
    small_memory(121, 48),   // DGX Spark
    middle_memory(80, 108),  // A100
    middle_memory(87, 8),    // Orin
};

struct ChoiceShape {
  int tokens;
  int rows;
  int stages;
};

template <ChoiceShape kShape, Prologue kPrologue, Schedule kSchedule>
constexpr GemmKnobs choice() {
  GemmKnobs knobs = default_knobs();
  knobs.tokens = kShape.tokens;
  knobs.weight_rows = kShape.rows;
  knobs.stages = kShape.stages;
  knobs.prologue = kPrologue;
  knobs.schedule = kSchedule;
  return knobs;
}

// 16-bit results of every type of activations that it is chosen for.
template <GemmKnobs kKnobs, Op kOp>
void add_choice(KernelSet& kernels) {
  if constexpr (kKnobs.prologue == Prologue::kKernel) {
    emulated::add_kernels<kKnobs, kOp, ActivationType::kNvfp4, OutputType::kFp16>(kernels);
  }
  emulated::add_kernels<kKnobs, kOp, ActivationType::kBf16, OutputType::kFp16>(kernels);
}

template <GemmKnobs kKnobs>
void add_operations(KernelSet& kernels) {
  add_choice<kKnobs, Op::kGemm>(kernels);
  add_choice<kKnobs, Op::kDual>(kernels);
}

template <ChoiceShape kShape>
void add_shape(KernelSet& kernels) {
  add_operations<choice<kShape, Prologue::kKernel, Schedule::kTiles>()>(kernels);
  add_operations<choice<kShape, Prologue::kKernel, Schedule::kBalanced>()>(kernels);
  add_operations<choice<kShape, Prologue::kNone, Schedule::kTiles>()>(kernels);
  add_operations<choice<kShape, Prologue::kNone, Schedule::kBalanced>()>(kernels);
}

// Those of choose.cpp, but for their blocks on an SM, which are nothing to the emulator, and for
// one that is chosen on none of these GPUs.
const KernelSet& kernels_of_choices() {
  static const KernelSet kernels = [] {
    KernelSet all;
    add_shape<{8, 128, 6}>(all);
    add_shape<{8, 128, 4}>(all);
    add_shape<{16, 128, 4}>(all);
    add_shape<{32, 128, 4}>(all);
    add_shape<{56, 256, 4}>(all);
    add_shape<{64, 128, 4}>(all);
    add_shape<{64, 128, 3}>(all);
    return all;
  }();
  return kernels;
}

std::vector<Problem> many_problems() {
  std::vector<Problem> all;
  for (const char* suite : {"seeds", "dual", "decode", "experts", "edges", "models", "small"}) {
    for (const Problem& problem : load_suite(suite).problems) all.push_back(problem);
  }
  for (const std::size_t groups : {1u, 8u, 64u}) {
    for (const std::int64_t m : {1, 12, 40, 300}) {
      for (const std::int64_t n : {512, 4096}) {
        for (const std::int64_t k : {256, 2048, 7168}) {
          all.push_back({.name = "sweep",
                         .op = n == 512 ? Op::kDual : Op::kGemm,
                         .groups = std::vector<Group>(groups, {.m = m, .n = n, .k = k})});
        }
      }
    }
  }
  return all;
}

struct Chosen {
  Variant variant;
  SmLimits limits;
  Activations activations;
};

// Everything that is chosen somewhere, once.
std::vector<Chosen> all_chosen() {
  std::vector<Chosen> all;
  for (const SmLimits& limits : kSmallGpus) {
    for (Problem problem : many_problems()) {
      for (const Activations activations : {Activations::kNvfp4, Activations::kBf16}) {
        problem.activations = activations;
        const Variant variant = choose(problem, token_count(problem), limits);
        const bool is_new = std::none_of(all.begin(), all.end(), [&](const Chosen& one) {
          return one.variant == variant && one.activations == activations &&
                 one.limits.shared_bytes_per_sm == limits.shared_bytes_per_sm;
        });
        if (is_new) all.push_back({variant, limits, activations});
      }
    }
  }
  return all;
}

void expect_right(const Chosen& chosen, Op op) {
  WarpScene scene(make_problem({70, 0, 9}, 300, 400, op, chosen.activations, Output::kFp16));
  SmLimits few = chosen.limits;
  few.sm_count = emulated::kFewSms.sm_count;
  scene.set_limits(few);
  scene.run(chosen.variant.knobs, kernels_of_choices(), /*emulator_seed=*/5);
  EXPECT_EQ(scene.why_wrong(), "")
      << name(chosen.variant) << " on sm_" << chosen.limits.compute_capability;
}

TEST(SmallGpus, WhatTheyChooseIsRight) {
  const std::vector<Chosen> all = all_chosen();
  EXPECT_GT(all.size(), 12u);  // there is something to choose
  for (const Chosen& chosen : all) {
    expect_right(chosen, Op::kGemm);
    expect_right(chosen, Op::kDual);
  }
}

// With all its SMs, most of which have nothing to do.
TEST(SmallGpus, AllBlocksOfASmallDevice) {
  const SmLimits& least = kSmallGpus[0];
  WarpScene scene(make_problem({20, 3}, 300, 400, Op::kGemm, Activations::kNvfp4, Output::kFp16));
  scene.set_limits(least);
  const Variant chosen = choose(scene.problem(), token_count(scene.problem()), least);
  scene.run(chosen.knobs, kernels_of_choices());
  EXPECT_EQ(scene.why_wrong(), "") << name(chosen);
}

}  // namespace
}  // namespace thresher::gpu::sm80::testing
