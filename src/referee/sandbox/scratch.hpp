// SPDX-License-Identifier: Apache-2.0
// What the referee takes from the system and surely gives back: folders, removed with everything in
// them, and file descriptors.
//
// A folder in the system's place for temporary files is locked for as long as its owner lives. What
// was left there by one that was killed has no lock any more, and the next to make a folder removes
// it, whatever is in it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <utility>

namespace thresher::referee {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

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
  UniqueFd lock_;
};

// Removes what referees that are no more have left in `root`. Returns how many folders that were.
int reclaim_folders(const std::filesystem::path& root);

}  // namespace thresher::referee
