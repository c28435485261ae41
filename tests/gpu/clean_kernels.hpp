// SPDX-License-Identifier: Apache-2.0
// Kernels that compile and are clean: no spills, no more on the stack than is said (objects that
// cannot live in registers lie there, and every use of them is a load) and no notes such as
// serialised MMAs, all of which would make a kernel slow without making it wrong.
//
// What clean_kernels.txt lists has been compiled and was clean, and is not compiled again: an entry
// is the hash of everything that machine code depends on, the compiler too, so a kernel that has
// changed, or that another compiler gets, is compiled. Where THRESHER_CLEAN_KERNELS names a file,
// as in `./run test --kernels`, all are compiled and those that are clean are added to it.
#pragma once

#include <set>
#include <string>

namespace thresher::gpu {

// Of sources that are many, each of `count` tests takes a part, and CTest runs them side by side.
struct Part {
  int index = 0;
  int count = 1;
};

// Skips the test where there is no compiler for `architecture`.
void expect_clean_kernels(const std::set<std::string>& sources, const std::string& architecture,
                          Part part = {}, int stack_bytes_max = 0);

}  // namespace thresher::gpu
