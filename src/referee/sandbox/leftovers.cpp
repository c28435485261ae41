// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/leftovers.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <mutex>
#include <set>
#include <system_error>

namespace thresher::referee {
namespace {

struct Leftovers {
  std::mutex mutex;
  std::set<std::filesystem::path> folders;
  std::set<pid_t> groups;
};

// Never destroyed: threads may still hold something while the process ends.
Leftovers& leftovers() {
  static auto* const all = new Leftovers;
  return *all;
}

}  // namespace

void remember_folder(const std::filesystem::path& folder) {
  const std::lock_guard lock(leftovers().mutex);
  leftovers().folders.insert(folder);
}

void forget_folder(const std::filesystem::path& folder) {
  const std::lock_guard lock(leftovers().mutex);
  leftovers().folders.erase(folder);
}

void remember_group(pid_t group) {
  const std::lock_guard lock(leftovers().mutex);
  leftovers().groups.insert(group);
}

void forget_group(pid_t group) {
  const std::lock_guard lock(leftovers().mutex);
  leftovers().groups.erase(group);
}

void clear_away_for_good() {
  leftovers().mutex.lock();  // and stays so
  for (const pid_t group : leftovers().groups) ::kill(-group, SIGKILL);
  // The launcher ends when its namespace has ended: nobody writes to the folders any more. Its
  // owner may have waited for it already.
  for (const pid_t group : leftovers().groups) waitpid(group, nullptr, 0);
  std::error_code ignored;
  for (const std::filesystem::path& folder : leftovers().folders) {
    std::filesystem::remove_all(folder, ignored);
  }
}

}  // namespace thresher::referee
