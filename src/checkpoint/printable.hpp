// SPDX-License-Identifier: Apache-2.0
// Names from files, for messages: whoever wrote the file shall not write to our terminal.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace thresher::checkpoint {

constexpr bool is_control(char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }

inline std::string printable(std::string_view text) {
  constexpr std::size_t kBytesMax = 300;
  std::string shown(text.substr(0, kBytesMax));
  std::replace_if(shown.begin(), shown.end(), is_control, '?');
  if (text.size() > kBytesMax) shown += "...";
  return shown;
}

}  // namespace thresher::checkpoint
