// SPDX-License-Identifier: Apache-2.0
// Programs that hold the engine to its promises on a real GPU. Exit code 0: all kept; 1: one was
// not; 77: no GPU here.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "thresher/engine.hpp"
#include "thresher/error.hpp"

namespace thresher::testing {

inline int broken_count = 0;

inline void report(bool kept, const std::string& what) {
  fmt::print("{} {}\n", kept ? "ok   " : "WRONG", what);
  std::fflush(stdout);  // compiling takes a while between two lines
  broken_count += kept ? 0 : 1;
}

inline int hold_to_promises(const char* program, void (*check)(const Engine& engine)) {
  const EngineOptions options{.device = "gpu"};
  if (const std::string why = why_no_device(options); !why.empty()) {
    return fmt::print("{}\n", why), 77;
  }
  try {
    const Engine engine(options);
    fmt::print("{}\n", engine.description());
    check(engine);
    return broken_count == 0 ? 0 : 1;
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n", program, error.what());
    return 1;
  }
}

}  // namespace thresher::testing
