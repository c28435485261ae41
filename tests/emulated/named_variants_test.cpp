// SPDX-License-Identifier: Apache-2.0
// Every named variant of the GPU backend has its kernels in the emulator, and computes a small
// ragged problem as the oracle does: gemm bit for bit, dual within the bound.
#include <gtest/gtest.h>

#include <cctype>

#include "emulated/emulated_scene.hpp"
#include "gpu/sm90/variant.hpp"

namespace thresher::emulated::testing {
namespace {

std::vector<gpu::sm90::Variant> variants_with_kernels() {
  std::vector<gpu::sm90::Variant> variants = gpu::sm90::named_variants();
  variants.push_back(gpu::sm90::plain_variant());
  return variants;
}

// Ragged groups, one empty, none a multiple of anything; n and k with edges. One group has more
// tokens than the narrow tiles, so that blocks walk.
Problem ragged(Op op, Activations activations, Output output = Output::kFp16) {
  return make_problem({5, 0, 70, 17}, 130, 144, op, activations, output);
}

class NamedVariant : public ::testing::TestWithParam<gpu::sm90::Variant> {};

TEST_P(NamedVariant, HasItsKernels) {
  for (const SmLimits& limits : {kFewSms, SmLimits{}}) {
    const EmulatedEngine engine(limits);
    int supported_count = 0;
    for (const Op op : {Op::kGemm, Op::kDual}) {
      for (const Activations activations : {Activations::kNvfp4, Activations::kFp16}) {
        const Problem problem = ragged(op, activations);
        const Support on_device = gpu::sm90::supports(GetParam(), problem, limits);
        const Support here = engine.supports(problem, name(GetParam()));
        EXPECT_EQ(here.why_not, on_device.why_not) << to_string(op);
        supported_count += here.ok ? 1 : 0;
      }
    }
    EXPECT_GT(supported_count, 0);
  }
}

TEST_P(NamedVariant, AgreesWithTheOracle) {
  const EmulatedEngine engine;
  for (const Op op : {Op::kGemm, Op::kDual}) {
    const Problem problem = ragged(op, Activations::kNvfp4);
    if (!engine.supports(problem, name(GetParam())).ok) continue;
    EmulatedScene scene(problem);
    for (const std::uint64_t seed : {1, 2}) {
      scene.run(engine, name(GetParam()), seed);
      const Conformance conformance = scene.scene().conformance();
      EXPECT_TRUE(conformance.ok) << to_string(op) << ", emulator seed " << seed << ": "
                                  << conformance.failed_count << " of " << conformance.checked_count
                                  << " wrong; " << conformance.first_failure;
      EXPECT_TRUE(scene.scene().guards_intact());
    }
  }
}

std::string test_name(const ::testing::TestParamInfo<gpu::sm90::Variant>& info) {
  std::string text = name(info.param);
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(Gpu, NamedVariant, ::testing::ValuesIn(variants_with_kernels()),
                         test_name);

// The two that take every type, on inputs whose global scales and alphas matter.
TEST(EveryType, AgreesWithTheOracle) {
  const EmulatedEngine engine;
  for (const char* variant : {"gpu_sm90", "gpu_sm90:tokens=16,stages=6"}) {
    for (const Op op : {Op::kGemm, Op::kDual}) {
      for (const Activations activations :
           {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
        for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
          EmulatedScene scene(make_problem({3, 18}, 72, 80, op, activations, output),
                              InputFamily::kNatural);
          scene.run(engine, variant);
          const Conformance conformance = scene.scene().conformance();
          EXPECT_TRUE(conformance.ok)
              << variant << " " << to_string(op) << " " << to_string(activations) << " -> "
              << to_string(output) << ": " << conformance.first_failure;
          EXPECT_TRUE(scene.scene().guards_intact());
        }
      }
    }
  }
}

}  // namespace
}  // namespace thresher::emulated::testing
