// SPDX-License-Identifier: Apache-2.0
// Entries by which makers' files name the modules that are left as they are, and what becomes of
// them when some of those are quantised after all.
//
//   compressed-tensors   "lm_head", "re:.*self_attn.*": a regular expression, from the first letter
//   ModelOpt             "lm_head", "model.layers.*.mlp.gate": '*' and '?' stand for any letters
//
// An entry names modules, or modules that others are parts of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {

// `entries` in a file's format without any module of `taken`. An entry that covers one gives way to
// the names of those of `left` that it covers too. Throws Error, naming `place`, on a regular
// expression with something that is not understood here.
std::vector<std::string> without_modules(std::string_view place,
                                         const std::vector<std::string>& entries,
                                         CheckpointFormat format,
                                         const std::vector<std::string>& taken,
                                         const std::vector<std::string>& left);

}  // namespace thresher::checkpoint
