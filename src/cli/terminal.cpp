// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace thresher::cli {

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) != 0; }

bool wants_colour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused = no_color != nullptr && *no_color != '\0';
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return is_terminal(stream) && !refused && !dumb;
}

}  // namespace thresher::cli
