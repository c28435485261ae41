// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/eviction.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "cpu/features.hpp"
#include "cpu/pages.hpp"
#include "hide.hpp"

namespace thresher::referee {
namespace {

constexpr std::int64_t kLastCacheBytesMin = std::int64_t{16} << 20;  // where it is not reported
constexpr std::size_t kLineBytes = 64;

const cpu::Pages& walked_pages() {
  static const cpu::Pages pages = [] {
    const auto cache_bytes = std::max(kLastCacheBytesMin, cpu::caches().l3_bytes);
    cpu::Pages made(static_cast<std::size_t>(2 * cache_bytes));
    cpu::make_distinct(made.data(), static_cast<std::int64_t>(made.bytes()), 0);
    return made;
  }();
  return pages;
}

void walk(const std::uint8_t* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes; i += kLineBytes) sum += data[i];
  use(sum);
}

#if defined(__x86_64__)
constexpr unsigned kClflushoptBit = 1u << 23;  // of ebx of leaf 7

bool has_clflushopt() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & kClflushoptBit) != 0;
}

// The older instruction waits for each line before the next.
__attribute__((target("clflushopt"))) void flush_many(const std::byte* begin,
                                                      const std::byte* end) {
  for (const std::byte* line = begin; line < end; line += kLineBytes) {
    _mm_clflushopt(const_cast<std::byte*>(line));
  }
}

void flush_one_by_one(const std::byte* begin, const std::byte* end) {
  for (const std::byte* line = begin; line < end; line += kLineBytes) _mm_clflush(line);
}
#endif

}  // namespace

void flush_lines(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool many = has_clflushopt();
  const std::size_t before = reinterpret_cast<std::uintptr_t>(bytes.data()) % kLineBytes;
  const std::byte* begin = bytes.data() - before;
  (many ? flush_many : flush_one_by_one)(begin, bytes.data() + bytes.size());
  _mm_mfence();
#elif defined(__aarch64__)
  for (std::size_t i = 0; i < bytes.size(); i += kLineBytes) {
    asm volatile("dc civac, %0" : : "r"(bytes.data() + i) : "memory");
  }
  asm volatile("dsb sy" : : : "memory");
#else
  if (!bytes.empty()) evict_caches();
#endif
}

void evict_caches() {
  const cpu::Pages& pages = walked_pages();
  const auto count = static_cast<std::size_t>(cpu::usable_core_count());
  const std::size_t share = pages.bytes() / count;
  // Threads of this call only: a pool's would still spin when the timed call begins.
  std::vector<std::jthread> walkers;
  for (std::size_t i = 1; i < count; ++i) {
    walkers.emplace_back([&pages, share, i] { walk(pages.data() + i * share, share); });
  }
  walk(pages.data(), share);
}

}  // namespace thresher::referee
