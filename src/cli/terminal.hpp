// SPDX-License-Identifier: Apache-2.0
// What the streams are connected to.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace thresher::cli {

bool is_terminal(std::FILE* stream);

// Colours only for a terminal that has them, and never against the user's NO_COLOR.
bool wants_colour(std::FILE* stream);

// What is taken where nobody says, as in a pipe or a file.
inline constexpr std::size_t kWidthUnknown = 80;

// Columns: the user's COLUMNS, else what the terminal says, else kWidthUnknown.
std::size_t terminal_width(std::FILE* stream);

// Prose in lines of at most `width` columns, which breaks between words only.
std::string wrapped(const std::string& text, std::size_t width);

// How the user calls this program: what whoever started it for them says in THRESHER_CALLED_AS
// (./run does), or its name.
std::string called_as();

}  // namespace thresher::cli
