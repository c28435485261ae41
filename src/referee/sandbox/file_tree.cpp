// SPDX-License-Identifier: Apache-2.0
// The files of a contestant: in a mount namespace of its own everything can only be read, its
// scratch folder is memory that nobody else sees and that goes with it, and what the operator keeps
// to himself looks empty, as does the memory that others share by name.
//
// Landlock holds writing as well, but neither modes, owners, times nor attributes: a contestant
// with the operator's user id could change those of all his files.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "referee/sandbox/sandbox.hpp"

namespace thresher::referee {
namespace {

// struct mount_attr, spelt out as in landlock.cpp: headers may be older than kernels.
struct MountAttributes {
  std::uint64_t set = 0;
  std::uint64_t clear = 0;
  std::uint64_t propagation = 0;
  std::uint64_t user_namespace = 0;
};
constexpr long kSetMountAttributes = 442;  // the same number on every architecture
constexpr std::uint64_t kReadOnly = 1;
constexpr unsigned kWithAllBelow = 0x8000;

// Where whoever else is on the machine could leave word for a contestant, and take it back, without
// a trace on any disk: shared memory and message queues by name.
constexpr const char* kOthersMemory[] = {"/dev/shm", "/dev/mqueue"};

bool set_attributes(const char* path, unsigned flags, MountAttributes attributes) {
  return syscall(kSetMountAttributes, AT_FDCWD, path, flags, &attributes, sizeof attributes) == 0;
}

bool make_writable(const char* path) { return set_attributes(path, 0, {.clear = kReadOnly}); }

bool mount_memory(const std::filesystem::path& folder, std::int64_t bytes, std::int64_t files) {
  const bool gives_away = geteuid() == 0;
  const std::string options = fmt::format("size={},nr_inodes={},mode=0700,uid={},gid={}", bytes,
                                          files, gives_away ? kUnprivilegedId : geteuid(),
                                          gives_away ? kUnprivilegedId : getegid());
  return mount("thresher", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
}

// A folder, or a single file.
bool hide(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
  }
  if (S_ISDIR(status.st_mode)) {
    return mount("thresher", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 "size=4k,nr_inodes=2,mode=0555") == 0;
  }
  return mount("/dev/null", path.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

bool arrange(const FileTree& tree) {
  // Nothing of this reaches other namespaces.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  for (const std::filesystem::path& path : tree.hidden) {
    if (!hide(path)) return false;
  }
  for (const char* folder : kOthersMemory) {
    if (!hide(folder)) return false;
  }
  const char* scratch = tree.scratch.c_str();
  if (!tree.scratch.empty()) {
    const bool ok = tree.scratch_in_memory
                        ? mount_memory(tree.scratch, tree.scratch_bytes, tree.scratch_files)
                        : mount(scratch, scratch, nullptr, MS_BIND, nullptr) == 0;
    if (!ok) return false;
  }
  return set_attributes("/", kWithAllBelow, {.set = kReadOnly}) && make_writable("/proc") &&
         (tree.scratch.empty() || make_writable(scratch));
}

}  // namespace

void arrange_files(const FileTree& tree, Refusals& refusals) {
  if (!arrange(tree)) refusals.add_errno(layer::kPrivateFiles, "mount");
}

bool show_own_processes_only() {
  return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

}  // namespace thresher::referee
