// SPDX-License-Identifier: Apache-2.0
// The kernels of copies_main.cpp compile for Hopper and for Blackwell, without spills or notes.
#include "copy_kernels.hpp"

#include <gtest/gtest.h>

#include "gpu/runtime/compiler.hpp"

namespace thresher::gpu {
namespace {

TEST(CopyKernels, Compile) {
  const NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  for (const char* const architecture : {"sm_90a", "sm_100a"}) {
    if (!compiler.compiles_for(architecture)) continue;
    const Compilation compilation =
        compiler.compile({.name = "copies.cu",
                          .source = testing::kCopyKernels,
                          .headers = headers_of(testing::kCopyKernels, kKernelSources),
                          .architecture = architecture});
    EXPECT_EQ(compilation.kernels.size(), 4u) << architecture;
    for (const KernelResources& kernel : compilation.kernels) EXPECT_FALSE(kernel.spills());
    EXPECT_TRUE(compilation.notes.empty()) << compilation.notes.front();
  }
}

}  // namespace
}  // namespace thresher::gpu
