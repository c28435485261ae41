// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/kernel_source.hpp"

#include <gtest/gtest.h>

namespace thresher::gpu {
namespace {

constexpr EmbeddedFile kTable[] = {
    {"gpu/hw/hw.cuh",
     "#pragma once\n#include \"gpu/hw/types.hpp\"\n  #  include \"gpu/hw/ptx.cuh\"\nint hw;"},
    {"gpu/hw/ptx.cuh", "#include \"gpu/hw/types.hpp\"\n"},
    {"gpu/hw/types.hpp", "using u32 = unsigned;\n"},
    {"gpu/sm90/kernels/gemm.cuh",
     "#include \"gpu/hw/hw.cuh\"\n#include \"gpu/sm90/kernels/gemm.cuh\"\n"},
    {"unused", "int unused;\n"},
};

std::vector<std::string> names_of(const std::vector<NamedSource>& headers) {
  std::vector<std::string> names;
  for (const NamedSource& header : headers) names.push_back(header.name);
  return names;
}

TEST(KernelSource, FindsWhatASourceIncludes) {
  const std::vector<NamedSource> headers =
      headers_of("#include \"gpu/sm90/kernels/gemm.cuh\"\nvoid f();\n", kTable);
  EXPECT_EQ(names_of(headers),
            (std::vector<std::string>{"gpu/sm90/kernels/gemm.cuh", "gpu/hw/hw.cuh",
                                      "gpu/hw/types.hpp", "gpu/hw/ptx.cuh"}));
  EXPECT_EQ(headers[2].text, "using u32 = unsigned;\n");
}

TEST(KernelSource, LeavesOtherNamesToTheCompiler) {
  EXPECT_TRUE(headers_of("#include <types>\n#include \"mine.cuh\"\n// include \"hw.cuh\"\n"
                         "#include \"types",
                         kTable)
                  .empty());
  EXPECT_TRUE(headers_of("", kTable).empty());
}

// Rooms may have files of the same name.
TEST(KernelSource, FindsAFileByItsWholePath) {
  constexpr EmbeddedFile kTwins[] = {{"gpu/sm90/gemm.cuh", "a"}, {"gpu/sm80/gemm.cuh", "b"}};
  const std::vector<NamedSource> headers = headers_of("#include \"gpu/sm80/gemm.cuh\"", kTwins);
  EXPECT_EQ(headers, (std::vector<NamedSource>{{"gpu/sm80/gemm.cuh", "b"}}));
}

}  // namespace
}  // namespace thresher::gpu
