// SPDX-License-Identifier: Apache-2.0
// Every named variant of the GPU backend has its kernels in the emulator, for every type that a
// device runs it with, and computes a small ragged problem as the oracle does: gemm bit for bit,
// dual within the bound. Blackwell's compute in blackwell_variants_test.cpp.
#include <gtest/gtest.h>

#include <cctype>

#include "emulated/backend.hpp"
#include "emulated/device_call.hpp"
#include "gpu/gemm/variant.hpp"
#include "gpu/sm80/choose.hpp"
#include "gpu/sm90/choose.hpp"
#include "gpu/variants_row.hpp"
#include "support/scene.hpp"

namespace thresher::emulated::testing {
namespace {

using thresher::testing::make_problem;
using thresher::testing::Scene;

std::vector<gpu::Variant> variants_with_kernels() {
  std::vector<gpu::Variant> variants = gpu::sm90::named_variants();
  variants.push_back(gpu::sm90::baseline());
  for (const gpu::Variant& variant : gpu::sm80::named_variants()) variants.push_back(variant);
  variants.push_back(gpu::sm80::baseline());
  return variants;
}

// Ragged groups, one empty, none a multiple of anything; n and k with edges. One group has more
// tokens than the narrow tiles, so that blocks walk; rows have more than one tile of 192, of which
// the second begins with the half of a tile of weights.
Problem ragged(Op op, Activations activations, Output output = Output::kFp16) {
  return make_problem({5, 0, 70, 17}, 202, 144, op, activations, output);
}

std::vector<std::pair<Activations, Output>> every_type() {
  std::vector<std::pair<Activations, Output>> types;
  for (const Activations activations :
       {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
    for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
      types.emplace_back(activations, output);
    }
  }
  return types;
}

// Whatever a device runs by a variant that has a name, of every type, the emulator runs too.
// How many problems it runs.
int check_kernels(const Backend& backend, const std::string& variant, const SmLimits& limits) {
  const gpu::Variant read = gpu::variant_from_name(variant);
  int supported_count = 0;
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const auto& [activations, output] : every_type()) {
      const Problem problem = ragged(op, activations, output);
      const Support on_device = gpu::supports(read, problem, limits);
      EXPECT_EQ(backend.supports(problem, variant, {.limits = limits}).why_not, on_device.why_not)
          << variant << " on sm_" << limits.compute_capability << ": " << to_string(op) << " "
          << to_string(activations) << " -> " << to_string(output);
      supported_count += on_device.ok ? 1 : 0;
    }
  }
  return supported_count;
}

TEST(EveryType, HasItsKernels) {
  const Backend& backend = emulated_backend();
  SmLimits small{.compute_capability = 80, .sm_count = 3, .shared_bytes_per_block = 99 << 10};
  small.shared_bytes_per_sm = 100 << 10;
  for (const SmLimits& limits : {kFewSms, SmLimits{}, small, SmLimits{.compute_capability = 100}}) {
    std::vector<std::string> variants = backend.named_variants();
    for (const gpu::Mma mma : {gpu::Mma::kWarpgroup, gpu::Mma::kWarp, gpu::Mma::kBlockScaled}) {
      variants.push_back(gpu::variants_row(mma).baseline());
    }
    int supported_count = 0;
    for (const std::string& variant : variants) {
      supported_count += check_kernels(backend, variant, limits);
    }
    EXPECT_GT(supported_count, 0) << "on sm_" << limits.compute_capability;
  }
}

class NamedVariant : public ::testing::TestWithParam<gpu::Variant> {};

TEST_P(NamedVariant, AgreesWithTheOracle) {
  for (const Op op : {Op::kGemm, Op::kDual}) {
    const Problem problem = ragged(op, Activations::kNvfp4);
    for (const std::uint64_t seed : {1, 2}) {
      const Engine engine({.device = "emulator", .emulator_seed = seed});
      if (!engine.supports(problem, name(GetParam())).ok) continue;
      Scene scene(engine, problem);
      scene.run(engine, name(GetParam()));
      EXPECT_EQ(scene.why_wrong(), "") << to_string(op) << ", emulator seed " << seed;
    }
  }
}

std::string test_name(const ::testing::TestParamInfo<gpu::Variant>& info) {
  std::string text = name(info.param);
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

// On inputs whose global scales and alphas matter: every type with the defaults, and what shares no
// code with NVFP4 and fp16 with all others.
void check_types(const Engine& engine, const std::string& variant, Op op, Activations activations,
                 Output output) {
  const Problem problem = make_problem({3, 18}, 72, 144, op, activations, output);
  if (!engine.supports(problem, variant).ok) return;
  Scene scene(engine, problem, InputFamily::kNatural);
  scene.run(engine, variant);
  EXPECT_EQ(scene.why_wrong(), "") << variant << " " << to_string(op) << " "
                                   << to_string(activations) << " -> " << to_string(output);
}

TEST(EveryType, AgreesWithTheOracle) {
  const Engine engine({.device = "emulator"});
  for (const char* variant :
       {"gpu_sm90", "gpu_sm90:tokens=16,stages=6", "gpu_sm80", "gpu_sm80:tokens=16,stages=6"}) {
    for (const Op op : {Op::kGemm, Op::kDual}) {
      for (const auto& [activations, output] : every_type()) {
        check_types(engine, variant, op, activations, output);
      }
    }
  }
}

TEST_P(NamedVariant, TakesBf16) {
  const Engine engine({.device = "emulator"});
  for (const Op op : {Op::kGemm, Op::kDual}) {
    check_types(engine, name(GetParam()), op, Activations::kBf16, Output::kBf16);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, NamedVariant, ::testing::ValuesIn(variants_with_kernels()),
                         test_name);

}  // namespace
}  // namespace thresher::emulated::testing
