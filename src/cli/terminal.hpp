// SPDX-License-Identifier: Apache-2.0
// What the streams are connected to.
#pragma once

#include <cstdio>

namespace thresher::cli {

bool is_terminal(std::FILE* stream);

// Colours only for a terminal that has them, and never against the user's NO_COLOR.
bool wants_colour(std::FILE* stream);

}  // namespace thresher::cli
