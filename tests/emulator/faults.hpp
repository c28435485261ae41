// SPDX-License-Identifier: Apache-2.0
// What a launch reports, as text to look into.
#pragma once

#include <functional>
#include <string>

#include "emulator/launch.hpp"
#include "thresher/error.hpp"

namespace thresher::emulator {

// The message of the Error a launch throws, or "" where it throws none.
inline std::string fault_of(const LaunchOptions& options, const std::function<void()>& kernel) {
  try {
    launch(options, kernel);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace thresher::emulator

// EXPECT that launching reports a fault with these words in it.
#define EXPECT_FAULT(options, kernel, words)                                        \
  do {                                                                              \
    const std::string fault_text = ::thresher::emulator::fault_of(options, kernel); \
    EXPECT_TRUE(::thresher::emulator::contains(fault_text, words))                  \
        << "wanted: " << (words) << "\nreported: " << fault_text;                   \
  } while (false)
