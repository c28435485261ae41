// SPDX-License-Identifier: Apache-2.0
// What can be known of a variant's time without running it: how it cuts a problem into tiles and
// tasks, how evenly those fill the threads, and how many bytes it moves. No clock.
#pragma once

#include "cpu/variant.hpp"
#include "gemm/speed_of_light.hpp"
#include "thresher/problem.hpp"

namespace thresher {

struct ModelledRun {
  double work = 1;         // multiply-adds paid for, over those asked for: padding and decoding
  double balance = 1;      // share of the threads' time that has work: 1 is even
  double bytes = 0;        // to and from memory
  double store_bytes = 0;  // of those, for C
  double us = 0;           // max(bytes / bandwidth, operations * work / balance / rate)
};

// `variant` must support `problem` with so many threads.
ModelledRun modelled_run(const Problem& problem, const cpu::Variant& variant, int thread_count,
                         const MachineRates& rates);

}  // namespace thresher
