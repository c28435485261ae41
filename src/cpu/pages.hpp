// SPDX-License-Identifier: Apache-2.0
// Large, aligned, owned memory. Weights stream from DRAM at full speed only through 2 MiB pages, so
// allocations of that size ask for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "thresher/error.hpp"

namespace thresher::cpu {

class PageStore;

class Pages {
 public:
  Pages() = default;
  // 64-byte aligned at least; contents are indeterminate. Throws NoMemory.
  explicit Pages(std::size_t bytes);

  std::uint8_t* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  friend PageStore;
  Pages(std::shared_ptr<std::uint8_t> memory, std::size_t bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}

  std::shared_ptr<std::uint8_t> memory_;
  std::size_t bytes_ = 0;
};

// Deals out pieces of larger memory, so that many that are smaller than a page of 2 MiB lie in such
// pages all the same. Memory goes back when the last piece of it does.
class PageStore {
 public:
  Pages take(std::size_t bytes);

 private:
  std::mutex turn_;
  Pages current_;
  std::size_t taken_ = 0;  // of the current one
};

// Fills memory so that no two pages are alike. Untouched ones all map to one page of zeros, and the
// host of a virtual machine may merge equal ones: reading either finds a cache and not the memory.
// Another `salt` gives other pages.
void make_distinct(std::uint8_t* data, std::int64_t byte_count, int salt);

}  // namespace thresher::cpu
