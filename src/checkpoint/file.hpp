// SPDX-License-Identifier: Apache-2.0
// One file of a checkpoint: mapped, or read piece by piece where it may change under us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace thresher::checkpoint {

class File {
 public:
  // Throws Error that names the file and says what the system has against it.
  File(const std::filesystem::path& path, bool mapped);
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }

  // [offset, offset + count), which must lie in the file as it was when it was opened. Mapped:
  // where it lies. Otherwise a copy; throws Error if the file has become shorter.
  std::shared_ptr<const std::byte> bytes(std::uint64_t offset, std::uint64_t count) const;

  // Has the system begin to read this in large pieces; waits for nothing.
  void prefetch(std::uint64_t offset, std::uint64_t count) const;

 private:
  void map();
  std::shared_ptr<const std::byte> read(std::uint64_t offset, std::uint64_t count) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  bool mapped_ = false;
  std::shared_ptr<const std::byte> mapping_;
};

// A small text file as a whole; throws Error above `bytes_max`.
std::string read_text(const std::filesystem::path& path, std::uint64_t bytes_max);

}  // namespace thresher::checkpoint
