// SPDX-License-Identifier: Apache-2.0
#include "cli/presence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace thresher::cli {
namespace {

// So many can measure at once and still find each other; who finds no name goes unnoticed.
constexpr int kSlotCount = 8;
constexpr std::size_t kNameBytesMax = 64;
constexpr const char* kMachineVariable = "THRESHER_MACHINE";

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;
};

Address address_of(const std::string& house, int slot) {
  const std::string text = fmt::format("thresher-measures-{}-{}", house.substr(0, 64), slot);
  Address address;
  address.name.sun_family = AF_UNIX;
  // A zero in front makes it no file.
  std::memcpy(address.name.sun_path + 1, text.data(), text.size());
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return address;
}

int new_socket() { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

const sockaddr* raw(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.name);
}

// Anybody may knock: letters of a command and nothing else.
std::string received(int fd) {
  char buffer[kNameBytesMax];
  const ssize_t count = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
  std::string text(buffer, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  std::erase_if(text, [](char c) { return c < ' ' || c > '~'; });
  return text;
}

// 0: of another container, whose numbers are not ours.
pid_t peer_of(int fd) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? peer.pid : 0;
}

std::string described(pid_t pid, const std::string& what) {
  const std::string who = pid > 0 ? fmt::format("pid {}", pid) : "a process of another container";
  return what.empty() ? who : fmt::format("{} ({})", who, what);
}

// "bench" of "/usr/bin/thresher bench --suite seeds".
std::string command_of(pid_t pid) {
  std::string line;
  if (std::FILE* file = std::fopen(fmt::format("/proc/{}/cmdline", pid).c_str(), "rb")) {
    char buffer[256];
    line.assign(buffer, std::fread(buffer, 1, sizeof buffer, file));
    std::fclose(file);
  }
  const std::size_t first_end = line.find('\0');
  if (first_end == std::string::npos) return {};
  const std::string program = line.substr(0, first_end);
  std::string words = program.substr(program.find_last_of('/') + 1) + " " +
                      std::string(line.c_str() + first_end + 1);
  std::erase_if(words, [](char c) { return c < ' ' || c > '~'; });
  return words;
}

std::string this_house(std::string house) {
  const char* named = std::getenv(kMachineVariable);
  if (house.empty() && named != nullptr) house = named;
  return house;
}

}  // namespace

Presence::Presence(std::string what, std::string house)
    : what_(std::move(what)), house_(this_house(std::move(house))) {
  for (int slot = 0; slot < kSlotCount; ++slot) call_at(slot);
  take_a_name();
  if (neighbours_.empty()) return;
  fmt::print(stderr,
             "thresher: {} {} measuring on this machine too; each is noise to the other, and times "
             "will be worse than they are\n",
             fmt::join(neighbours_, ", "), neighbours_.size() == 1 ? "is" : "are");
}

Presence::~Presence() {
  const std::vector<std::string> came = newcomers();
  if (!came.empty()) {
    std::fflush(stdout);
    fmt::print(stderr,
               "thresher: {} began to measure on this machine meanwhile; what was measured here is "
               "noisier for it\n",
               fmt::join(came, ", "));
  }
  if (fd_ >= 0) close(fd_);
}

void Presence::call_at(int slot) {
  const int fd = new_socket();
  if (fd < 0) return;
  const Address address = address_of(house_, slot);
  if (connect(fd, raw(address), address.bytes) == 0) {
    const pid_t pid = peer_of(fd);
    neighbours_.push_back(described(pid, command_of(pid)));
    const std::string name = what_.substr(0, kNameBytesMax);
    const ssize_t sent = send(fd, name.data(), name.size(), MSG_NOSIGNAL);
    static_cast<void>(sent);
  }
  close(fd);
}

void Presence::take_a_name() {
  for (int slot = 0; slot < kSlotCount; ++slot) {
    const int fd = new_socket();
    if (fd < 0) return;
    const Address address = address_of(house_, slot);
    if (bind(fd, raw(address), address.bytes) == 0 && listen(fd, 64) == 0) {
      fd_ = fd;
      return;
    }
    close(fd);
  }
}

std::vector<std::string> Presence::newcomers() const {
  std::vector<std::string> came;
  while (fd_ >= 0) {
    const int visitor = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (visitor < 0) break;
    came.push_back(described(peer_of(visitor), received(visitor)));
    close(visitor);
  }
  return came;
}

}  // namespace thresher::cli
