// SPDX-License-Identifier: Apache-2.0
// The [contestant] of a pitch: exactly one of knobs, variant, source and command, and of a CUDA
// source its launches.
#pragma once

#include <filesystem>

#include "tank/pitch/pitch.hpp"
#include "tank/pitch/toml_reader.hpp"

namespace thresher {

// Into pitch.contestant and pitch.knobs; the pitch has its name and its backend already. Files are
// looked for in `folder`, unless that is empty. Faults go to `toml`.
void read_contestant(const toml::node& node, const std::filesystem::path& folder, TomlReader& toml,
                     Pitch& pitch);

}  // namespace thresher
