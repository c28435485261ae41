// SPDX-License-Identifier: Apache-2.0
// What kernels may touch of the host's memory: the emulator's stand-in for device memory. Global
// loads, stores and bulk copies outside these ranges are faults. Who touches what in which order is
// followed elsewhere (global_history.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace thresher::emulator {

class DeviceMemory {
 public:
  // Memory of its own, aligned to 256 bytes as a driver's allocations are, and filled with 0xff
  // bytes: NaN in every format, so that a read of what nobody wrote shows.
  void* allocate(std::size_t bytes, std::string name = "");
  // Throws Error where `address` did not come from allocate().
  void release(void* address);

  // The caller's memory, which must outlive its registration. Ranges must not overlap.
  void add(void* address, std::size_t bytes, std::string name = "");
  void add_read_only(const void* address, std::size_t bytes, std::string name = "");
  // A copy, to be read, of what stands at `origin` on the device: accesses count as made there.
  void add_copy(const void* address, std::size_t bytes, std::string name, const void* origin);
  void remove(const void* address);

  // Why an access of so many bytes is not allowed, or nothing.
  std::optional<std::string> fault(const void* address, std::size_t bytes, bool write) const;

  // Of an address that is allowed: where accesses to it count as made; and in words,
  // "workspace + 16".
  std::uintptr_t followed_at(const void* address) const;
  std::string place(const void* address) const;

 private:
  struct Range {
    std::uintptr_t end = 0;
    bool read_only = false;
    std::uintptr_t origin = 0;
    std::string name;
    std::unique_ptr<std::byte, void (*)(void*)> owned{nullptr, nullptr};
  };
  using Ranges = std::map<std::uintptr_t, Range>;

  void insert(const void* address, std::size_t bytes, Range range);
  Ranges::const_iterator range_of(const void* address) const;  // of an allowed one
  std::string describe(Ranges::const_iterator range) const;

  Ranges ranges_;  // by first byte
};

}  // namespace thresher::emulator
