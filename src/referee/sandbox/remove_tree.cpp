// SPDX-License-Identifier: Apache-2.0
// A tree may be deeper than any path or any number of descriptors reaches. So no tree is walked:
// what lies two levels down is moved up to the first, until there is no second.
#include "referee/sandbox/remove_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "referee/sandbox/scratch.hpp"

namespace thresher::referee {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Calls `visit` with every name in the folder; false if it cannot be read.
bool for_each_name(int folder, const std::function<void(const char*)>& visit) {
  const int listed = openat(folder, ".", kFolderFlags);
  DIR* stream = listed < 0 ? nullptr : fdopendir(listed);
  if (stream == nullptr) {
    if (listed >= 0) close(listed);
    return false;
  }
  while (const dirent* entry = readdir(stream)) {
    const char* name = entry->d_name;
    if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) visit(name);
  }
  closedir(stream);
  return true;
}

// Everything but a folder that holds something. Such a one can be entered and moved afterwards.
bool remove_simple(int parent, const char* name) {
  if (unlinkat(parent, name, 0) == 0) return true;
  if (unlinkat(parent, name, AT_REMOVEDIR) == 0) return true;
  const UniqueFd entry(openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  // By the number of the descriptor: what it was opened as is no link.
  if (entry && fstat(entry.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
    chmod(fmt::format("/proc/self/fd/{}", entry.get()).c_str(), 0700);
  }
  return unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

class Remover {
 public:
  explicit Remover(int root) : root_(root) {}

  // False when a round over the folder has changed nothing.
  bool empty() {
    while (true) {
      progress_ = 0;
      std::int64_t left = 0;
      const bool read = for_each_name(root_, [&](const char* name) {
        if (remove_simple(root_, name)) {
          ++progress_;
        } else {
          ++left;
          lift_contents(name);
        }
      });
      if (!read) return false;
      if (left == 0) return true;
      if (progress_ == 0) return false;
    }
  }

 private:
  void lift_contents(const char* name) {
    const UniqueFd folder(openat(root_, name, kFolderFlags));
    if (!folder) return;
    for_each_name(folder.get(), [&](const char* inner) {
      const bool gone = remove_simple(folder.get(), inner) ||
                        renameat(folder.get(), inner, root_,
                                 fmt::format("lifted-{}-{}", getpid(), count_++).c_str()) == 0;
      progress_ += gone ? 1 : 0;
    });
    if (unlinkat(root_, name, AT_REMOVEDIR) == 0) ++progress_;
  }

  const int root_;
  std::int64_t progress_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace

bool remove_tree(const std::filesystem::path& folder) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0) return errno == ENOENT;
  if (!S_ISDIR(status.st_mode)) return unlink(folder.c_str()) == 0;
  chmod(folder.c_str(), 0700);
  const UniqueFd root(open(folder.c_str(), kFolderFlags));
  return root && Remover(root.get()).empty() && rmdir(folder.c_str()) == 0;
}

}  // namespace thresher::referee
