// SPDX-License-Identifier: Apache-2.0
// Control characters in texts that others wrote: a terminal obeys them, and C ends a text at one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thresher {

// Of bytes from `i` on: those of a control character, C1's two in UTF-8; 0: there is none.
inline std::size_t control_bytes(std::string_view text, std::size_t i) {
  const auto c = static_cast<unsigned char>(text[i]);
  if (c < 0x20 || c == 0x7f) return 1;
  const bool is_c1 =
      c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
  return is_c1 ? 2 : 0;
}

inline bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (control_bytes(text, i) > 0) return true;
  }
  return false;
}

// With a space in the place of each.
inline std::string without_control(std::string_view text) {
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t bytes = control_bytes(text, i);
    line += bytes == 0 ? text[i] : ' ';
    if (bytes == 2) ++i;
  }
  return line;
}

}  // namespace thresher
