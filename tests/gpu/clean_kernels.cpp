// SPDX-License-Identifier: Apache-2.0
#include "gpu/clean_kernels.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "gpu/gemm/entry_source.hpp"
#include "gpu/runtime/compiler.hpp"
#include "gpu/runtime/cubin_cache.hpp"

namespace thresher::gpu {
namespace {

// Of a SHA-256's digits: enough that no two of some hundreds are alike.
constexpr std::size_t kDigits = 20;

std::set<std::string> listed_hashes() {
  std::set<std::string> hashes;
  std::ifstream file(THRESHER_SOURCE_DIR "/tests/gpu/clean_kernels.txt");
  for (std::string line; std::getline(file, line);) hashes.insert(line);
  return hashes;
}

// Empty: it is clean.
std::string fault_of(const Compilation& compilation, int stack_bytes_max) {
  if (compilation.kernels.size() != 1) return "not one kernel";
  const KernelResources& kernel = compilation.kernels.front();
  if (kernel.spills()) return "spills";
  if (kernel.stack_bytes > stack_bytes_max)
    return std::to_string(kernel.stack_bytes) + " B of stack";
  return compilation.notes.empty() ? "" : compilation.notes.front();
}

}  // namespace

void expect_clean_kernels(const std::set<std::string>& sources, const std::string& architecture,
                          Part part, int stack_bytes_max) {
  NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  if (!compiler.compiles_for(architecture)) {
    GTEST_SKIP() << compiler.version() << " does not compile for " << architecture;
  }
  const char* const list = std::getenv("THRESHER_CLEAN_KERNELS");
  const std::set<std::string> known = list != nullptr ? std::set<std::string>() : listed_hashes();
  int index = 0;
  for (const std::string& source : sources) {
    if (index++ % part.count != part.index) continue;
    const CompileRequest request{.name = "entry.cu",
                                 .source = source,
                                 .headers = headers_of(source, kKernelSources),
                                 .architecture = architecture};
    const std::string hash = CubinCache::key(compiler, request, 0).substr(0, kDigits);
    if (known.count(hash) != 0) continue;
    const std::string fault = fault_of(compiler.compile(request), stack_bytes_max);
    EXPECT_EQ(fault, "") << "compiled for " << architecture << source;
    // One write, because others' parts write there too.
    if (fault.empty() && list != nullptr) std::ofstream(list, std::ios::app) << hash + "\n";
  }
}

}  // namespace thresher::gpu
