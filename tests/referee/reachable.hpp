// SPDX-License-Identifier: Apache-2.0
// Contestants that lie in this house, where whoever runs them can read them: under root that is a
// user who may not enter a checkout below /root.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "referee/sandbox/closed_folder.hpp"

namespace thresher::testing {

// Copies of files and folders in a folder that everybody may enter, which goes away with this.
class OpenCopy {
 public:
  OpenCopy(const std::filesystem::path& from, const std::vector<std::string>& what) {
    namespace fs = std::filesystem;
    std::string name = (fs::temp_directory_path() / "thresher_open_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
    fs::permissions(path_, fs::perms{0755});
    for (const std::string& one : what) {
      fs::create_directories((path_ / one).parent_path());
      fs::copy(from / one, path_ / one, fs::copy_options::recursive);
    }
  }
  OpenCopy(const OpenCopy&) = delete;
  OpenCopy& operator=(const OpenCopy&) = delete;
  ~OpenCopy() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline bool must_be_copied(const std::filesystem::path& path) {
  return geteuid() == 0 && !referee::closed_folder_above(path / "file").empty();
}

// The root of the house, or of a copy of cheats, examples and headers.
inline const std::filesystem::path& reachable_house() {
  static const std::filesystem::path house = THRESHER_SOURCE_DIR;
  if (!must_be_copied(house)) return house;
  static const OpenCopy copy(house, {"tests/cheats", "tests/cheats_gpu", "examples", "include"});
  return copy.path();
}

// The program, for who starts it as that user.
inline std::filesystem::path reachable_program() {
  static const std::filesystem::path folder = THRESHER_BINARY_DIR;
  if (!must_be_copied(folder)) return folder / "thresher";
  static const OpenCopy copy(folder, {"thresher"});
  return copy.path() / "thresher";
}

}  // namespace thresher::testing
