// SPDX-License-Identifier: Apache-2.0
// What readers of TOML owe their caller of every fault.
#pragma once

#include <string_view>

#include "assert.hpp"

namespace thresher::testing {

// "fuzz.toml:line:column: reason"
inline void expect_place_and_reason(std::string_view message) {
  const std::size_t line = std::string_view("fuzz.toml:").size();
  THRESHER_ASSERT(message.starts_with("fuzz.toml:"));
  const std::size_t column = message.find_first_not_of("0123456789", line);
  THRESHER_ASSERT(column != std::string_view::npos && column > line && message[column] == ':');
  const std::size_t reason = message.find_first_not_of("0123456789", column + 1);
  THRESHER_ASSERT(reason != std::string_view::npos && reason > column + 1);
  THRESHER_ASSERT(message.substr(reason, 2) == ": " && message.size() > reason + 2);
}

}  // namespace thresher::testing
