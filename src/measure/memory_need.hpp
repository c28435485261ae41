// SPDX-License-Identifier: Apache-2.0
// What a problem surely takes, against what this process may still have: said before anything is
// allocated, because the kernel's own way of saying it is to kill.
#pragma once

#include <cstdint>
#include <filesystem>

#include "thresher/problem.hpp"

namespace thresher::measure {

// Of a problem in host memory, in bytes: a lower bound, so that nothing is refused that would fit.
double input_bytes(const Problem& problem);   // as it is drawn: weights, activations
double packed_bytes(const Problem& problem);  // its weights once more, as a device wants them
double output_bytes(const Problem& problem);

// Free memory, page caches that can be dropped included, but no more than the control groups of
// this process leave it. `root` is for tests: the folder that /proc and /sys are in.
double usable_memory_bytes(const std::filesystem::path& root = "/");

// Throws Error: "not enough memory for problem 'huge' (...): it takes at least ...".
void check_fits(const Problem& problem, double needed_bytes, double usable_bytes);

}  // namespace thresher::measure
