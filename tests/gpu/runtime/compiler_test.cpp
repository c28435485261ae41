// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/compiler.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "gpu/runtime/error_of.hpp"
#include "gpu/runtime/fake_nvrtc.hpp"

namespace thresher::gpu {
namespace {

using testing::error_of;
using testing::FakeNvrtc;

TEST(Compiler, GivesCubinLogAndResources) {
  const Compiler compiler(FakeNvrtc::make());
  EXPECT_EQ(compiler.version(), "NVRTC 13.0");
  const Compilation compilation =
      compiler.compile({.name = "k.cu", .source = "text", .architecture = "sm_90a"});
  const std::string cubin(reinterpret_cast<const char*>(compilation.cubin.data()),
                          compilation.cubin.size());
  EXPECT_EQ(
      cubin,
      "-std=c++20\n-fmad=false\n--gpu-architecture=sm_90a\n--ptxas-options=-v\n--no-cache\ntext");
  ASSERT_EQ(compilation.kernels.size(), 1U);
  EXPECT_EQ(compilation.kernels[0].register_count, 40);
  EXPECT_EQ(compilation.kernels[0].spill_store_bytes, 4);
  EXPECT_TRUE(compilation.notes.empty());
  EXPECT_FALSE(compilation.from_cache);
  EXPECT_EQ(FakeNvrtc::program_count, 0);
}

// A driver reads PTX up to a zero, and alone knows what registers it takes.
TEST(Compiler, GivesPtxForAVirtualArchitecture) {
  const Compiler compiler(FakeNvrtc::make());
  EXPECT_TRUE(compiler.compiles_for("compute_80"));
  EXPECT_FALSE(compiler.compiles_for("compute_120"));
  const Compilation compilation =
      compiler.compile({.name = "k.cu", .source = "text", .architecture = "compute_80"});
  const std::string ptx(reinterpret_cast<const char*>(compilation.cubin.data()),
                        compilation.cubin.size());
  EXPECT_EQ(ptx.substr(0, ptx.size() - 1),
            "PTX -std=c++20\n-fmad=false\n--gpu-architecture=compute_80\n--no-cache\ntext");
  EXPECT_EQ(ptx.back(), '\0');
  EXPECT_TRUE(compilation.kernels.empty());
}

TEST(Compiler, PutsTheLogIntoTheError) {
  const Compiler compiler(FakeNvrtc::make());
  try {
    compiler.compile({.name = "k.cu", .source = "an error", .architecture = "sm_100a"});
    FAIL() << "no exception";
  } catch (const CompileError& error) {
    EXPECT_STREQ(error.what(),
                 "k.cu: NVRTC 13.0 could not compile it for sm_100a: NVRTC_ERROR_COMPILATION\n"
                 "line 1: this is an error");
    EXPECT_EQ(error.log, "line 1: this is an error");
  }
  EXPECT_EQ(FakeNvrtc::program_count, 0);
}

TEST(Compiler, NamesTheArchitecturesItKnows) {
  const Compiler compiler(FakeNvrtc::make());
  EXPECT_TRUE(compiler.compiles_for("sm_90"));
  EXPECT_TRUE(compiler.compiles_for("sm_100f"));
  EXPECT_FALSE(compiler.compiles_for("sm_9"));
  EXPECT_EQ(error_of([&] { compiler.compile({.name = "k.cu", .architecture = "sm_120a"}); }),
            "k.cu: NVRTC 13.0 does not compile for 'sm_120a'; it knows sm_80, sm_90, sm_100");
}

// From here on the real compiler, where there is one.
class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    NvrtcLookup lookup = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
    if (!lookup.nvrtc.has_value()) GTEST_SKIP() << lookup.why_not;
    compiler.emplace(*std::move(lookup.nvrtc));
  }
  Compilation compile(const std::string& source, const std::string& architecture) const {
    return compiler->compile({.name = "test.cu", .source = source, .architecture = architecture});
  }

  std::optional<Compiler> compiler;
};

constexpr const char* kScale =
    "extern \"C\" __global__ void scale(float* x, float f, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] *= f;\n"
    "}\n";

TEST_F(NvrtcTest, CompilesForHopperAndBlackwell) {
  for (const char* architecture : {"sm_90a", "sm_100a"}) {
    if (!compiler->compiles_for(architecture)) continue;
    const Compilation compilation = compile(kScale, architecture);
    ASSERT_GT(compilation.cubin.size(), 4U);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(compilation.cubin.data()), 4),
              "\x7f"
              "ELF");
    ASSERT_EQ(compilation.kernels.size(), 1U) << compilation.log;
    const KernelResources& kernel = compilation.kernels[0];
    EXPECT_EQ(kernel.kernel, "scale");
    EXPECT_GT(kernel.register_count, 2);
    EXPECT_LT(kernel.register_count, 40);
    EXPECT_EQ(kernel.spill_store_bytes, 0);
    EXPECT_EQ(kernel.spill_load_bytes, 0);
    EXPECT_TRUE(compilation.notes.empty()) << compilation.log;
  }
}

TEST_F(NvrtcTest, CompilesToPtx) {
  const Compilation compilation = compile(kScale, "compute_80");
  const std::string ptx(reinterpret_cast<const char*>(compilation.cubin.data()));
  EXPECT_EQ(ptx.size() + 1, compilation.cubin.size());
  EXPECT_NE(ptx.find(".target sm_80"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find(".entry scale("), std::string::npos) << ptx;
  EXPECT_TRUE(compilation.kernels.empty());
  EXPECT_TRUE(compilation.notes.empty()) << compilation.log;
}

// Warpgroup matrix instructions need the letter in sm_90a, and exist on no other chip.
TEST_F(NvrtcTest, CompilesWarpgroupMultiplies) {
  const std::string source =
      "extern \"C\" __global__ void __launch_bounds__(128, 1)\n"
      "multiply(float* out, unsigned long long a, unsigned long long b) {\n"
      "  float d[4] = {0, 0, 0, 0};\n"
      "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
      "  asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, \"\n"
      "               \"%4, %5, 1, 1, 1, 0, 0;\"\n"
      "               : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"l\"(a), "
      "\"l\"(b));\n"
      "  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
      "  asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n"
      "  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];\n"
      "}\n";
  const Compilation compilation = compile(source, "sm_90a");
  ASSERT_EQ(compilation.kernels.size(), 1U);
  EXPECT_EQ(compilation.kernels[0].kernel, "multiply");
  EXPECT_FALSE(compilation.kernels[0].spills());
  const std::string refusal = error_of([&] { compile(source, "sm_90"); });
  EXPECT_NE(refusal.find("wgmma"), std::string::npos) << refusal;
}

TEST_F(NvrtcTest, SeesSpillsAndSharedMemory) {
  const std::string source =
      "extern \"C\" __global__ void __launch_bounds__(1024, 2) spill(float* x) {\n"
      "  __shared__ float s[256];\n"
      "  float a[64];\n"
      "  #pragma unroll\n"
      "  for (int i = 0; i < 64; ++i) a[i] = x[i * 1024 + threadIdx.x];\n"
      "  s[threadIdx.x & 255] = a[3];\n"
      "  __syncthreads();\n"
      "  #pragma unroll\n"
      "  for (int i = 0; i < 64; ++i) x[i * 1024 + threadIdx.x] = a[i] * a[63 - i] + s[i];\n"
      "}\n";
  const Compilation compilation = compile(source, "sm_90a");
  ASSERT_EQ(compilation.kernels.size(), 1U);
  EXPECT_TRUE(compilation.kernels[0].spills()) << compilation.log;
  EXPECT_GT(compilation.kernels[0].stack_bytes, 0);
  EXPECT_EQ(compilation.kernels[0].static_shared_bytes, 1024);
}

// Headers come by name; templates over a literal struct are what our kernels are made of.
TEST_F(NvrtcTest, TakesHeadersAndStructArguments) {
  const CompileRequest request{
      .name = "generated.cu",
      .source =
          "#include \"gpu/kernels/fill.cuh\"\n"
          "extern \"C\" __global__ void entry(const __grid_constant__ FillArgs args) {\n"
          "  fill<FillConfig{.value = 3, .count = 2}>(args);\n"
          "}\n",
      .headers = {{"gpu/kernels/fill.cuh",
                   "#include \"gpu/hw/types.hpp\"\n"
                   "struct FillConfig { int value; int count; };\n"
                   "struct FillArgs { u32* out; };\n"
                   "template <FillConfig kConfig>\n"
                   "__device__ __forceinline__ void fill(const FillArgs& args) {\n"
                   "  for (int i = 0; i < kConfig.count; ++i) args.out[i] = kConfig.value;\n"
                   "}\n"},
                  {"gpu/hw/types.hpp", "#pragma once\nusing u32 = unsigned;\n"}},
      .architecture = "sm_90a"};
  const Compilation compilation = compiler->compile(request);
  ASSERT_EQ(compilation.kernels.size(), 1U);
  EXPECT_EQ(compilation.kernels[0].kernel, "entry");
}

TEST_F(NvrtcTest, SaysWhereTheSourceIsWrong) {
  const std::string message = error_of([&] { compile("int f() { return nothing; }", "sm_90a"); });
  EXPECT_NE(message.find("test.cu(1): error: identifier \"nothing\" is undefined"),
            std::string::npos)
      << message;
}

TEST_F(NvrtcTest, CompilesInSeveralThreads) {
  std::vector<std::vector<std::byte>> cubins(4);
  std::vector<std::thread> threads;
  for (std::vector<std::byte>& cubin : cubins) {
    threads.emplace_back([&] { cubin = compile(kScale, "sm_90a").cubin; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<std::byte>& cubin : cubins) EXPECT_EQ(cubin, cubins[0]);
}

}  // namespace
}  // namespace thresher::gpu
