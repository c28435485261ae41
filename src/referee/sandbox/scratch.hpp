// SPDX-License-Identifier: Apache-2.0
// What the referee takes from the system and surely gives back: folders, removed with everything in
// them, and file descriptors.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <utility>

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

}  // namespace thresher::referee
