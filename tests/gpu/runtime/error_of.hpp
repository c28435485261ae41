// SPDX-License-Identifier: Apache-2.0
// What an action throws, as text to compare.
#pragma once

#include <functional>
#include <string>

#include "thresher/error.hpp"

namespace thresher::gpu::testing {

inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace thresher::gpu::testing
