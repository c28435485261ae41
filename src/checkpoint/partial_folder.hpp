// SPDX-License-Identifier: Apache-2.0
// A folder that is written under another name and gets its own only when it is whole: whoever is
// killed in between leaves no half of it under that name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace thresher::checkpoint {

class PartialFolder {
 public:
  // Throws Error if `final` is there already. Takes away what earlier runs that were killed have
  // left.
  explicit PartialFolder(const std::filesystem::path& final);
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;
  ~PartialFolder();  // and all in it, unless it was finished

  const std::filesystem::path& path() const { return partial_; }
  void finish();

 private:
  std::filesystem::path final_;
  std::filesystem::path partial_;
  bool finished_ = false;
};

// A new file, on the disk when it is closed. Every method throws Error when the system refuses.
class NewFile {
 public:
  explicit NewFile(const std::filesystem::path& path);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace thresher::checkpoint
