// SPDX-License-Identifier: Apache-2.0
// Where a kernel says a word that orders something: fences, arrivals, waits. The emulator can be
// told to leave out what is said at one such place (emulator/sites.hpp), to see whether anybody
// notices.
//
// A word takes its Site as the last parameter, `Site site = Site::here()`, which is the caller's
// place, and begins with `if (leaves_out(site, "word")) return;`.
#pragma once

namespace thresher::gpu::hw {

struct Site {
  const char* file;  // from the root of the sources on
  int line;
  const char* function;

  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                             const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
};

bool leaves_out(const Site& site, const char* word);

}  // namespace thresher::gpu::hw
