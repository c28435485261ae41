// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/entry_source.hpp"

#include <gtest/gtest.h>

namespace thresher::gpu {
namespace {

TEST(EntrySource, NamesEveryKnob) {
  const Problem problem{.name = "source",
                        .op = Op::kDual,
                        .activations = Activations::kBf16,
                        .output = Output::kFp32,
                        .groups = {{.m = 8, .n = 8, .k = 16}}};
  const GemmKnobs knobs{.tokens = 24,
                        .weight_rows = 256,
                        .stages = 3,
                        .fragment_steps = 2,
                        .store = Store::kStaged,
                        .schedule = Schedule::kBalanced};
  const GemmPlan plan = make_plan(knobs, {.problem = problem, .token_limit = 8});
  EXPECT_EQ(entry_source(plan.launches.front()),
            "#include \"gpu/sm90/kernels/gemm.cuh\"\n"
            "using namespace thresher::gpu;\n"
            "extern \"C\" __global__ void __launch_bounds__(384, 1)\n"
            "entry(const __grid_constant__ GemmArgs args) {\n"
            "  thresher::gpu::sm90::gemm_kernel<GemmConfig{.product = static_cast<Product>(1), "
            ".output = static_cast<OutputType>(2), "
            ".tokens = 24, .widths = static_cast<Widths>(0), .weight_rows = 256, "
            ".consumer_warpgroups = 2, .stages = 3, "
            ".fragment_steps = 2, .specialised = true, .store = static_cast<Store>(1), "
            ".schedule = static_cast<Schedule>(1), .split_k = 1, .blocks_per_sm = 1, "
            ".arrive = static_cast<Arrive>(1), .prologue = static_cast<Prologue>(0), "
            ".loads = static_cast<Loads>(0), "
            ".activations = static_cast<ActivationType>(2), .mma = static_cast<Mma>(0)}>(args);\n"
            "}\n");
  EXPECT_EQ(entry_source(*plan.images),
            "#include \"gpu/gemm/kernels/activation_images.cuh\"\n"
            "using namespace thresher::gpu;\n"
            "extern \"C\" __global__ void __launch_bounds__(256, 4)\n"
            "entry(const __grid_constant__ ImageArgs args) {\n"
            "  image_kernel<ImageConfig{.activations = static_cast<ActivationType>(2), "
            ".cut = {.tokens = 24, .widths = static_cast<Widths>(0)}}>(args);\n"
            "}\n");
}

TEST(EntrySource, OfTheBaselineIsAnotherKernel) {
  const Problem problem{.name = "source", .groups = {{.m = 8, .n = 8, .k = 16}}};
  const GemmPlan plan =
      make_plan({.kind = GemmKind::kPlain, .tokens = 64}, {.problem = problem, .token_limit = 8});
  const std::string source = entry_source(plan.launches.front());
  EXPECT_NE(source.find("#include \"gpu/sm90/kernels/plain_gemm.cuh\""), std::string::npos)
      << source;
  EXPECT_NE(source.find("plain_gemm_kernel<GemmConfig{"), std::string::npos) << source;
  EXPECT_NE(source.find("__launch_bounds__(128, 1)"), std::string::npos) << source;
}

// The same instructions on every GPU, whatever it is compiled for.
TEST(EntrySource, OfWarpsAsksForNothingBeyondAmpere) {
  const Problem problem{.name = "p", .groups = {{.m = 4, .n = 64, .k = 64}}};
  const GemmPlan plan =
      make_plan(default_knobs(Mma::kWarp), {.problem = problem, .token_limit = 4});
  const std::string source = entry_source(plan.launches.front());
  EXPECT_EQ(source.rfind("#define THRESHER_PTX_ARCH 800\n"
                         "#include \"gpu/sm80/kernels/gemm.cuh\"\n",
                         0),
            0u)
      << source;
  EXPECT_NE(source.find("thresher::gpu::sm80::gemm_kernel<GemmConfig{"), std::string::npos);
}

}  // namespace
}  // namespace thresher::gpu
