// SPDX-License-Identifier: Apache-2.0
// The pitches that ship with the program: they travel in the binary with every file they run, so
// that it plays wherever it is copied to.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace thresher {

struct ShippedPitch {
  std::string name;
  std::string folder;  // "pitches", "pitches/gpu", "pitches/more"
  std::string_view text;
};

// All of them, by folder and name.
std::vector<ShippedPitch> shipped_pitches();

// Writes the pitches of `folder`, and the files that pitches run, below `root`: to
// root/pitches/gpu, for example. What is there already and says the same is left alone. Returns the
// pitch files. Throws Error when a file cannot be written.
std::vector<std::filesystem::path> write_shipped_folder(std::string_view folder,
                                                        const std::filesystem::path& root);

// Writes one pitch and the files that it runs to `folder`; returns what was written, the pitch
// first. Throws Error rather than overwrite a file that says something else.
std::vector<std::filesystem::path> write_shipped_pitch(const ShippedPitch& pitch,
                                                       const std::filesystem::path& folder);

}  // namespace thresher
