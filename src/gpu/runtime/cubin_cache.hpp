// SPDX-License-Identifier: Apache-2.0
// Compiled kernels kept on disk, so that a kernel is compiled once per machine and not once per
// run.
//
// An entry is found by everything its bytes depend on, written beside its name and then renamed
// into place, and carries a checksum: a reader sees a whole entry or none, whoever writes, crashes
// or fills the disk meanwhile. A damaged entry counts as absent and is written anew. A cache that
// cannot be read or written is no error: the kernels are compiled instead.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpu/runtime/compiler.hpp"

namespace thresher::gpu {

class CubinCache {
 public:
  // No cache: nothing is ever found or kept.
  CubinCache() = default;
  // The folder is made when the first entry is written.
  explicit CubinCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  bool keeps() const { return !folder_.empty(); }

  // From the cache, or compiled and then kept. `driver_version` is 0 where there is no driver.
  // Throws what Compiler::compile throws; nothing is kept then.
  Compilation get(const Compiler& compiler, const CompileRequest& request,
                  int driver_version) const;

  // The files of all that get() has found or kept so far, each once: what others need who are to
  // have the same kernels, in a folder that may hold thousands.
  std::vector<std::filesystem::path> given() const;

  std::optional<Compilation> load(const std::string& key) const;
  // Whether the entry is there now.
  bool store(const std::string& key, const Compilation& compilation) const;

  static std::string key(const Compiler& compiler, const CompileRequest& request,
                         int driver_version);
  std::filesystem::path entry_path(const std::string& key) const;

 private:
  struct Given {
    std::mutex turn;
    std::set<std::filesystem::path> files;
  };
  void note(const std::string& key) const;

  std::filesystem::path folder_;
  std::shared_ptr<Given> given_ = std::make_shared<Given>();  // of all copies
};

// Where a user's cache belongs, after the XDG base directory specification: from the values of
// XDG_CACHE_HOME and HOME, either of which may be null. Empty if both are of no use.
std::filesystem::path default_cache_folder(const char* xdg_cache_home, const char* home);

}  // namespace thresher::gpu
