// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/eviction.hpp"

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

}  // namespace

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
