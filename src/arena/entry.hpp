// SPDX-License-Identifier: Apache-2.0
// Entries for GPU MODE's arena: the kernel for Blackwell as one Python file in the form that the
// problems of reference-kernels expect (docs/blackwell.md). They were never run on a Blackwell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gemm/suite.hpp"

namespace thresher::arena {

// A problem of the arena, and what it is ranked by.
struct ArenaProblem {
  std::string_view name;  // "nvfp4_group_gemm"
  Op op = Op::kGemm;
  std::vector<Problem> benchmarks;
};

std::vector<ArenaProblem> arena_problems();
// Throws Error listing the names.
ArenaProblem arena_problem(std::string_view name);

// The variant that an entry takes if nobody says: of those that the engine chooses from, the one
// whose modelled times on a B200 have the least geometric mean over the benchmarks.
std::string variant_for(const ArenaProblem& problem);

// The file. Throws Error for a variant that is not Blackwell's, that cannot run the benchmarks on a
// B200, or whose call is more than one launch of single blocks that need only their operands.
std::string entry_file(const ArenaProblem& problem, std::string_view variant);

// The CUDA source in it.
std::string entry_kernels(const ArenaProblem& problem, std::string_view variant);

}  // namespace thresher::arena
