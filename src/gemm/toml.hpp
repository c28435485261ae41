// SPDX-License-Identifier: Apache-2.0
// toml++ as this project uses it, and the only way to include it: two ways would mix in one binary.
//
// toml++ 3.3 asserts things that input can violate ("[[[" is enough) and then reports them
// properly. Without NDEBUG such an assertion aborts; with it, clang is promised that it holds.
// Neither may happen on input, so assertions are nothing here in every build.
#pragma once

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
