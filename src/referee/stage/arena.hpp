// SPDX-License-Identifier: Apache-2.0
// A piece of memory that the referee and a contestant share: a memfd, mapped by both.
//
// The input arena cannot be written by the contestant: it inherits a descriptor that was opened for
// reading, and a seal forbids new writable mappings however it reopens the file. No arena can
// change its size, or a contestant could truncate it and kill the referee with SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "referee/sandbox/scratch.hpp"

namespace thresher::referee {

enum class ChildAccess : std::uint8_t { kRead, kReadWrite };

class Arena {
 public:
  // Filled with zeros. Throws Error when the system refuses.
  Arena(ChildAccess access, std::size_t bytes);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  int child_fd() const { return child_fd_.get(); }
  // Whether the kernel (5.1 or later) keeps the contestant from writing; true for kReadWrite.
  bool sealed() const { return sealed_; }

 private:
  UniqueFd memory_;
  UniqueFd child_fd_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool sealed_ = true;
};

}  // namespace thresher::referee
