// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "assert.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

[[noreturn]] void throw_system(const std::filesystem::path& path, const char* what) {
  throw Error(fmt::format("{}: cannot {} it: {}", path.string(), what, std::strerror(errno)));
}

std::uint64_t regular_size(int descriptor, const std::filesystem::path& path) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) throw_system(path, "look at");
  if (!S_ISREG(status.st_mode)) throw Error(fmt::format("{}: is not a file", path.string()));
  return static_cast<std::uint64_t>(status.st_size);
}

// Large reads, but not above what one call may be asked for.
constexpr std::uint64_t kReadBytesMax = std::uint64_t{1} << 30;

}  // namespace

File::File(const std::filesystem::path& path, bool mapped) : path_(path), mapped_(mapped) {
  // Not blocking, so that a named pipe is refused and not waited for.
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw_system(path, "open");
  try {
    size_ = regular_size(descriptor_, path);
    if (mapped_ && size_ > 0) map();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

File::~File() { close(descriptor_); }

void File::map() {
  const std::uint64_t size = size_;
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (memory == MAP_FAILED) throw_system(path_, "map");
  mapping_ = {static_cast<const std::byte*>(memory),
              [memory, size](const std::byte*) { munmap(memory, size); }};
}

std::shared_ptr<const std::byte> File::bytes(std::uint64_t offset, std::uint64_t count) const {
  THRESHER_ASSERT(offset <= size_ && count <= size_ - offset);
  // A touch of a mapped page makes the system read many after it: too much for a number or two.
  constexpr std::uint64_t kSmallBytes = 4096;
  if (!mapped_ || count <= kSmallBytes) return read(offset, count);
  // The mapping is kept by whoever holds a piece of it.
  return {mapping_, mapping_.get() + offset};
}

// Only ever a hint: nothing follows from its failure.
void File::prefetch(std::uint64_t offset, std::uint64_t count) const {
  posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(count),
                POSIX_FADV_WILLNEED);
}

std::shared_ptr<const std::byte> File::read(std::uint64_t offset, std::uint64_t count) const {
  // new and not make_shared: nobody needs these bytes to be zero first.
  std::shared_ptr<std::byte> memory(new std::byte[std::max<std::uint64_t>(count, 1)],
                                    std::default_delete<std::byte[]>());
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t piece = std::min(count - done, kReadBytesMax);
    const ssize_t got =
        pread(descriptor_, memory.get() + done, piece, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system(path_, "read");
    if (got == 0) {
      throw Error(fmt::format("{}: ends at byte {}, it was {} bytes long when it was opened",
                              path_.string(), offset + done, size_));
    }
    done += static_cast<std::uint64_t>(got);
  }
  return memory;
}

std::string read_text(const std::filesystem::path& path, std::uint64_t bytes_max) {
  const File file(path, false);
  if (file.size() > bytes_max) {
    throw Error(fmt::format("{}: {} bytes are more than the {} that such a file may have",
                            path.string(), file.size(), bytes_max));
  }
  const std::shared_ptr<const std::byte> bytes = file.bytes(0, file.size());
  return {reinterpret_cast<const char*>(bytes.get()), file.size()};
}

}  // namespace thresher::checkpoint
