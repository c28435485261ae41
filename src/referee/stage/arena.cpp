// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/arena.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "thresher/error.hpp"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace thresher::referee {
namespace {

[[noreturn]] void refuse(const char* step, std::size_t bytes) {
  throw Error(fmt::format("cannot share {} bytes of memory with a contestant: {}: {}", bytes, step,
                          std::strerror(errno)));
}

UniqueFd reopen(int fd, int flags) {
  return UniqueFd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), flags | O_CLOEXEC));
}

}  // namespace

Arena::Arena(ChildAccess access, std::size_t bytes) : bytes_(bytes) {
  memory_ = UniqueFd(memfd_create("thresher", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory_) refuse("memfd_create", bytes);
  if (ftruncate(memory_.get(), static_cast<off_t>(bytes)) != 0) refuse("ftruncate", bytes);
  // A contestant with another user id reopens by these bits; one with ours meets the seals.
  const bool readable_only = access == ChildAccess::kRead;
  if (fchmod(memory_.get(), readable_only ? 0444 : 0666) != 0) refuse("fchmod", bytes);
  child_fd_ = reopen(memory_.get(), readable_only ? O_RDONLY : O_RDWR);
  if (!child_fd_) refuse("open", bytes);

  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (mapped == MAP_FAILED) refuse("mmap", bytes);
  data_ = static_cast<std::byte*>(mapped);

  const int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;
  if (fcntl(memory_.get(), F_ADD_SEALS, size_seals) != 0) refuse("seal", bytes);
  if (readable_only) sealed_ = fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0;
  if (fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SEAL) != 0) refuse("seal", bytes);
}

Arena::Arena(Arena&& other) noexcept
    : memory_(std::move(other.memory_)),
      child_fd_(std::move(other.child_fd_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      sealed_(other.sealed_) {}

Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace thresher::referee
