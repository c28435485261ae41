// SPDX-License-Identifier: Apache-2.0
// The few lines of CUDA that make a kernel of a config: what the run-time compiler is given. The
// files they include travel in the binary (gpu/runtime/kernel_source.hpp).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "gpu/gemm/gemm_plan.hpp"

namespace thresher::gpu {

// The name of the kernel in every such source; it takes one argument, whose type the source names.
inline constexpr const char* kEntryName = "entry";

// A kernel's template in a header below src/gpu/, and what it is instantiated with.
struct Entry {
  std::string_view before = {};  // the first include
  std::string_view header;
  std::string_view function;
  std::string_view args;
  std::string config;
  int thread_count = 0;  // at most
  int blocks_per_sm = 1;
};

std::string entry_source(const Entry& entry);

// An enumerator by its number: it needs no table of names, and the compiler checks the type.
template <typename Enum>
std::string enumerator(std::string_view type, Enum value) {
  return fmt::format("static_cast<{}>({})", type, static_cast<int>(value));
}

std::string entry_source(const ImageLaunch& launch);
std::string entry_source(const GemmLaunch& launch);

}  // namespace thresher::gpu
