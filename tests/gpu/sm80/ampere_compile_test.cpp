// SPDX-License-Identifier: Apache-2.0
// What the run-time compiler is given compiles for every GPU since Ampere, where there is such a
// compiler: all choices and named variants for sm_80, the default for the others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "gpu/clean_kernels.hpp"
#include "gpu/gemm/entry_source.hpp"
#include "gpu/layer/layer_source.hpp"
#include "gpu/runtime/compiler.hpp"
#include "gpu/sm80/choose.hpp"
#include "gpu/sm80/gemm_support.hpp"

namespace thresher::gpu::sm80 {
namespace {

// On a device with as much shared memory as any has: some choices are for those alone.
std::set<std::string> sources_of(const Variant& variant, Op op, Activations activations) {
  const Problem problem{
      .name = "p", .op = op, .activations = activations, .groups = {{.m = 40, .n = 200, .k = 336}}};
  const PlanRequest request{.problem = problem,
                            .token_limit = token_count(problem),
                            .limits = {.compute_capability = 80,
                                       .sm_count = 132,
                                       .shared_bytes_per_block = 227 << 10,
                                       .shared_bytes_per_sm = 228 << 10}};
  EXPECT_EQ(sm80::why_not(variant.knobs, request), "") << name(variant);
  std::set<std::string> sources;
  const GemmPlan plan = make_plan(variant.knobs, request);
  if (plan.images) sources.insert(entry_source(*plan.images));
  for (const GemmLaunch& launch : plan.launches) sources.insert(entry_source(launch));
  return sources;
}

// Choices and named variants: each for one operation and one type of activations, which take turns,
// or for all of them.
std::set<std::string> all_sources(bool every) {
  std::vector<Variant> all = choices();
  const std::size_t chosen = all.size();
  for (const Variant& variant : named_variants()) all.push_back(variant);
  std::set<std::string> sources;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // bf16 is decoded by other instructions, and its tokens are copied.
    std::vector<Activations> types{Activations::kNvfp4};
    if (all[i].knobs.prologue == Prologue::kNone) types.push_back(Activations::kBf16);
    if (types.size() == 2 && i < chosen) types.erase(types.begin());  // never chosen for NVFP4
    const Op ops[] = {Op::kGemm, Op::kDual};
    for (std::size_t op = 0; op < 2; ++op) {
      for (std::size_t type = 0; type < types.size(); ++type) {
        const bool its_turn = op == i % 2 && type == i / 2 % types.size();
        if (every || its_turn) sources.merge(sources_of(all[i], ops[op], types[type]));
      }
    }
  }
  return sources;
}

// In parts, which CTest runs side by side.
constexpr int kAmpereParts = 4;

class AmpereCompile : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, AmpereCompile, ::testing::Range(0, kAmpereParts));
TEST_P(AmpereCompile, NoSpillsAndNoNotes) {
  expect_clean_kernels(all_sources(false), "sm_80", {GetParam(), kAmpereParts});
}

// For who has changed a kernel: ctest --preset kernels.
class AmpereCompileAll : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, AmpereCompileAll, ::testing::Range(0, kAmpereParts));
TEST_P(AmpereCompileAll, NoSpillsAndNoNotes) {
  expect_clean_kernels(all_sources(true), "sm_80", {GetParam(), kAmpereParts});
}

// Operations and types of activations take turns, so that each is compiled for two architectures;
// one that the compiler does not know is skipped by itself.
constexpr const char* kArchitectures[] = {"sm_86",   "sm_87",   "sm_89",   "sm_90a",
                                          "sm_100a", "sm_103a", "sm_120a", "sm_121a"};
class AmpereCompileDefault : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Architectures, AmpereCompileDefault,
                         ::testing::Range<std::size_t>(0, std::size(kArchitectures)));
TEST_P(AmpereCompileDefault, IsClean) {
  const std::size_t turn = GetParam() + GetParam() / 4;  // the second four begin with the next
  const Op op = turn % 2 == 0 ? Op::kGemm : Op::kDual;
  const Activations activations = turn / 2 % 2 == 0 ? Activations::kNvfp4 : Activations::kBf16;
  expect_clean_kernels(sources_of({.knobs = default_knobs()}, op, activations),
                       kArchitectures[GetParam()]);
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::string text;
  char buffer[4096];
  while (pipe != nullptr && fgets(buffer, sizeof buffer, pipe.get()) != nullptr) text += buffer;
  return text;
}

// What runs on a GPU that is taken for an Ampere: PTX of compute_80 without a word that Ampere has
// not. Where there is an assembler, it makes of it, as a driver would, kernels that spill nothing.
TEST(AmperePtx, HasAmperesWordsAlone) {
  const NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  std::set<std::string> sources =
      sources_of({.knobs = default_knobs()}, Op::kGemm, Activations::kBf16);
  GemmKnobs images = default_knobs();
  images.prologue = Prologue::kKernel;
  sources.merge(sources_of({.knobs = images}, Op::kDual, Activations::kNvfp4));
  const std::string assembler = "/usr/local/cuda/bin/ptxas";
  for (const std::string& source : sources) {
    const Compilation compilation = compiler.compile({.name = "entry.cu",
                                                      .source = source,
                                                      .headers = headers_of(source, kKernelSources),
                                                      .architecture = "compute_80"});
    const std::string ptx(reinterpret_cast<const char*>(compilation.cubin.data()));
    EXPECT_NE(ptx.find(".target sm_80"), std::string::npos);
    for (const char* word :
         {"griddepcontrol", "cp.async.bulk", "wgmma", "mbarrier", "setmaxnreg"}) {
      EXPECT_EQ(ptx.find(word), std::string::npos) << word;
    }
    if (!std::filesystem::exists(assembler)) continue;
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / ("ampere_" + std::to_string(getpid()) + ".ptx");
    std::ofstream(file) << ptx;
    const std::string log =
        output_of(assembler + " -v -arch=sm_90 -o /dev/null " + file.string() + " 2>&1");
    std::filesystem::remove(file);
    const PtxasReport report = parse_ptxas_log(log);
    ASSERT_EQ(report.kernels.size(), 1u) << log;
    EXPECT_FALSE(report.kernels.front().spills()) << log;
  }
}

// What surrounds the products of a layer.
TEST(AmpereCompileLayer, Steps) {
  std::set<std::string> sources;
  for (const LayerStep step : {LayerStep::kGather, LayerStep::kActivate, LayerStep::kCombine,
                               LayerStep::kFirst, LayerStep::kDown}) {
    sources.insert(entry_source(LayerConfig{.step = step}));
  }
  expect_clean_kernels(sources, "sm_80");
}

}  // namespace
}  // namespace thresher::gpu::sm80
