// SPDX-License-Identifier: Apache-2.0
// Folders for the length of a match, removed with everything in them.
#pragma once

#include <cstdint>
#include <filesystem>

namespace thresher::referee {

enum class FolderOwner : std::uint8_t {
  kReferee,     // contestants may read and enter it
  kContestant,  // theirs to write to
};

class ScratchFolder {
 public:
  // In the system's folder for temporary files, or in `parent`. Throws Error.
  explicit ScratchFolder(FolderOwner owner, const std::filesystem::path& parent = {});
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace thresher::referee
