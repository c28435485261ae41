// SPDX-License-Identifier: Apache-2.0
// The device sources that travel inside the binary, and which of them a kernel needs.
//
// cmake/embed_files.cmake writes the table and calls a file as an #include does: "gpu/hw/hw.cuh".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thresher {
namespace gpu {

struct KernelSource {
  const char* name;
  const char* text;
};

// A header under the name that an #include gives it.
struct NamedSource {
  std::string name;
  std::string text;

  bool operator==(const NamedSource&) const = default;
};

// Every file of `table` that `source` includes in quotes, directly or through others, in the order
// they are met. Conditions are not looked at, and names that `table` does not have are left out: a
// compiler that really needs one says so itself. Handing over no more than this keeps the cached
// kernels valid when an unrelated file changes.
std::vector<NamedSource> headers_of(std::string_view source, std::span<const KernelSource> table);

}  // namespace gpu

extern const gpu::KernelSource kKernelSources[];
extern const int kKernelSourceCount;

namespace gpu {

inline std::span<const KernelSource> kernel_sources() {
  return {kKernelSources, static_cast<std::size_t>(kKernelSourceCount)};
}

}  // namespace gpu
}  // namespace thresher
