// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/arena.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace thresher::referee {
namespace {

constexpr std::size_t kBytes = 8192;

void* map(int fd, int protection) { return mmap(nullptr, kBytes, protection, MAP_SHARED, fd, 0); }

TEST(Arena, SharesWhatTheRefereeWrites) {
  const Arena arena(ChildAccess::kRead, kBytes);
  arena.data()[100] = std::byte{42};
  void* seen = map(arena.child_fd(), PROT_READ);
  ASSERT_NE(seen, MAP_FAILED);
  EXPECT_EQ(static_cast<std::byte*>(seen)[100], std::byte{42});
  munmap(seen, kBytes);
}

// Other kernels than those before 5.1 must give the seal; without it the test has no subject.
TEST(Arena, InputsCannotBeWrittenByAnyDescriptor) {
  const Arena arena(ChildAccess::kRead, kBytes);
  if (!arena.sealed()) GTEST_SKIP() << "this kernel has no F_SEAL_FUTURE_WRITE";
  const UniqueFd again(
      open(fmt::format("/proc/self/fd/{}", arena.child_fd()).c_str(), O_RDWR | O_CLOEXEC));
  for (const int fd : {arena.child_fd(), again.get()}) {
    EXPECT_EQ(map(fd, PROT_READ | PROT_WRITE), MAP_FAILED);
    EXPECT_EQ(pwrite(fd, "x", 1, 0), -1);
  }
  void* readable = map(arena.child_fd(), PROT_READ);
  ASSERT_NE(readable, MAP_FAILED);
  EXPECT_EQ(mprotect(readable, kBytes, PROT_READ | PROT_WRITE), -1);
  munmap(readable, kBytes);
}

TEST(Arena, OutputsCanBeWrittenButNotResized) {
  const Arena arena(ChildAccess::kReadWrite, kBytes);
  EXPECT_EQ(pwrite(arena.child_fd(), "x", 1, 0), 1);
  EXPECT_EQ(arena.data()[0], std::byte{'x'});
  EXPECT_EQ(ftruncate(arena.child_fd(), 0), -1);
  EXPECT_EQ(ftruncate(arena.child_fd(), 2 * kBytes), -1);
}

}  // namespace
}  // namespace thresher::referee
