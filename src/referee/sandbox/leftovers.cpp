// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/leftovers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "referee/sandbox/cage.hpp"
#include "referee/sandbox/remove_tree.hpp"
#include "referee/sandbox/scratch.hpp"
#include "referee/sandbox/seat.hpp"

namespace thresher::referee {
namespace {

// How long processes that were killed may take to end.
constexpr std::chrono::milliseconds kDyingTime{2000};

struct List {
  std::set<std::pair<Leftover, std::string>> all;

  template <typename Work>
  void for_each(Leftover kind, const Work& work) const {
    for (const auto& [each, name] : all) {
      if (each == kind) work(name);
    }
  }
};

pid_t number_of(const std::string& group) {
  return static_cast<pid_t>(std::strtol(group.c_str(), nullptr, 10));
}

// Whoever has ended stays in the table until its parent asks, and the parent of all orphans may
// take its time: zombies are dead.
bool has_living_member(pid_t group) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    if (!std::getline(file, text)) continue;
    char state = 0;
    int parent = 0;
    int process_group = 0;
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    rest >> state >> parent >> process_group;
    if (process_group == group && state != 'Z' && state != 'X') return true;
  }
  return false;
}

bool group_is_alive(const std::string& group) {
  const pid_t number = number_of(group);
  waitpid(number, nullptr, WNOHANG);
  return number > 1 && kill(-number, 0) == 0 && has_living_member(number);
}

void wait_until_dead(const List& list) {
  const auto deadline = std::chrono::steady_clock::now() + kDyingTime;
  bool alive = true;
  while (alive && std::chrono::steady_clock::now() < deadline) {
    alive = false;
    list.for_each(Leftover::kGroup,
                  [&](const std::string& group) { alive = alive || group_is_alive(group); });
    if (alive) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// Cages first: killing them ends also what is frozen, or has left its group.
void clear_away(const List& list) {
  list.for_each(Leftover::kCage, [](const std::string& cage) { kill_cage(cage); });
  list.for_each(Leftover::kGroup, [](const std::string& group) {
    if (number_of(group) > 1) kill(-number_of(group), SIGKILL);
  });
  wait_until_dead(list);
  list.for_each(Leftover::kCage, [](const std::string& cage) { remove_cage(cage); });
  list.for_each(Leftover::kSeat, [](const std::string& seat) { leave_seat(seat); });
  list.for_each(Leftover::kFolder, [](const std::string& folder) { remove_tree(folder); });
}

// What is said to a caretaker: '+' or '-', the kind, the name, and a zero, which no name has.
std::string message_of(char what, Leftover kind, const std::string& name) {
  return std::string{what, static_cast<char>('0' + static_cast<int>(kind))} + name + '\0';
}

void obey(std::string_view message, List& list) {
  if (message.size() < 3) return;
  const std::pair entry(static_cast<Leftover>(message[1] - '0'), std::string(message.substr(2)));
  if (message[0] == '+') list.all.insert(entry);
  if (message[0] == '-') list.all.erase(entry);
}

// In a session of its own, where no terminal and no signal to our group reaches it.
UniqueFd start_caretaker() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
  }
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  std::string name = "thresher";
  std::string verb = "caretaker";
  char* arguments[] = {name.data(), verb.data(), nullptr};
  char* no_environment[] = {nullptr};
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments, no_environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) ours.close();
  return ours;
}

struct Leftovers {
  std::mutex mutex;
  List list;
  bool wants_caretaker = false;
  UniqueFd caretaker;

  void tell(char what, Leftover kind, const std::string& name) {
    if (wants_caretaker && !caretaker) {
      wants_caretaker = false;
      caretaker = start_caretaker();
    }
    const std::string message = message_of(what, kind, name);
    // One that was killed has nobody to tell; what is left then, the next referee reclaims.
    if (caretaker &&
        send(caretaker.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
      caretaker.close();
    }
  }
};

// Never destroyed: threads may still hold something while the process ends.
Leftovers& leftovers() {
  static auto* const all = new Leftovers;
  return *all;
}

}  // namespace

void remember(Leftover kind, const std::string& name) {
  const std::lock_guard lock(leftovers().mutex);
  leftovers().list.all.emplace(kind, name);
  leftovers().tell('+', kind, name);
}

void forget(Leftover kind, const std::string& name) {
  const std::lock_guard lock(leftovers().mutex);
  leftovers().list.all.erase({kind, name});
  leftovers().tell('-', kind, name);
}

void clear_away_for_good() {
  leftovers().mutex.lock();  // and stays so
  clear_away(leftovers().list);
}

void keep_caretaker() {
  const std::lock_guard lock(leftovers().mutex);
  leftovers().wants_caretaker = !leftovers().caretaker;
}

void take_care(int fd) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_IGN);
  List list;
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = text.find('\0')) != std::string::npos;) {
      obey(std::string_view(text).substr(0, end), list);
      text.erase(0, end + 1);
    }
  }
  clear_away(list);
}

}  // namespace thresher::referee
