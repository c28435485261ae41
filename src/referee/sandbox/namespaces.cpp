// SPDX-License-Identifier: Apache-2.0
// Away from root, the network and everybody else's processes.
//
// Root may enter namespaces at once; anybody else needs a user namespace first, which distributions
// and containers sometimes forbid. So each namespace is asked for as root, if we are, and again
// from inside the user namespace.
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "referee/sandbox/sandbox.hpp"

namespace thresher::referee {
namespace {

struct Wanted {
  int flag;
  const char* layer_name;
};

// Takes what it gets off the list. Leaves errno of the last refusal.
void enter(std::vector<Wanted>& wanted, const FileTree& tree, Refusals& refusals) {
  std::erase_if(wanted, [&](const Wanted& one) {
    if (unshare(one.flag) != 0) return false;
    // At once: who has left root behind has no right to it any more.
    if (one.flag == CLONE_NEWNS) arrange_files(tree, refusals);
    return true;
  });
}

void become_unprivileged(Refusals& refusals) {
  if (geteuid() != 0) return;
  const bool ok = setgroups(0, nullptr) == 0 &&
                  setresgid(kUnprivilegedId, kUnprivilegedId, kUnprivilegedId) == 0 &&
                  setresuid(kUnprivilegedId, kUnprivilegedId, kUnprivilegedId) == 0;
  if (!ok) refusals.add_errno(layer::kUnprivilegedUser, "setresuid");
  // Changing users has made /proc/self root's, and the user namespace below must write there.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

bool write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return ok;
}

// The same ids inside as outside: nothing but the accounting changes.
bool enter_user_namespace() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER) != 0) return false;
  return write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", fmt::format("{} {} 1", uid, uid)) &&
         write_file("/proc/self/gid_map", fmt::format("{} {} 1", gid, gid));
}

void leave_root(Refusals& refusals) {
  become_unprivileged(refusals);
  if (!enter_user_namespace()) refusals.add_errno(layer::kUserNamespace, "unshare");
}

// Whoever enters a user namespace is mighty in it; a contestant shall not be.
void drop_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  syscall(SYS_capset, &header, none);
}

}  // namespace

void enter_namespaces(const FileTree& tree, Refusals& refusals) {
  std::vector<Wanted> wanted = {{CLONE_NEWNET, layer::kNetworkNamespace},
                                {CLONE_NEWIPC, layer::kIpcNamespace}};
  if (!refusals.leaves_out(layer::kPrivateFiles)) {
    wanted.push_back({CLONE_NEWNS, layer::kPrivateFiles});
  }
  if (!refusals.leaves_out(layer::kProcessNamespace)) {
    wanted.push_back({CLONE_NEWPID, layer::kProcessNamespace});
  }
  enter(wanted, tree, refusals);
  if (wanted.empty()) return;
  // Whoever is not root, or a root without rights, may do all that inside a user namespace.
  leave_root(refusals);
  enter(wanted, tree, refusals);
  for (const Wanted& one : wanted) refusals.add_errno(one.layer_name, "unshare");
}

void give_up_rights(Refusals& refusals) {
  if (geteuid() == 0) leave_root(refusals);
  drop_capabilities();
}

}  // namespace thresher::referee
