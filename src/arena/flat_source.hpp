// SPDX-License-Identifier: Apache-2.0
// A CUDA source with all it includes as one text, for whoever has no folder of headers.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "embedded_file.hpp"

namespace thresher::arena {

// Every #include in quotes gives way to the file that has the name among all `tables`, the first
// time; what none of them has is left out: the emulator's headers, which stand behind conditions.
// `seen` is what stands in the text already. Comments with the word that the arena forbids are left
// out, line by line.
std::string flat_source(std::string_view source, const std::vector<EmbeddedFiles>& tables,
                        std::set<std::string>& seen);

}  // namespace thresher::arena
