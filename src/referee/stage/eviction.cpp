// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/eviction.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
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

// One of all where the kernel does not say which cores share it.
std::map<std::string, std::vector<int>> cores_by_last_cache() {
  std::map<std::string, std::vector<int>> caches;
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) CPU_SET(0, &usable);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &usable)) continue;
    std::string sharers;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(core) +
                       "/cache/index3/shared_cpu_list");
    std::getline(file, sharers);
    caches[sharers].push_back(core);
  }
  return caches;
}

void stay_on(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
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

std::vector<WalkShare> walk_shares(const std::map<std::string, std::vector<int>>& caches,
                                   const std::vector<int>& cores, std::size_t bytes) {
  std::vector<WalkShare> shares;
  for (const auto& [name, sharers] : caches) {
    const bool wanted = cores.empty() || std::any_of(sharers.begin(), sharers.end(), [&](int core) {
                          return std::find(cores.begin(), cores.end(), core) != cores.end();
                        });
    if (!wanted) continue;
    const std::size_t share = bytes / sharers.size();
    for (std::size_t i = 0; i < sharers.size(); ++i)
      shares.push_back({sharers[i], i * share, share});
  }
  return shares;
}

void evict_caches(const std::vector<int>& cores) {
  static const std::map<std::string, std::vector<int>> caches = cores_by_last_cache();
  const cpu::Pages& pages = walked_pages();
  // Threads of this call only: a pool's would still spin when the timed call begins.
  std::vector<std::jthread> walkers;
  for (const WalkShare& share : walk_shares(caches, cores, pages.bytes())) {
    walkers.emplace_back([&pages, share] {
      // Elsewhere it would fill another cache.
      stay_on(share.core);
      walk(pages.data() + share.begin, share.bytes);
    });
  }
}

}  // namespace thresher::referee
