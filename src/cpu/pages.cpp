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

}  // namespace

Pages::Pages(std::size_t bytes) : bytes_(bytes) {
  const bool huge = bytes >= kHugePageBytes;
  const std::size_t alignment = huge ? kHugePageBytes : kAlignmentBytes;
  const std::size_t rounded = round_up(bytes == 0 ? 1 : bytes, alignment);
  memory_.reset(static_cast<std::uint8_t*>(std::aligned_alloc(alignment, rounded)));
  if (memory_ == nullptr) throw NoMemory(fmt::format("cannot allocate {} bytes of memory", bytes));
  // Advice only: where it is refused, ordinary pages do.
  if (huge) madvise(memory_.get(), rounded, MADV_HUGEPAGE);
}

void Pages::Free::operator()(std::uint8_t* memory) const { std::free(memory); }

void make_distinct(std::uint8_t* data, std::int64_t byte_count, int salt) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  const std::uint64_t base = static_cast<std::uint64_t>(salt) << 48;
  for (std::int64_t i = 0; i + 8 <= byte_count; i += 8) {
    const std::uint64_t word = (base + static_cast<std::uint64_t>(i)) * kOdd;
    std::memcpy(data + i, &word, sizeof word);
  }
}

}  // namespace thresher::cpu
