// SPDX-License-Identifier: Apache-2.0
// THRESHER_ASSERT states what our own code guarantees. It stays on in every build and aborts: it
// must never be reachable from a caller's input, which gets an Error instead.
#pragma once

#include <cstdio>
#include <cstdlib>

#define THRESHER_ASSERT(condition)                                                            \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      std::fprintf(stderr, "%s:%d: bug: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                           \
    }                                                                                         \
  } while (false)
