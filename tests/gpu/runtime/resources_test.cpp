// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/resources.hpp"

#include <gtest/gtest.h>

namespace thresher::gpu {
namespace {

// As NVRTC 12.9 and 13.0 write it.
constexpr const char* kLog =
    "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored\n"
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'scale' for 'sm_90a'\n"
    "ptxas info    : Function properties for scale\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers, used 0 barriers\n"
    "ptxas info    : Compile time = 1.573 ms\n"
    "ptxas info    : Function properties for _Z4slowPfi\n"
    "ptxas         .     16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
    "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
    "ptxas info    : Function properties for gemm\n"
    "ptxas         .     3200 bytes stack frame, 53436 bytes spill stores, 53760 bytes spill "
    "loads\n"
    "ptxas info    : Used 168 registers, used 1 barriers, 3200 bytes cumulative stack size, 1024 "
    "bytes smem, 400 bytes cmem[0]\n"
    "ptxas info    : Compile time = 3312.890 ms\n";

TEST(PtxasLog, GivesEachKernelItsNumbers) {
  const PtxasReport report = parse_ptxas_log(kLog);
  ASSERT_EQ(report.kernels.size(), 2U);
  EXPECT_EQ(report.kernels[0], (KernelResources{.kernel = "scale",
                                                .register_count = 8,
                                                .stack_bytes = 0,
                                                .static_shared_bytes = 0,
                                                .spill_store_bytes = 0,
                                                .spill_load_bytes = 0}));
  EXPECT_EQ(report.kernels[1], (KernelResources{.kernel = "gemm",
                                                .register_count = 168,
                                                .stack_bytes = 3200,
                                                .static_shared_bytes = 1024,
                                                .spill_store_bytes = 53436,
                                                .spill_load_bytes = 53760}));
  EXPECT_FALSE(report.kernels[0].spills());
  EXPECT_TRUE(report.kernels[1].spills());
}

TEST(PtxasLog, KeepsEverythingElseAsNotes) {
  EXPECT_EQ(parse_ptxas_log(kLog).notes,
            (std::vector<std::string>{
                "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored",
                "device function _Z4slowPfi spills: ptxas         .     16 bytes stack frame, 12 "
                "bytes spill stores, 8 bytes spill loads"}));
}

TEST(PtxasLog, ANoteAboutRegistersIsANote) {
  EXPECT_EQ(parse_ptxas_log("x.cu(3): warning: 40 registers are few").notes.size(), 1U);
}

TEST(PtxasLog, MayBeEmptyOrCutOff) {
  EXPECT_TRUE(parse_ptxas_log("").kernels.empty());
  const std::string_view log(kLog);
  for (std::size_t length = 0; length < log.size(); ++length) {
    EXPECT_LE(parse_ptxas_log(log.substr(0, length)).kernels.size(), 2U);
  }
}

TEST(KernelResources, ReadAsASentence) {
  const PtxasReport report = parse_ptxas_log(kLog);
  EXPECT_EQ(to_string(report.kernels[0]),
            "scale: 8 registers, no spills, 0 bytes of stack, 0 bytes of static shared memory");
  EXPECT_EQ(to_string(report.kernels[1]),
            "gemm: 168 registers, spills 53436 bytes of stores and 53760 of loads, 3200 bytes of "
            "stack, 1024 bytes of static shared memory");
}

}  // namespace
}  // namespace thresher::gpu
