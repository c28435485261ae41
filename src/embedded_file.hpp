// SPDX-License-Identifier: Apache-2.0
// Files that travel inside the binary, so that it can be copied alone. cmake/embed_files.cmake
// writes the tables; a file is called by its stem, or where its folder matters by its path.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "assert.hpp"

namespace thresher {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

using EmbeddedFiles = std::span<const EmbeddedFile>;

extern const EmbeddedFiles kSuiteFiles;         // suites/*.toml
extern const EmbeddedFiles kConstraintFiles;    // constraints/*.toml
extern const EmbeddedFiles kPitchFiles;         // pitches/ and below, with what they run
extern const EmbeddedFiles kSeasonFiles;        // seasons/*.toml
extern const EmbeddedFiles kForecastFiles;      // results/b200/forecasts.jsonl
extern const EmbeddedFiles kPageFiles;          // the style of a report
extern const EmbeddedFiles kContestantHeaders;  // as contestants include them
extern const EmbeddedFiles kKernelSources;      // device code, as an #include calls it
extern const EmbeddedFiles kArenaFiles;         // entries' Python, and their device code
extern const EmbeddedFiles kPeerKernelSources;  // that of the peers in bench/
extern const EmbeddedFiles kPeerPrograms;       // peers in processes of their own

// Null if there is none.
inline const EmbeddedFile* find_embedded(EmbeddedFiles files, std::string_view name) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const EmbeddedFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

// Of a file that the build has put there.
inline std::string_view embedded_text(EmbeddedFiles files, std::string_view name) {
  const EmbeddedFile* file = find_embedded(files, name);
  THRESHER_ASSERT(file != nullptr);
  return file->text;
}

}  // namespace thresher
