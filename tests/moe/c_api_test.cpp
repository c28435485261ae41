// SPDX-License-Identifier: Apache-2.0
// The C twin of the layer gives the bits of the C++ one, and statuses with sentences.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "moe/layer_scene.hpp"
#include "thresher/moe.h"

namespace thresher {
namespace {

using testing::LayerCase;
using testing::LayerScene;

thresher_nvfp4_view view_of(const Nvfp4View& view) {
  return {view.codes, view.scales, view.rows, view.k_elements, view.global_scale};
}

thresher_moe_expert expert_of(const MoeExpert& from) {
  thresher_moe_expert expert = thresher_moe_expert_defaults();
  expert.gate = view_of(from.gate);
  expert.up = view_of(from.up);
  expert.down = view_of(from.down);
  expert.input_scale = from.input_scale;
  expert.down_input_scale = from.down_input_scale;
  expert.gate_bias = from.gate_bias;
  expert.up_bias = from.up_bias;
  expert.down_bias = from.down_bias;
  return expert;
}

thresher_moe_tokens tokens_of(const MoeTokens& from) {
  return {from.x,   from.x_stride_elements,   from.ids,        from.weights, from.shared_weights,
          from.out, from.out_stride_elements, from.token_count};
}

class MoeCApi : public ::testing::Test {
 protected:
  MoeCApi() : scene_({.name = "twin", .shared_count = 2, .biases = true, .options = options()}) {
    const thresher_engine_options engine_options{.device = "cpu", .thread_count = 2};
    EXPECT_EQ(thresher_engine_create(&engine_options, &engine_), THRESHER_OK);
    for (const MoeExpert& expert : scene_.matrices().experts) experts_.push_back(expert_of(expert));
    for (const MoeExpert& expert : scene_.matrices().shared) experts_.push_back(expert_of(expert));
    options_ = thresher_moe_options_defaults();
    options_.top_k = 3;
    options_.tokens_max = 7;
    options_.activations = THRESHER_A_NVFP4;
    options_.out = THRESHER_C_FP32;
    options_.activation = THRESHER_MOE_CLAMPED_SILU;
    options_.alpha = 1.5f;
    options_.beta = 0.5f;
    options_.limit = 3.0f;
  }
  ~MoeCApi() override { thresher_engine_destroy(engine_); }

  static MoeOptions options() {
    return {.top_k = 3,
            .tokens_max = 7,
            .activations = Activations::kNvfp4,
            .out = Output::kFp32,
            .activation = MoeActivation::kClampedSilu,
            .alpha = 1.5f,
            .beta = 0.5f,
            .limit = 3.0f};
  }

  std::vector<std::vector<std::uint8_t>> rows() const {
    std::vector<std::vector<std::uint8_t>> rows;
    for (std::int64_t token = 0; token < 7; ++token) rows.push_back(scene_.row(token));
    return rows;
  }

  LayerScene scene_;
  thresher_engine* engine_ = nullptr;
  std::vector<thresher_moe_expert> experts_;
  thresher_moe_options options_{};
};

thresher_status give(void* context, int64_t index, thresher_moe_expert* expert) {
  *expert = (*static_cast<const std::vector<thresher_moe_expert>*>(
      context))[static_cast<std::size_t>(index)];
  return index == 9 ? THRESHER_INTERNAL : THRESHER_OK;
}

TEST_F(MoeCApi, ComputesWhatCppComputes) {
  const Engine engine({.thread_count = 2});
  scene_.run(MoeLayer(engine, scene_.matrices(), options()));
  EXPECT_EQ(scene_.why_wrong(), "");
  const auto expected = rows();
  const thresher_moe_tokens tokens = tokens_of(scene_.tokens());
  thresher_moe_layer* layer = nullptr;
  ASSERT_EQ(
      thresher_moe_create(engine_, experts_.data(), 5, experts_.data() + 5, 2, &options_, &layer),
      THRESHER_OK)
      << thresher_last_error();
  EXPECT_EQ(thresher_moe_hidden(layer), 64);
  EXPECT_EQ(thresher_moe_intermediate(layer), 48);
  EXPECT_EQ(thresher_moe_expert_count(layer), 5);
  EXPECT_EQ(thresher_moe_shared_count(layer), 2);
  EXPECT_EQ(thresher_moe_top_k(layer), 3);
  const thresher_moe_options made_with = thresher_moe_layer_options(layer);
  EXPECT_EQ(made_with.top_k, options_.top_k);
  EXPECT_EQ(made_with.tokens_max, options_.tokens_max);
  EXPECT_EQ(made_with.activations, options_.activations);
  EXPECT_EQ(made_with.x, options_.x);
  EXPECT_EQ(made_with.out, options_.out);
  EXPECT_EQ(made_with.activation, options_.activation);
  EXPECT_EQ(made_with.limit, options_.limit);
  EXPECT_EQ(made_with.weight_on_input, options_.weight_on_input);
  EXPECT_EQ(made_with.batch_invariant, options_.batch_invariant);
  EXPECT_EQ(thresher_moe_layer_options(nullptr).top_k, 0);
  EXPECT_EQ(thresher_moe_tokens_max(layer), 7);
  EXPECT_GT(thresher_moe_weight_bytes(layer), 0u);
  EXPECT_GT(thresher_moe_workspace_bytes(layer), 0u);
  EXPECT_EQ(thresher_moe_kernel_launch_count(layer, 7), 0);
  std::vector<std::string> variants;
  for (std::int64_t i = 0; i < thresher_moe_variant_count(layer, 7); ++i) {
    variants.emplace_back(thresher_moe_variant_name(layer, 7, i));
  }
  EXPECT_EQ(variants, MoeLayer(engine, scene_.matrices(), options()).variants(7));
  EXPECT_EQ(thresher_moe_variant_name(layer, 7, std::ssize(variants)), nullptr);
  scene_.poison();
  EXPECT_EQ(thresher_moe_forward(layer, &tokens), THRESHER_OK);
  EXPECT_EQ(rows(), expected);
  scene_.poison();
  EXPECT_EQ(thresher_moe_enqueue(layer, &tokens, nullptr), THRESHER_OK);
  EXPECT_EQ(rows(), expected);
  thresher_moe_destroy(layer);

  ASSERT_EQ(thresher_moe_create_from(engine_, give, &experts_, 5, 2, &options_, &layer),
            THRESHER_OK);
  scene_.poison();
  EXPECT_EQ(thresher_moe_forward(layer, &tokens), THRESHER_OK);
  EXPECT_EQ(rows(), expected);
  thresher_moe_destroy(layer);
}

TEST_F(MoeCApi, SaysWhatIsWrong) {
  thresher_moe_layer* layer = nullptr;
  const auto refused = [&](thresher_status status, const char* message) {
    EXPECT_EQ(status, THRESHER_INVALID);
    EXPECT_STREQ(thresher_last_error(), message);
    EXPECT_EQ(layer, nullptr);
  };
  const auto create = [&] {
    return thresher_moe_create(engine_, experts_.data(), 5, experts_.data() + 5, 2, &options_,
                               &layer);
  };
  refused(thresher_moe_create(nullptr, experts_.data(), 5, nullptr, 0, &options_, &layer),
          "engine is null");
  refused(thresher_moe_create(engine_, nullptr, 5, nullptr, 0, &options_, &layer),
          "experts is null");
  refused(thresher_moe_create(engine_, experts_.data(), 5, nullptr, 2, &options_, &layer),
          "shared is null");
  refused(thresher_moe_create(engine_, experts_.data(), -5, nullptr, 0, &options_, &layer),
          "expert_count = -5 is negative");
  refused(thresher_moe_create(engine_, experts_.data(), 5, nullptr, 0, nullptr, &layer),
          "options is null");
  options_.activation = 3;
  refused(create(), "options.activation = 3 is not in 0..2");
  options_.activation = THRESHER_MOE_CLAMPED_SILU;
  experts_[6].up.rows = 16;
  refused(create(),
          "shared expert 1: up is 16 x 64, but hidden = 64 and intermediate = 48 make it 48 x 64");
  experts_.resize(12, experts_[0]);
  EXPECT_EQ(thresher_moe_create_from(engine_, give, &experts_, 12, 0, &options_, &layer),
            THRESHER_INVALID);  // expert 6 first
  experts_[6] = experts_[0];
  EXPECT_EQ(thresher_moe_create_from(engine_, give, &experts_, 12, 0, &options_, &layer),
            THRESHER_INTERNAL);
  EXPECT_STREQ(thresher_last_error(), "expert 9: the caller's source returned status 3");
  refused(thresher_moe_forward(nullptr, nullptr), "layer is null");
  EXPECT_EQ(thresher_moe_hidden(nullptr), 0);
  thresher_moe_destroy(nullptr);
}

TEST_F(MoeCApi, Routes) {
  const float logits[] = {0, 1, 2, 3, 2, 1};
  thresher_route_options options{};
  options.expert_count = 3;
  options.top_k = 2;
  options.renormalize = 1;
  options.scaling = 1;
  std::int32_t ids[4] = {};
  float weights[4] = {};
  EXPECT_EQ(thresher_route(logits, 2, &options, ids, weights), THRESHER_OK);
  EXPECT_EQ(std::vector<std::int32_t>(ids, ids + 4), (std::vector<std::int32_t>{2, 1, 0, 1}));
  EXPECT_NEAR(weights[0], 0.7310586, 1e-6);
  EXPECT_EQ(thresher_route(logits, 0, &options, nullptr, nullptr), THRESHER_OK);
  EXPECT_EQ(thresher_route(logits, 2, &options, nullptr, weights), THRESHER_INVALID);
  EXPECT_STREQ(thresher_last_error(), "ids is null");
  options.top_k = 4;
  EXPECT_EQ(thresher_route(logits, 2, &options, ids, weights), THRESHER_INVALID);
  options.top_k = 2;
  options.scaling = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(thresher_route(logits, 2, &options, ids, weights), THRESHER_INVALID);
  EXPECT_STREQ(thresher_last_error(), "route: scaling = nan is not finite");
  options.scaling = 1;
  const float infinite[] = {0, std::numeric_limits<float>::infinity(), 2};
  EXPECT_EQ(thresher_route(infinite, 1, &options, ids, weights), THRESHER_INVALID);
  EXPECT_STREQ(thresher_last_error(), "route: the logit of token 0, expert 1 is infinite");
}

}  // namespace
}  // namespace thresher
