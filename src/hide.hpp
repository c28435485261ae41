// SPDX-License-Identifier: Apache-2.0
// Hiding values from the compiler. Internal linkage, because files for several instruction sets
// include it.
#pragma once

// A vector stays in its register.
#if defined(__x86_64__)
#define THRESHER_VALUE_PLACE "+v"
#elif defined(__aarch64__)
#define THRESHER_VALUE_PLACE "+w"
#else
#define THRESHER_VALUE_PLACE "+m"
#endif

namespace thresher {
namespace {

// The compiler takes it for a new value that it knows nothing of: it neither works it out a second
// time, nor beforehand what follows from it.
template <typename Value>
[[maybe_unused, gnu::always_inline]] inline void hide(Value& value) {
  if constexpr (sizeof(Value) > 8) {
    asm("" : THRESHER_VALUE_PLACE(value));
  } else {
    asm("" : "+m"(value));
  }
}

// The same, and the compiler cannot drop the value and the work behind it: somebody seems to use
// it.
template <typename Value>
[[maybe_unused, gnu::always_inline]] inline void use(Value& value) {
  if constexpr (sizeof(Value) > 8) {
    asm volatile("" : THRESHER_VALUE_PLACE(value));
  } else {
    asm volatile("" : "+m"(value));
  }
}

}  // namespace
}  // namespace thresher

#undef THRESHER_VALUE_PLACE
