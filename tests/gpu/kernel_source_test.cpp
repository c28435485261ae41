// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_source.hpp"

#include <gtest/gtest.h>

#include "gpu/error_of.hpp"

namespace thresher::gpu {
namespace {

constexpr KernelSource kTable[] = {
    {"hw", "#pragma once\n#include \"gpu/hw/types.hpp\"\n  #  include \"gpu/hw/ptx.cuh\"\nint hw;"},
    {"ptx", "#include \"gpu/hw/types.hpp\"\n"},
    {"types", "using u32 = unsigned;\n"},
    {"gemm", "#include \"gpu/hw/hw.cuh\"\n#include \"gpu/kernels/gemm.cuh\"\n"},
    {"unused", "int unused;\n"},
};

std::vector<std::string> names_of(const std::vector<NamedSource>& headers) {
  std::vector<std::string> names;
  for (const NamedSource& header : headers) names.push_back(header.name);
  return names;
}

TEST(KernelSource, FindsWhatASourceIncludes) {
  const std::vector<NamedSource> headers =
      headers_of("#include \"gpu/kernels/gemm.cuh\"\nvoid f();\n", kTable);
  EXPECT_EQ(names_of(headers), (std::vector<std::string>{"gpu/kernels/gemm.cuh", "gpu/hw/hw.cuh",
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

TEST(KernelSource, RefusesTwoOfOneName) {
  constexpr KernelSource kTwins[] = {{"gemm", "a"}, {"gemm", "b"}};
  EXPECT_EQ(testing::error_of([&] { headers_of("#include \"gemm.cuh\"", kTwins); }),
            "two embedded kernel sources are called 'gemm': rename one");
}

}  // namespace
}  // namespace thresher::gpu
