// SPDX-License-Identifier: Apache-2.0
// What the run-time compiler is given compiles for sm_100a, where there is such a compiler: all
// choices and named variants without spills. Where there is a disassembler too, the machine code
// has the block-scaled FP4 MMA. Nothing is run: there is no Blackwell here.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "gpu/clean_kernels.hpp"
#include "gpu/gemm/entry_source.hpp"
#include "gpu/runtime/compiler.hpp"
#include "gpu/sm100/choose.hpp"
#include "gpu/sm100/gemm_support.hpp"

namespace thresher::gpu::sm100 {
namespace {

constexpr SmLimits kCompiledFor{.compute_capability = 100, .sm_count = 148};

std::set<std::string> sources_of(const Variant& variant, Output output) {
  std::set<std::string> sources;
  for (const Op op : {Op::kGemm, Op::kDual}) {
    const Problem problem{
        .name = "p", .op = op, .output = output, .groups = {{.m = 40, .n = 200, .k = 336}}};
    const PlanRequest request{problem, token_count(problem), kCompiledFor};
    if (!sm100::why_not(variant.knobs, request).empty()) continue;  // too deep for a dual product
    for (const GemmLaunch& launch : make_plan(variant.knobs, request).launches) {
      sources.insert(entry_source(launch));
    }
  }
  EXPECT_FALSE(sources.empty()) << name(variant);
  return sources;
}

std::optional<Compiler> compiler_for_blackwell(std::string& why_not) {
  NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  why_not = found.why_not;
  if (!found.nvrtc) return {};
  Compiler compiler(*found.nvrtc);
  why_not = compiler.version() + " has no sm_100a";
  if (!compiler.compiles_for("sm_100a")) return {};
  return compiler;
}

Compilation compile(const Compiler& compiler, const std::string& source) {
  return compiler.compile({.name = "entry.cu",
                           .source = source,
                           .headers = headers_of(source, kKernelSources),
                           .architecture = "sm_100a"});
}

// In parts, which CTest runs side by side.
constexpr int kPartCount = 2;
class BlackwellCompile : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, BlackwellCompile, ::testing::Range(0, kPartCount));

TEST_P(BlackwellCompile, NoSpillsAndNoNotes) {
  std::set<std::string> sources;
  std::vector<Variant> all = choices();
  for (const Variant& variant : named_variants()) all.push_back(variant);
  // Types of results take turns, and the baseline has one of its own.
  constexpr Output kOutputs[] = {Output::kFp16, Output::kBf16, Output::kFp32};
  for (std::size_t i = 0; i < all.size(); ++i) sources.merge(sources_of(all[i], kOutputs[i % 3]));
  sources.merge(sources_of(baseline(), Output::kFp32));
  expect_clean_kernels(sources, "sm_100a", {GetParam(), kPartCount});
}

// On the PATH, of a toolkit, or of a Python package in the tests' environment; empty: there is
// none.
std::string find_disassembler() {
  std::vector<std::string> places{"/usr/local/cuda/bin/nvdisasm"};
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    places.push_back(folder + "/nvdisasm");
  }
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(THRESHER_VENV_DIR "/lib", ignored)) {
    if (entry.path().filename() == "nvdisasm") places.push_back(entry.path().string());
  }
  for (const std::string& place : places) {
    if (std::filesystem::exists(place)) return place;
  }
  return {};
}

std::string disassembled(const std::string& program, const std::vector<std::byte>& cubin) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("blackwell_" + std::to_string(getpid()) + ".cubin");
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(cubin.data()),
             static_cast<std::streamsize>(cubin.size()));
  const std::string command = program + " " + file.string();
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::string text;
  char buffer[4096];
  while (pipe != nullptr && fgets(buffer, sizeof buffer, pipe.get()) != nullptr) text += buffer;
  std::filesystem::remove(file);
  return text;
}

TEST(BlackwellMachineCode, HasTheBlockScaledMma) {
  std::string why_not;
  const std::optional<Compiler> compiler = compiler_for_blackwell(why_not);
  if (!compiler) GTEST_SKIP() << why_not;
  const std::string program = find_disassembler();
  if (program.empty()) GTEST_SKIP() << "no nvdisasm";
  const std::set<std::string> sources = sources_of({.knobs = default_knobs()}, Output::kFp16);
  for (const std::string& source : sources) {
    const std::string text = disassembled(program, compile(*compiler, source).cubin);
    EXPECT_NE(text.find("UTCOMMA.4X"), std::string::npos) << "no block-scaled FP4 MMA";
    EXPECT_NE(text.find("UTCCP"), std::string::npos) << "no copy of scales";
    EXPECT_NE(text.find("LDTM"), std::string::npos) << "no load from tensor memory";
    EXPECT_NE(text.find("UBLKCP"), std::string::npos) << "no bulk copy";
    EXPECT_EQ(text.find(".2CTA"), std::string::npos) << "a word for pairs";
  }
}

TEST(BlackwellMachineCode, HasTheMmaOfPairs) {
  std::string why_not;
  const std::optional<Compiler> compiler = compiler_for_blackwell(why_not);
  if (!compiler) GTEST_SKIP() << why_not;
  const std::string program = find_disassembler();
  if (program.empty()) GTEST_SKIP() << "no nvdisasm";
  GemmKnobs knobs = default_knobs();
  knobs.weight_rows = 256;
  for (const std::string& source : sources_of({.knobs = knobs}, Output::kFp16)) {
    const std::string text = disassembled(program, compile(*compiler, source).cubin);
    EXPECT_NE(text.find("UTCOMMA.2CTA.4X"), std::string::npos) << "no FP4 MMA of pairs";
    EXPECT_EQ(text.find("UTCOMMA.4X"), std::string::npos) << "an MMA of one block";
    EXPECT_NE(text.find("UCGABAR"), std::string::npos) << "no barrier of the cluster";
  }
}

// A word that no kernel says yet.
TEST(BlackwellMachineCode, HasStoresToTensorMemory) {
  std::string why_not;
  const std::optional<Compiler> compiler = compiler_for_blackwell(why_not);
  if (!compiler) GTEST_SKIP() << why_not;
  const std::string source = R"(#include "gpu/hw/hw.cuh"
using namespace thresher::gpu;
template <int kColumns>
__device__ void store(hw::TensorAddress at, const float* from) {
  float values[kColumns];
  THRESHER_UNROLL
  for (int i = 0; i < kColumns; ++i) values[i] = from[i];
  hw::tensor_store(at, values);
}
extern "C" __global__ void entry(hw::TensorAddress at, const float* from) {
  store<8>(at, from);
  store<16>(at + 8, from);
  store<32>(at + 24, from);
  hw::tensor_wait_stores();
}
)";
  const Compilation compilation = compile(*compiler, source);
  ASSERT_EQ(compilation.kernels.size(), 1u);
  EXPECT_FALSE(compilation.kernels.front().spills());
  const std::string program = find_disassembler();
  if (program.empty()) GTEST_SKIP() << "compiled; no nvdisasm";
  const std::string text = disassembled(program, compilation.cubin);
  for (const char* instruction : {"STTM.x8", "STTM.x16", "STTM.x32"}) {
    EXPECT_NE(text.find(instruction), std::string::npos) << "no " << instruction << "\n" << text;
  }
}

// Words for pairs that no kernel says yet: an MMA of 64 rows in each block with its copy of scales,
// and boxes for both.
TEST(BlackwellMachineCode, HasOtherWordsOfPairs) {
  std::string why_not;
  const std::optional<Compiler> compiler = compiler_for_blackwell(why_not);
  if (!compiler) GTEST_SKIP() << why_not;
  const std::string source = R"(#include "gpu/hw/hw.cuh"
using namespace thresher::gpu;
extern "C" __global__ void entry(hw::BlockScaledMma mma, u64 scales,
                                 const __grid_constant__ hw::TensorMap map) {
  hw::copy_box_to_blocks<2>(hw::shared_base(), &map, 0, 0, hw::shared_base() + 1024, 3);
  hw::tensor_copy_scales_by_halves(mma.b_scales, scales);
  mma.instruction = hw::block_scaled_instruction(64, 128);
  hw::tensor_multiply<2>(mma);
}
)";
  const Compilation compilation = compile(*compiler, source);
  ASSERT_EQ(compilation.kernels.size(), 1u);
  EXPECT_FALSE(compilation.kernels.front().spills());
  EXPECT_TRUE(compilation.notes.empty()) << compilation.notes.front();
  const std::string program = find_disassembler();
  if (program.empty()) GTEST_SKIP() << "compiled; no nvdisasm";
  const std::string text = disassembled(program, compilation.cubin);
  for (const char* instruction : {"UTMALDG.2D.MULTICAST.2CTA", "lw01_lw23", "UTCOMMA.2CTA.4X"}) {
    EXPECT_NE(text.find(instruction), std::string::npos) << "no " << instruction << "\n" << text;
  }
}

// Weights that two blocks share, and boxes whose bytes a pair counts at one barrier.
TEST(BlackwellMachineCode, HasCopiesForSeveralBlocks) {
  std::string why_not;
  const std::optional<Compiler> compiler = compiler_for_blackwell(why_not);
  if (!compiler) GTEST_SKIP() << why_not;
  const std::string program = find_disassembler();
  if (program.empty()) GTEST_SKIP() << "no nvdisasm";
  const auto has = [&](const char* variant, const char* instruction) {
    for (const std::string& source : sources_of(variant_from_name(variant), Output::kFp16)) {
      const std::string text = disassembled(program, compile(*compiler, source).cubin);
      EXPECT_NE(text.find(instruction), std::string::npos) << variant << ": no " << instruction;
    }
  };
  has("gpu_sm100:loads=multicast", "UBLKCP.S.G.MULTICAST");
  has("gpu_sm100:loads=multicast", "UTCBAR.MULTICAST");
  has("gpu_sm100:loads=boxes", "UTMALDG.2D");
  has("gpu_sm100:rows=256,loads=boxes", "UTMALDG.2D.2CTA");
  has("gpu_sm100:rows=256,loads=boxes", "UTMACCTL.IV");  // the map's fence
}

}  // namespace
}  // namespace thresher::gpu::sm100
