// SPDX-License-Identifier: Apache-2.0
#include "cli/contestant_threads.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "cpu/features.hpp"
#include "referee/timing/cores.hpp"

namespace thresher::cli {

int contestant_threads(int asked) {
  if (asked != 0) return asked;
  const int core_count = cpu::usable_core_count();
  const int quiet_count = referee::watch_quiet_cores();
  if (quiet_count == 0 || quiet_count >= core_count) return core_count;
  fmt::print(stderr,
             "Something else keeps {} of {} cores busy: contestants get {} (--threads {} gives "
             "them all).\n",
             core_count - quiet_count, core_count,
             quiet_count == 1 ? "one thread" : fmt::format("{} threads", quiet_count), core_count);
  return quiet_count;
}

}  // namespace thresher::cli
