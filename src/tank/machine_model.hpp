// SPDX-License-Identifier: Apache-2.0
// What can be known of a variant's time without running it: how it cuts a problem into tiles, how
// evenly those fill the machine, and how many bytes it moves. No clock. cpu_model.hpp and
// gpu_model.hpp have a backend's part each.
#pragma once

#include <optional>
#include <string_view>

#include "tank/machine.hpp"
#include "thresher/problem.hpp"

namespace thresher {

struct ModelledRun {
  double work = 1;         // multiply-adds paid for, over those asked for: padding and decoding
  double balance = 1;      // share of the threads' or SMs' time that has work: 1 is even
  double bytes = 0;        // to and from memory
  double store_bytes = 0;  // of those, for C
  double launch_us = 0;    // between kernels
  double us = 0;           // all of it
};

// Nothing where the variant cannot run the problem on the machine. Throws Error where `variant`
// names none.
std::optional<ModelledRun> modelled_run(const Problem& problem, std::string_view variant,
                                        const Machine& machine);

}  // namespace thresher
