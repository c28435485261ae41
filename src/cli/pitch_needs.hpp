// SPDX-License-Identifier: Apache-2.0
// What a pitch needs on this machine before anybody plays it: a compiler, a Python with its
// packages, a GPU.
#pragma once

#include <string>

#include "tank/pitch/pitch.hpp"

namespace thresher::cli {

// "python3 has no package 'torch'", or empty if everything is there. Looks at the key `needs`,
// whose words are `gpu`, `python:PACKAGE` and names of programs, and at the compiler of a C or C++
// source.
std::string missing_need(const Pitch& pitch);

}  // namespace thresher::cli
