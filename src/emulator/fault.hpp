// SPDX-License-Identifier: Apache-2.0
// A fault of the kernel under emulation: an Error whose sentence begins with who did it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "emulator/block.hpp"
#include "thresher/error.hpp"

namespace thresher::emulator {

template <typename... Values>
[[noreturn]] void fault(const Thread& thread, fmt::format_string<Values...> format,
                        Values&&... values) {
  throw Error(thread.name() + " " + fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace thresher::emulator
