// SPDX-License-Identifier: Apache-2.0
// What the emulated engine says: which problems it has kernels for, which operands do not fit.
#include "emulated/emulated_engine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "emulated/emulated_scene.hpp"
#include "nvfp4/half.hpp"
#include "thresher/error.hpp"

namespace thresher::emulated::testing {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string why_not(const Problem& problem, const char* variant) {
  const Support support = EmulatedEngine().supports(problem, variant);
  EXPECT_EQ(support.ok, support.why_not.empty());
  return support.why_not;
}

TEST(EmulatedEngine, VariantsAreNamedTheDefaultFirst) {
  const std::vector<std::string> variants = EmulatedEngine().variants();
  ASSERT_GT(variants.size(), 1u);
  EXPECT_EQ(variants.front(), "gpu_sm90");
}

TEST(EmulatedEngine, SaysForWhichTypesItHasNoKernel) {
  const auto problem = [](Activations activations, Output output) {
    return make_problem({4}, 64, 64, Op::kGemm, activations, output);
  };
  constexpr const char* kVariant = "gpu_sm90:stages=2";
  EXPECT_EQ(why_not(problem(Activations::kNvfp4, Output::kFp16), kVariant), "");
  EXPECT_EQ(why_not(problem(Activations::kFp16, Output::kFp16), kVariant), "");
  EXPECT_EQ(why_not(problem(Activations::kNvfp4, Output::kBf16), kVariant),
            "the emulator has no kernel for bf16 output of this variant; use the default variant");
  EXPECT_EQ(
      why_not(problem(Activations::kBf16, Output::kFp16), kVariant),
      "the emulator has no kernel for bf16 activations of this variant; use the default variant");
  EXPECT_EQ(why_not(problem(Activations::kBf16, Output::kFp32), kVariant),
            "the emulator has no kernel for bf16 activations and fp32 output of this variant; use "
            "the default variant");
  EXPECT_EQ(why_not(problem(Activations::kBf16, Output::kFp32), "gpu_sm90"), "");
}

TEST(EmulatedEngine, SaysForWhichVariantsItHasNoKernel) {
  const Problem problem = make_problem({4}, 64, 64, Op::kGemm, Activations::kNvfp4, Output::kFp32);
  EXPECT_EQ(why_not(problem, "gpu_sm90:tokens=40"),
            "the emulator has no kernel for this variant; use one that 'thresher variants' names");
  // Launches choose no kernel: any combination with them is there.
  EXPECT_EQ(why_not(problem, "gpu_sm90:launches=streams,graph=on"), "");
}

TEST(EmulatedEngine, SaysWhatTheDeviceWouldSay) {
  const Problem problem = make_problem({4}, 64, 64);
  EXPECT_EQ(why_not(problem, "gpu_sm90:tokens=256,stages=8"),
            "a block would need 300192 bytes of shared memory and may have 232448");
  EXPECT_THROW(EmulatedEngine().supports(problem, "gpu_sm90:tokens=7"), Error);
  EXPECT_THROW(EmulatedEngine().supports(make_problem({4}, 64, 40), "gpu_sm90"), Error);
}

TEST(EmulatedEngine, RefusesToRunWhatItDoesNotSupport) {
  EmulatedScene scene(make_problem({4}, 64, 64));
  EXPECT_EQ(message_of([&] { scene.run(EmulatedEngine(), "gpu_sm90:tokens=40"); }),
            "variant 'gpu_sm90:tokens=40' cannot run problem 'scene': the emulator has no kernel "
            "for this variant; use one that 'thresher variants' names");
}

TEST(EmulatedEngine, NamesOperandsThatDoNotFit) {
  const auto message_after = [](const std::function<void(EmulatedScene&)>& spoil,
                                Activations activations = Activations::kNvfp4) {
    EmulatedScene scene(make_problem({0, 4}, 64, 80, Op::kGemm, activations));
    scene.operands()[0] = {};  // of no rows: nobody looks
    spoil(scene);
    return message_of([&] { scene.run(EmulatedEngine(), "gpu_sm90"); });
  };
  const std::string where = "group 1 (m = 4, n = 64, k = 80): ";
  EXPECT_EQ(message_after([](EmulatedScene&) {}), "nothing was thrown");
  EXPECT_EQ(message_after([](auto& scene) { scene.operands()[1].a.scales = nullptr; }),
            where + "a is null");
  EXPECT_EQ(message_after([](auto& scene) { scene.operands()[1].a.rows = 3; }),
            where + "a has another shape");
  EXPECT_EQ(
      message_after([](auto& scene) { scene.operands()[1].a16 = nullptr; }, Activations::kFp16),
      where + "a16 is null");
  EXPECT_EQ(message_after([](auto& scene) { scene.operands()[1].weights = nullptr; }),
            where + "weights is null");
  EXPECT_EQ(message_after([](auto& scene) { scene.operands()[1].c = nullptr; }),
            where + "c is null");
  EXPECT_EQ(message_after([](auto& scene) { scene.operands()[1].c_stride_elements = 63; }),
            where + "c_stride_elements is below n");
  EXPECT_EQ(message_after([](auto& scene) { scene.operands().pop_back(); }),
            "1 groups of operands for a problem with 2 groups");
}

TEST(EmulatedEngine, NamesWeightsThatDoNotFit) {
  EmulatedScene dual(make_problem({4}, 64, 80, Op::kDual));
  EmulatedScene wide(make_problem({4}, 65, 80));
  EmulatedScene bf16(make_problem({4}, 64, 80, Op::kGemm, Activations::kBf16));
  EmulatedScene scene(make_problem({4}, 64, 80));
  const auto message_with = [&](EmulatedScene& other) {
    scene.operands()[0].weights = other.operands()[0].weights;
    return message_of([&] { scene.run(EmulatedEngine(), "gpu_sm90"); });
  };
  const std::string where = "group 0 (m = 4, n = 64, k = 80): ";
  EXPECT_EQ(message_with(dual), where + "weights were packed for another operation");
  EXPECT_EQ(message_with(wide), where + "weights have another shape");
  EXPECT_EQ(message_with(bf16), where + "weights were packed for other activations");
}

// As the kernels on a GPU: nobody looks, and the row's results are NaN.
TEST(EmulatedEngine, NanScaleOfActivationsMakesNans) {
  EmulatedScene scene(make_problem({2}, 8, 64, Op::kGemm, Activations::kNvfp4, Output::kFp16));
  std::vector<std::uint8_t> scales(scene.scene().inputs().groups[0].a.scales);
  scales[5] = 0x7f;  // of the second row
  scene.operands()[0].a.scales = scales.data();
  scene.run(EmulatedEngine(), "gpu_sm90");
  const auto* c = static_cast<const std::uint16_t*>(scene.operands()[0].c);
  const std::int64_t stride = scene.operands()[0].c_stride_elements;
  for (int column = 0; column < 8; ++column) {
    EXPECT_FALSE(std::isnan(nvfp4::fp16_to_float(c[column])));
    EXPECT_TRUE(std::isnan(nvfp4::fp16_to_float(c[stride + column])));
  }
}

// Groups may share inputs, which a caller with one layer of weights does.
TEST(EmulatedEngine, GroupsMayShareInputs) {
  EmulatedScene scene(make_problem({4, 4}, 64, 80));
  scene.operands()[1].a = scene.operands()[0].a;
  scene.operands()[1].weights = scene.operands()[0].weights;
  scene.operands()[1].alpha = scene.operands()[0].alpha;
  scene.run(EmulatedEngine(), "gpu_sm90");
  const std::vector<std::uint8_t> bytes = scene.scene().output_bytes();
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + bytes.size() / 2,
                         bytes.begin() + bytes.size() / 2, bytes.end()));
}

}  // namespace
}  // namespace thresher::emulated::testing
