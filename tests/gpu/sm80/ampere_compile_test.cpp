// SPDX-License-Identifier: Apache-2.0
// What the run-time compiler is given compiles for every GPU since Ampere, where there is such a
// compiler: all choices and named variants for sm_80, the default for the others.
#include <gtest/gtest.h>

#include <set>

#include "gpu/runtime/compiler.hpp"
#include "gpu/sm80/choose.hpp"
#include "gpu/sm80/gemm_support.hpp"
#include "gpu/sm90/entry_source.hpp"

namespace thresher::gpu::sm80 {
namespace {

// On a device with as much shared memory as an A100 has.
std::set<std::string> sources_of(const Variant& variant, Activations activations) {
  std::set<std::string> sources;
  for (const Op op : {Op::kGemm, Op::kDual}) {
    const Problem problem{.name = "p",
                          .op = op,
                          .activations = activations,
                          .groups = {{.m = 40, .n = 200, .k = 336}}};
    const PlanRequest request{.problem = problem,
                              .token_limit = token_count(problem),
                              .limits = {.compute_capability = 80,
                                         .sm_count = 108,
                                         .shared_bytes_per_block = 163 << 10,
                                         .shared_bytes_per_sm = 164 << 10}};
    EXPECT_EQ(sm80::why_not(variant.knobs, request), "") << name(variant);
    for (const sm90::GemmLaunch& launch : make_plan(variant.knobs, request).launches) {
      sources.insert(entry_source(launch));
    }
  }
  return sources;
}

void expect_clean(const Compiler& compiler, const std::string& source,
                  const std::string& architecture) {
  const Compilation compilation = compiler.compile({.name = "entry.cu",
                                                    .source = source,
                                                    .headers = headers_of(source, kKernelSources),
                                                    .architecture = architecture});
  ASSERT_EQ(compilation.kernels.size(), 1u);
  EXPECT_FALSE(compilation.kernels.front().spills()) << architecture << source;
  EXPECT_TRUE(compilation.notes.empty()) << source << compilation.notes.front();
}

// In parts, which CTest runs side by side.
constexpr int kPartCount = 4;
class AmpereCompile : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, AmpereCompile, ::testing::Range(0, kPartCount));

TEST_P(AmpereCompile, NoSpillsAndNoNotes) {
  NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  if (!compiler.compiles_for("sm_80")) GTEST_SKIP() << compiler.version() << " has no sm_80";
  std::set<std::string> sources;
  std::vector<Variant> all = choices();
  for (const Variant& variant : named_variants()) all.push_back(variant);
  for (const Variant& variant : all) {
    sources.merge(sources_of(variant, Activations::kNvfp4));
    // bf16 is decoded by other instructions, and its tokens are copied.
    if (variant.knobs.schedule == sm90::Schedule::kTiles) {
      sources.merge(sources_of(variant, Activations::kBf16));
    }
  }
  int index = 0;
  for (const std::string& source : sources) {
    if (index++ % kPartCount == GetParam()) expect_clean(compiler, source, "sm_80");
  }
}

TEST(AmpereCompileDefault, ForEveryArchitecture) {
  NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  const Variant variant{.knobs = default_knobs()};
  for (const char* architecture : {"sm_86", "sm_89", "sm_90a", "sm_120a"}) {
    if (!compiler.compiles_for(architecture)) {
      GTEST_SKIP() << compiler.version() << " does not compile for " << architecture;
    }
    for (const std::string& source : sources_of(variant, Activations::kNvfp4)) {
      expect_clean(compiler, source, architecture);
    }
  }
}

// What surrounds the products of a layer.
TEST(AmpereCompileDefault, LayerSteps) {
  NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  for (const sm90::LayerStep step :
       {sm90::LayerStep::kGather, sm90::LayerStep::kActivate, sm90::LayerStep::kCombine}) {
    expect_clean(compiler, entry_source(sm90::LayerConfig{.step = step}), "sm_80");
  }
}

}  // namespace
}  // namespace thresher::gpu::sm80
