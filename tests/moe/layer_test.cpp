// SPDX-License-Identifier: Apache-2.0
// Layers on every device against the oracle, and what a call promises beside that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "moe/layer_scene.hpp"
#include "support/on_devices.hpp"

namespace thresher {
namespace {

using testing::LayerCase;
using testing::LayerScene;

constexpr std::uint64_t kLayerSeed = 18;

MoeOptions with(MoeOptions options, Activations activations, Output x, Output out) {
  options.activations = activations;
  options.x = x;
  options.out = out;
  return options;
}

// Every activation, arithmetic, type, and what experts may bring.
std::vector<LayerCase> cases() {
  // A GPU has other kernels for few tokens: four of them, with so many experts elsewhere.
  const MoeOptions plain{.top_k = 3, .tokens_max = 16, .router_experts = 12};
  MoeOptions clamped = plain;
  clamped.activation = MoeActivation::kClampedSilu;
  clamped.alpha = 1.702f;
  clamped.beta = 1.0f;
  clamped.limit = 0.25f;
  MoeOptions relu = plain;
  relu.activation = MoeActivation::kSquaredRelu;
  MoeOptions on_input{.top_k = 1, .tokens_max = 16, .weight_on_input = true};
  MoeOptions ranked = plain;
  ranked.first_expert = 10;
  constexpr auto kB = Output::kBf16;
  constexpr auto kH = Output::kFp16;
  constexpr auto kF = Output::kFp32;
  constexpr auto kA16 = Activations::kBf16;
  constexpr auto kAh = Activations::kFp16;
  constexpr auto kA4 = Activations::kNvfp4;
  return {
      {.name = "bf16", .options = plain},
      {.name = "fp16", .options = with(plain, kAh, kH, kH)},
      {.name = "fp32 to bf16", .options = with(plain, kA16, kF, kF)},
      {.name = "bf16 to fp16", .options = with(plain, kAh, kB, kF)},
      {.name = "exact", .exact = true, .options = plain},
      {.name = "exact fp16", .exact = true, .options = with(plain, kAh, kH, kF)},
      {.name = "w4a4", .options = with(plain, kA4, kB, kB)},
      {.name = "w4a4 scaled", .input_scale = 0.003f, .options = with(plain, kA4, kF, kF)},
      {.name = "w4a4 exact", .exact = true, .options = with(plain, kA4, kH, kF)},
      {.name = "clamped", .options = with(clamped, kA16, kB, kF)},
      {.name = "clamped with biases", .biases = true, .options = clamped},
      {.name = "clamped w4a4", .biases = true, .options = with(clamped, kA4, kB, kF)},
      {.name = "silu with biases", .biases = true, .options = plain},
      {.name = "squared relu", .options = with(relu, kA16, kB, kF)},
      {.name = "squared relu exact",
       .biases = true,
       .exact = true,
       .options = with(relu, kA16, kB, kF)},
      {.name = "squared relu w4a4", .options = with(relu, kA4, kB, kB)},
      {.name = "weight on input", .options = on_input},
      {.name = "weight on input w4a4", .options = with(on_input, kA4, kF, kF)},
      {.name = "shared", .shared_count = 1, .options = plain},
      {.name = "shared and weighted",
       .shared_count = 2,
       .biases = true,
       .options = with(clamped, kA4, kB, kB)},
      {.name = "another rank", .options = ranked},
      {.name = "one token", .token_count = 1, .options = plain},
      {.name = "many tokens",
       .hidden = 80,
       .intermediate = 32,
       .token_count = 90,
       .options = {.top_k = 2, .tokens_max = 90}},
  };
}

class LayerTest : public testing::OnDevice {};

TEST_P(LayerTest, IsWithinTheBoundOfTheOracle) {
  for (const LayerCase& which : cases()) {
    LayerScene scene(which, kLayerSeed);
    const MoeLayer layer(engine(), scene.matrices(), which.options);
    scene.run(layer);
    EXPECT_EQ(scene.why_wrong(), "");
    scene.tokens().token_count = std::min<std::int64_t>(scene.tokens().token_count, 4);
    scene.run(layer);
    EXPECT_EQ(scene.why_wrong(), "") << "few tokens";
  }
}

// Few tokens, with more rows of an expert than an MMA takes, k that fills no tile, and experts in
// several batches of k tiles.
TEST_P(LayerTest, FewTokensOfAnyShape) {
  for (const auto& [hidden, intermediate] : {std::pair{2080, 48}, {48, 2064}, {144, 272}}) {
    const LayerCase which{.name = "few",
                          .hidden = hidden,
                          .intermediate = intermediate,
                          .token_count = 6,
                          .options = {.top_k = 3, .tokens_max = 6, .router_experts = 18}};
    LayerScene scene(which, kLayerSeed);
    const MoeLayer layer(engine(), scene.matrices(), which.options);
    scene.run(layer);
    EXPECT_EQ(scene.why_wrong(), "") << hidden << " x " << intermediate;
    std::fill(scene.ids().begin(), scene.ids().end(), 4);
    scene.run(layer);
    EXPECT_EQ(scene.why_wrong(), "") << hidden << " x " << intermediate << ", one expert";
  }
}

TEST_P(LayerTest, ServesAnyNumberOfTokensUpToItsMost) {
  const LayerCase which{.name = "any",
                        .token_count = 33,
                        .options = {.top_k = 2, .tokens_max = 33, .router_experts = 10}};
  LayerScene scene(which, kLayerSeed);
  const MoeLayer layer(engine(), scene.matrices(), which.options);
  for (const std::int64_t count : {33, 1, 0, 5, 16, 32}) {
    scene.tokens().token_count = count;
    scene.run(layer);
    EXPECT_EQ(scene.why_wrong(), "") << count << " tokens";
  }
}

TEST_P(LayerTest, TokensWithoutExpertsGetZeros) {
  const LayerCase which{.name = "nobody", .options = {.top_k = 2, .tokens_max = 7}};
  LayerScene scene(which, kLayerSeed);
  for (const std::int32_t nobody : {-1, 5, std::numeric_limits<std::int32_t>::min(),
                                    std::numeric_limits<std::int32_t>::max()}) {
    std::fill(scene.ids().begin(), scene.ids().end(), nobody);
    const MoeLayer layer(engine(), scene.matrices(), which.options);
    scene.run(layer);
    EXPECT_EQ(scene.why_wrong(), "") << nobody;
    EXPECT_EQ(scene.row(3), std::vector<std::uint8_t>(64 * 2, 0));
  }
}

// All tokens to one expert, twice.
TEST_P(LayerTest, DuplicatesAreLegal) {
  const LayerCase which{.name = "twice", .options = {.top_k = 2, .tokens_max = 7}};
  LayerScene scene(which, kLayerSeed);
  std::fill(scene.ids().begin(), scene.ids().end(), 4);
  const MoeLayer layer(engine(), scene.matrices(), which.options);
  scene.run(layer);
  EXPECT_EQ(scene.why_wrong(), "");
}

// A token alone and among others: the same bits.
TEST_P(LayerTest, BatchInvariance) {
  for (const Activations activations : {Activations::kBf16, Activations::kNvfp4}) {
    LayerCase which{.name = "invariant", .token_count = 61, .options = {.top_k = 2}};
    which.options.tokens_max = 61;
    which.options.activations = activations;
    which.options.batch_invariant = true;
    LayerScene scene(which, kLayerSeed);
    const MoeLayer layer(engine(), scene.matrices(), which.options);
    scene.run(layer);
    const std::vector<std::uint8_t> among = scene.row(0);
    scene.tokens().token_count = 1;
    scene.run(layer);
    EXPECT_EQ(scene.row(0), among);
  }
}

TEST_P(LayerTest, SaysWhatItIs) {
  const LayerCase which{
      .name = "facts", .shared_count = 1, .options = {.top_k = 2, .tokens_max = 9}};
  LayerScene scene(which, kLayerSeed);
  const MoeLayer layer(engine(), scene.matrices(), which.options);
  EXPECT_EQ(layer.hidden(), 64);
  EXPECT_EQ(layer.intermediate(), 48);
  EXPECT_EQ(layer.expert_count(), 5);
  EXPECT_EQ(layer.shared_count(), 1);
  EXPECT_EQ(layer.options().tokens_max, 9);
  EXPECT_GE(layer.weight_bytes(), 6u * 3 * 64 * 48 * 9 / 16);
  EXPECT_GT(layer.workspace_bytes(), 0u);
  EXPECT_EQ(layer.variants(9).size(), 2u);
  EXPECT_EQ(layer.kernel_launch_count(9) > 0, !is_cpu());
}

ON_DEVICES(LayerTest);

// The first product then writes the second one's activations, and combine() alone asks whose a row
// is.
TEST_P(LayerTest, BiasesOfDownAlone) {
  LayerScene scene(
      {.name = "biases of down alone", .biases = true, .options = {.top_k = 3, .tokens_max = 16}});
  for (MoeExpert& expert : scene.experts()) expert.gate_bias = expert.up_bias = nullptr;
  const MoeLayer layer(engine(), scene.matrices(), scene.which().options);
  scene.run(layer);
  EXPECT_EQ(scene.why_wrong(), "");
}

// So many ids that every thread counts a stretch of them. Rounding to NVFP4 asks whose a row is.
TEST(LayerOfManyIds, IsSortedByAllThreads) {
  for (const Activations activations : {Activations::kBf16, Activations::kNvfp4}) {
    LayerScene scene({.name = "many ids",
                      .hidden = 16,
                      .intermediate = 16,
                      .expert_count = 7,
                      .shared_count = 1,
                      .token_count = 9000,
                      .options = with({.top_k = 4, .tokens_max = 9000}, activations, Output::kFp32,
                                      Output::kFp32)});
    const Engine engine({.thread_count = 3});
    const MoeLayer layer(engine, scene.matrices(), scene.which().options);
    scene.run(layer);
    EXPECT_EQ(scene.why_wrong(), "") << to_string(activations);
  }
}

}  // namespace
}  // namespace thresher
