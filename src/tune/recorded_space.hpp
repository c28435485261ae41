// SPDX-License-Identifier: Apache-2.0
// A space that somebody has measured to the last point, in the T4 format of the auto-tuning
// community: a search can be tried on it as often as one likes, and the optimum is known.
// docs/tuning.md says what is read of a file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tune/variant_space.hpp"

namespace thresher::tune {

struct RecordedSpace {
  std::string name;            // of the file, without its ending
  Space space;                 // knobs with one value only are left out; there are no guesses
  std::vector<double> times;   // of the points; infinity: it cannot be run
  std::size_t runs_count = 0;  // points that can
  double least = 0;            // of the times
};

// Throws Error naming the result and what is wrong with it.
RecordedSpace recorded_space_from_json(std::string_view text);
// The same with the file's name before it.
RecordedSpace read_recorded_space(const std::filesystem::path& path);
// As such a file: what was measured of a space of variants, times by the names of its points. A
// time of 0 is of one that does not run; what has no time is left out.
std::string recorded_space_to_json(const VariantSpace& space,
                                   const std::map<std::string, double>& us_by_name);

}  // namespace thresher::tune
