// SPDX-License-Identifier: Apache-2.0
// What callers get wrong with a layer, by the sentence they read.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "moe/layer_scene.hpp"
#include "support/on_devices.hpp"

namespace thresher {
namespace {

using testing::LayerCase;
using testing::LayerScene;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class LayerErrors : public testing::OnDevice {
 protected:
  LayerCase base() const { return {.name = "spoilt", .options = {.top_k = 2, .tokens_max = 7}}; }

  std::string creation(const LayerCase& which,
                       const std::function<void(LayerScene&, MoeOptions&)>& spoil) const {
    LayerScene scene(which);
    MoeOptions options = which.options;
    spoil(scene, options);
    return message_of([&] { MoeLayer(engine(), scene.matrices(), options); });
  }
  std::string creation(const std::function<void(LayerScene&, MoeOptions&)>& spoil) const {
    return creation(base(), spoil);
  }
  std::string call(const std::function<void(MoeTokens&)>& spoil) const {
    LayerScene scene(base());
    const MoeLayer layer(engine(), scene.matrices(), base().options);
    MoeTokens tokens = scene.tokens();
    spoil(tokens);
    return message_of([&] { layer.forward(tokens); });
  }
};

TEST_P(LayerErrors, Experts) {
  EXPECT_EQ(creation([](LayerScene& scene, MoeOptions&) { scene.experts().clear(); }),
            "expert_count = 0 is not in 1..65536");
  EXPECT_EQ(creation([](LayerScene& scene, MoeOptions&) { scene.experts()[3].up.codes = nullptr; }),
            "expert 3: up: codes is null");
  EXPECT_EQ(creation([](LayerScene& scene, MoeOptions&) { scene.experts()[1].gate.rows = 32; }),
            "expert 1: gate is 32 x 64, but hidden = 64 and intermediate = 48 make it 48 x 64");
  EXPECT_EQ(creation([](LayerScene& scene, MoeOptions&) {
              scene.experts()[2].down = scene.experts()[2].up;
            }),
            "expert 2: down is 48 x 64, but hidden = 64 and intermediate = 48 make it 64 x 48");
  EXPECT_EQ(creation([](LayerScene& scene, MoeOptions&) { scene.experts()[4].input_scale = 0; }),
            "expert 4: input_scale = 0 is not a finite number above 0");
  EXPECT_EQ(creation([](LayerScene& scene, MoeOptions&) {
              scene.experts()[4].down_input_scale = std::nanf("");
            }),
            "expert 4: down_input_scale = nan is not a finite number above 0");
  std::vector<float> with_nan(64);
  with_nan[5] = std::nanf("");
  EXPECT_EQ(creation([&](LayerScene& scene, MoeOptions&) {
              scene.experts()[2].down_bias = with_nan.data();
            }),
            "expert 2: value 5 of down_bias is NaN");
  const std::vector<float> bias(64);
  EXPECT_EQ(
      creation([&](LayerScene& scene, MoeOptions&) { scene.experts()[1].up_bias = bias.data(); }),
      "expert 1: has a bias of gate or up, but expert 0 has none: give every expert one, of "
      "zeros if need be");
  EXPECT_EQ(creation([](LayerScene&, MoeOptions& options) {
              options.activation = MoeActivation::kSquaredRelu;
            }),
            "expert 0: has a gate, but the layer's activation has none");
  LayerCase shared = base();
  shared.shared_count = 1;
  EXPECT_EQ(creation(shared, [](LayerScene& scene,
                                MoeOptions&) { scene.experts()[0].down.k_elements = 64; })
                .substr(0, 9),
            "expert 0:");
}

TEST_P(LayerErrors, Options) {
  const auto with = [&](const std::function<void(MoeOptions&)>& spoil) {
    return creation([&](LayerScene&, MoeOptions& options) { spoil(options); });
  };
  EXPECT_EQ(with([](MoeOptions& options) { options.top_k = 0; }), "top_k = 0 is not in 1..65536");
  EXPECT_EQ(with([](MoeOptions& options) { options.tokens_max = 0; }),
            "tokens_max = 0 is not in 1..1073741823");
  EXPECT_EQ(with([](MoeOptions& options) { options.tokens_max = std::int64_t{1} << 40; }),
            "tokens_max = 1099511627776 is not in 1..1073741823");
  EXPECT_EQ(with([](MoeOptions& options) { options.first_expert = -1; }),
            "first_expert = -1 is not in 0..2147483642");
  EXPECT_EQ(with([](MoeOptions& options) { options.weight_on_input = true; }),
            "weight_on_input needs top_k = 1, not 2: the weights of several experts cannot all be "
            "on one input");
  EXPECT_EQ(with([](MoeOptions& options) {
              options.activation = MoeActivation::kClampedSilu;
              options.limit = 0;
            }),
            "limit = 0 is not above 0");
  EXPECT_EQ(with([](MoeOptions& options) {
              options.activation = MoeActivation::kClampedSilu;
              options.alpha = std::numeric_limits<float>::infinity();
            }),
            "alpha = inf is not finite");
  EXPECT_EQ(with([](MoeOptions& options) { options.x = static_cast<Output>(9); }),
            "x = 9 is not in 0..2");
}

TEST_P(LayerErrors, Calls) {
  EXPECT_EQ(call([](MoeTokens&) {}), "no error");
  EXPECT_EQ(call([](MoeTokens& tokens) { tokens.token_count = 8; }),
            "token_count = 8 is not between 0 and the 7 that the layer was made for");
  EXPECT_EQ(call([](MoeTokens& tokens) { tokens.token_count = -1; }),
            "token_count = -1 is not between 0 and the 7 that the layer was made for");
  EXPECT_EQ(call([](MoeTokens& tokens) { tokens = {}; }), "no error");
  EXPECT_EQ(call([](MoeTokens& tokens) { tokens.x = nullptr; }), "x is null");
  EXPECT_EQ(call([](MoeTokens& tokens) { tokens.ids = nullptr; }), "ids is null");
  EXPECT_EQ(call([](MoeTokens& tokens) { tokens.weights = nullptr; }), "weights is null");
  EXPECT_EQ(call([](MoeTokens& tokens) { tokens.out = nullptr; }), "out is null");
  EXPECT_EQ(call([](MoeTokens& tokens) { tokens.x_stride_elements = 63; }),
            "x_stride_elements = 63 is not 0 and not between hidden = 64 and 16777216");
  EXPECT_EQ(call([](MoeTokens& tokens) { tokens.out_stride_elements = 63; }),
            "out_stride_elements = 63 is not 0 and not between hidden = 64 and 16777216");
  EXPECT_EQ(call([](MoeTokens& tokens) { tokens.out_stride_elements = (1 << 24) + 16; }),
            "out_stride_elements = 16777232 is not 0 and not between hidden = 64 and 16777216");
  EXPECT_EQ(call([](MoeTokens& tokens) {
              tokens.x = static_cast<const std::uint8_t*>(tokens.x) + 1;
            }).substr(0, 19),
            "x is not aligned to");
}

TEST_P(LayerErrors, LayersThatWereMovedFrom) {
  LayerScene scene(base());
  MoeLayer layer(engine(), scene.matrices(), base().options);
  const MoeLayer moved = std::move(layer);
  EXPECT_EQ(message_of([&] { layer.forward(scene.tokens()); }),  // NOLINT(bugprone-use-after-move)
            "this layer was moved from");
  EXPECT_EQ(message_of([&] { moved.forward(scene.tokens()); }), "no error");
}

// An expert at a time, in order, and each only as long as it is packed.
TEST_P(LayerErrors, SourcesAreAskedInOrder) {
  LayerScene scene(base());
  std::vector<std::int64_t> asked;
  const MoeSource source{.expert_count = 5, .expert = [&](std::int64_t index) {
                           asked.push_back(index);
                           return scene.experts()[static_cast<std::size_t>(index)];
                         }};
  const MoeLayer layer(engine(), source, base().options);
  EXPECT_EQ(asked, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  scene.run(layer);
  EXPECT_EQ(scene.why_wrong(), "");
  EXPECT_EQ(message_of([&] { MoeLayer(engine(), MoeSource{.expert_count = 5}, base().options); }),
            "the source of experts is empty");
}

ON_DEVICES(LayerErrors);

}  // namespace
}  // namespace thresher
