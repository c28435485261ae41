// SPDX-License-Identifier: Apache-2.0
// What the streams are connected to.
#pragma once

#include <cstddef>
#include <cstdio>

namespace thresher::cli {

bool is_terminal(std::FILE* stream);

// Colours only for a terminal that has them, and never against the user's NO_COLOR.
bool wants_colour(std::FILE* stream);

// What is taken where nobody says, as in a pipe or a file.
inline constexpr std::size_t kWidthUnknown = 80;

// Columns: the user's COLUMNS, else what the terminal says, else kWidthUnknown.
std::size_t terminal_width(std::FILE* stream);

}  // namespace thresher::cli
