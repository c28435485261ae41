// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/closed_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "referee/sandbox/sandbox.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

bool is_closed(const fs::path& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return false;
  const mode_t enter = status.st_uid == kUnprivilegedId ? S_IXUSR : S_IXOTH;
  return S_ISDIR(status.st_mode) && (status.st_mode & enter) == 0;
}

}  // namespace

fs::path closed_folder_above(const fs::path& path) {
  fs::path folder = "/";
  for (const fs::path& name : fs::absolute(path).lexically_normal().parent_path().relative_path()) {
    folder /= name;
    if (is_closed(folder)) return folder;
  }
  return {};
}

std::string why_kept_out(const fs::path& path) {
  const fs::path folder = closed_folder_above(path);
  if (folder.empty()) return {};
  const std::string who =
      geteuid() == 0 ? fmt::format("under root contestants run as user {}, who", kUnprivilegedId)
                     : fmt::format("user {}", geteuid());
  return fmt::format("{} may not enter {}; chmod o+x {} lets them, or keep it elsewhere", who,
                     folder.string(), folder.string());
}

}  // namespace thresher::referee
