// SPDX-License-Identifier: Apache-2.0
// A pitch: a contestant with its claim. docs/pitches.md documents the file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "referee/contestant/contestant.hpp"

namespace thresher {

// A predicted speedup with its range; value, low and high may be equal.
struct Claim {
  double value = 1;
  double low = 1;
  double high = 1;
};

enum class Level : std::uint8_t { kLow, kMedium, kHigh };
inline constexpr std::array<std::string_view, 3> kLevelWords = {"low", "medium", "high"};
inline std::string_view to_string(Level level) {
  return kLevelWords[static_cast<std::size_t>(level)];
}

struct Pitch {
  std::string name;  // the one identifier; file stem
  std::string title;
  std::string author;
  std::string suite;  // target suite: a name, or the path of a file
  std::string backend = "cpu";
  std::string family;  // kind of idea: "pipeline_stages", "tile_shape" ...
  // What to run. A variant may be given as knobs that are laid over the champion's: then `knobs`
  // holds them and contestant.variant is filled when the round starts.
  Contestant contestant;
  std::map<std::string, std::string> knobs;
  std::string mechanism;
  std::string bottleneck;
  std::string evidence;
  Claim claim;  // geomean
  std::map<std::string, Claim> claim_by_problem;
  Level risk = Level::kMedium;
  Level complexity = Level::kMedium;
  std::string rollback;
  std::string new_evidence;  // an appeal against a learned constraint
  std::string needs;         // words for what must be installed: "python:torch gpu"
  std::string source_text;   // the file as read, for the ledger
};

inline constexpr std::size_t kPitchBytesMax = std::size_t{64} << 10;

// The file that a pitch lies in: relative paths in the pitch start in its folder, what they name
// must be there, and the pitch must be called like the file. Without one nothing is asked of the
// file system but the suite.
struct PitchFile {
  std::filesystem::path folder;
  std::string stem;
};

// Errors read "file:line:column: what is wrong"; a missing part says what it is for. `parse_pitch`
// throws Error with the first, `pitch_faults` returns all of them.
Pitch parse_pitch(std::string_view toml, std::string_view source_name, const PitchFile& file = {});
std::vector<std::string> pitch_faults(std::string_view toml, std::string_view source_name,
                                      const PitchFile& file = {});

// The same for a file.
Pitch load_pitch(const std::filesystem::path& path);
std::vector<std::string> pitch_file_faults(const std::filesystem::path& path);

// The .toml files of a folder in the order of their names, without those that are suites,
// constraints or ballots. What cannot be read as TOML may have been meant as a pitch.
std::vector<std::filesystem::path> pitch_files_in(const std::filesystem::path& folder);

// What runs when `pitch` challenges `champion`: its knobs are laid over the champion's variant.
// Throws Error when the champion has none.
Contestant contestant_against(const Pitch& pitch, const Contestant& champion);

// The data of a `pitch` entry (docs/ledger.md).
nlohmann::json pitch_entry(const Pitch& pitch);

}  // namespace thresher
