// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/scratch.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "referee/sandbox/leftovers.hpp"
#include "referee/sandbox/sandbox.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {

ScratchFolder::ScratchFolder(FolderOwner owner, const std::filesystem::path& parent) {
  const std::filesystem::path root =
      parent.empty() ? std::filesystem::temp_directory_path() : parent;
  std::string name = (root / "thresher-XXXXXX").string();
  const bool made = mkdtemp(name.data()) != nullptr;
  if (made) path_ = name;
  const mode_t mode = owner == FolderOwner::kReferee ? 0755 : 0700;
  const bool gives_away = owner == FolderOwner::kContestant && geteuid() == 0;
  const bool ok = made && chmod(name.c_str(), mode) == 0 &&
                  (!gives_away || chown(name.c_str(), kUnprivilegedId, kUnprivilegedId) == 0);
  if (!ok) {
    throw Error(
        fmt::format("cannot make a scratch folder in {}: {}", root.string(), std::strerror(errno)));
  }
  remember_folder(path_);
}

ScratchFolder::~ScratchFolder() {
  // What a contestant that is just being killed still creates stays behind; it is no reason to
  // fail.
  std::error_code ignored;
  if (path_.empty()) return;
  std::filesystem::remove_all(path_, ignored);
  forget_folder(path_);
}

}  // namespace thresher::referee
