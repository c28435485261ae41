// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace thresher::cli {
namespace {

// Narrower no table can be read, wider nobody reads it.
constexpr std::size_t kWidthMin = 40;
constexpr std::size_t kWidthMax = 400;

// 0 where there is no number.
std::size_t number_in(const char* text) {
  const std::string_view digits = text == nullptr ? "" : text;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() ? number : 0;
}

std::size_t asked_of(std::FILE* stream) {
  winsize size{};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) != 0; }

bool wants_colour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused = no_color != nullptr && *no_color != '\0';
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return is_terminal(stream) && !refused && !dumb;
}

std::size_t terminal_width(std::FILE* stream) {
  std::size_t width = number_in(std::getenv("COLUMNS"));
  if (width == 0) width = asked_of(stream);
  return width == 0 ? kWidthUnknown : std::clamp(width, kWidthMin, kWidthMax);
}

std::string wrapped(const std::string& text, std::size_t width) {
  std::istringstream words(text);
  std::string lines;
  std::size_t column = 0;
  for (std::string word; words >> word;) {
    if (column > 0 && column + 1 + word.size() > width) {
      lines += '\n';
      column = 0;
    }
    if (column > 0) lines += ' ', ++column;
    lines += word;
    column += word.size();
  }
  return lines + '\n';
}

std::string called_as() {
  const char* name = std::getenv("THRESHER_CALLED_AS");
  return name == nullptr || *name == '\0' ? "thresher" : name;
}

}  // namespace thresher::cli
