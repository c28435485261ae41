// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/scratch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "referee/sandbox/leftovers.hpp"
#include "referee/sandbox/remove_tree.hpp"
#include "referee/sandbox/sandbox.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScratchPrefix = "thresher-scratch-";

UniqueFd open_folder(const fs::path& folder) {
  return UniqueFd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Another may have taken the folder for an orphan before it was locked; then there is none.
bool is_still_there(const fs::path& folder, const UniqueFd& fd) {
  struct stat by_name {};
  struct stat by_fd {};
  return fd && lstat(folder.c_str(), &by_name) == 0 && fstat(fd.get(), &by_fd) == 0 &&
         by_name.st_ino == by_fd.st_ino;
}

// Ours, or those of the user that contestants of ours run as.
bool may_reclaim(int folder) {
  struct stat status {};
  if (fstat(folder, &status) != 0) return false;
  return status.st_uid == geteuid() || (geteuid() == 0 && status.st_uid == kUnprivilegedId);
}

void reclaim_folders_once(const fs::path& root) {
  static const int count = reclaim_folders(root);
  static_cast<void>(count);
}

[[noreturn]] void refuse_scratch(const fs::path& root) {
  throw Error(fmt::format("cannot make a scratch folder in {}: {}{}", root.string(),
                          std::strerror(errno),
                          errno == ENOSPC ? "; make room there, or set TMPDIR" : ""));
}

// The caretaker knows a folder before it is there: whoever is killed in between leaves nothing. It
// must be nobody else's, so its name cannot be foreseen.
fs::path make_folder(const fs::path& root) {
  std::uint64_t drawn = 0;
  if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) refuse_scratch(root);
  const fs::path path = root / fmt::format("{}{:016x}", kScratchPrefix, drawn);
  remember(Leftover::kFolder, path.string());
  if (mkdir(path.c_str(), 0700) == 0) return path;
  const int error = errno;
  forget(Leftover::kFolder, path.string());
  errno = error;
  refuse_scratch(root);
}

}  // namespace

int reclaim_folders(const fs::path& root) {
  int count = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, ignored)) {
    if (!entry.path().filename().string().starts_with(kScratchPrefix)) continue;
    const UniqueFd folder = open_folder(entry.path());
    if (!folder || !may_reclaim(folder.get())) continue;
    if (flock(folder.get(), LOCK_EX | LOCK_NB) == 0 && remove_tree(entry.path())) ++count;
  }
  return count;
}

ScratchFolder::ScratchFolder(FolderOwner owner, const fs::path& parent) {
  const fs::path root = fs::absolute(parent.empty() ? fs::temp_directory_path() : parent);
  if (parent.empty()) reclaim_folders_once(root);
  const mode_t mode = owner == FolderOwner::kReferee ? 0755 : 0700;
  const bool gives_away = owner == FolderOwner::kContestant && geteuid() == 0;
  do {
    path_ = make_folder(root);
    lock_ = open_folder(path_);
    if (lock_) flock(lock_.get(), LOCK_SH);
  } while (!is_still_there(path_, lock_));
  const bool ok = chmod(path_.c_str(), mode) == 0 &&
                  (!gives_away || chown(path_.c_str(), kUnprivilegedId, kUnprivilegedId) == 0);
  if (!ok) refuse_scratch(root);
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  // What a contestant that is just being killed still creates stays for whoever referees next; it
  // is no reason to fail.
  remove_tree(path_);
  forget(Leftover::kFolder, path_.string());
}

}  // namespace thresher::referee
