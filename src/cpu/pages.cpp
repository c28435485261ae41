// SPDX-License-Identifier: Apache-2.0
#include "cpu/pages.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "rounding.hpp"

namespace thresher::cpu {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr std::size_t kAlignmentBytes = 64;
constexpr std::size_t kStoreBytes = std::size_t{32} << 20;
// No object is larger, and what is not can be rounded up.
constexpr std::size_t kPagesBytesMax = PTRDIFF_MAX;

[[noreturn]] void fail_for(std::size_t bytes) {
  throw NoMemory(fmt::format("cannot allocate {} bytes of memory", bytes));
}

}  // namespace

Pages::Pages(std::size_t bytes) : bytes_(bytes) {
  if (bytes > kPagesBytesMax) fail_for(bytes);
  const bool huge = bytes >= kHugePageBytes;
  const std::size_t alignment = huge ? kHugePageBytes : kAlignmentBytes;
  const std::size_t rounded = round_up(bytes == 0 ? 1 : bytes, alignment);
  auto* memory = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, rounded));
  if (memory == nullptr) fail_for(bytes);
  memory_.reset(memory, [](std::uint8_t* owned) { std::free(owned); });
  // Advice only: where it is refused, ordinary pages do.
  if (huge) madvise(memory, rounded, MADV_HUGEPAGE);
}

Pages PageStore::take(std::size_t bytes) {
  if (bytes > kStoreBytes / 4) return Pages(bytes);
  const std::size_t rounded = round_up(bytes, kAlignmentBytes);
  const std::lock_guard turn(turn_);
  if (rounded > current_.bytes() - taken_) {
    current_ = Pages(kStoreBytes);
    taken_ = 0;
  }
  std::uint8_t* piece = current_.data() + taken_;
  taken_ += rounded;
  return {std::shared_ptr<std::uint8_t>(current_.memory_, piece), bytes};
}

void make_distinct(std::uint8_t* data, std::int64_t byte_count, int salt) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  const std::uint64_t base = static_cast<std::uint64_t>(salt) << 48;
  for (std::int64_t i = 0; i + 8 <= byte_count; i += 8) {
    const std::uint64_t word = (base + static_cast<std::uint64_t>(i)) * kOdd;
    std::memcpy(data + i, &word, sizeof word);
  }
}

}  // namespace thresher::cpu
