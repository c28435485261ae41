// SPDX-License-Identifier: Apache-2.0
// A folder that goes with its object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace thresher::gpu::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    path_ = (std::filesystem::temp_directory_path() / "thresher_XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace thresher::gpu::testing
