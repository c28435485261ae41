// SPDX-License-Identifier: Apache-2.0
// The build gate for contestants on a GPU.
#pragma once

#include "referee/contestant/build.hpp"

namespace thresher::referee {

BuildResult build_for_gpu(const Contestant& contestant, const BuildOptions& options);

// The program of a command as the operator's PATH has it: inside the sandbox PATH is another one.
// What is not found stays as it is.
std::string found_program(const std::string& program, const char* path);

}  // namespace thresher::referee
