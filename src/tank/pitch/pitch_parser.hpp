// SPDX-License-Identifier: Apache-2.0
// TOML text to Pitch, with everything that is wrong with it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tank/pitch/pitch.hpp"

namespace thresher {

struct PitchText {
  std::string_view toml;
  std::string_view source_name;
  // Of a pitch that lies in a file; empty otherwise, and then nothing is asked of the file system
  // but the suite.
  std::filesystem::path folder = {};
  std::string stem = {};
};

struct PitchReading {
  Pitch pitch;  // complete only without faults
  std::vector<std::string> faults;
};

PitchReading read_pitch(const PitchText& text);

}  // namespace thresher
