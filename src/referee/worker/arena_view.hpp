// SPDX-License-Identifier: Apache-2.0
// An arena as a contestant sees it, in shared memory or on a device: addresses of what the tables
// tell of, checked against its bounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "referee/protocol.hpp"
#include "referee/worker/host.hpp"

namespace thresher::referee {

class ArenaView {
 public:
  ArenaView() = default;
  ArenaView(std::byte* data, std::int64_t bytes) : data_(data), bytes_(bytes) {}

  // Throws Error unless so many values lie there.
  template <typename Value>
  Value* at(std::int64_t offset, std::int64_t count) const {
    check_range(offset, count, sizeof(Value));
    return reinterpret_cast<Value*>(data_ + offset);
  }

  Nvfp4View matrix(std::int64_t codes, std::int64_t scales, std::int64_t rows, std::int64_t k,
                   float global_scale) const;
  HostedWeights weights(Op op, const GroupRecord& record) const;

 private:
  void check_range(std::int64_t offset, std::int64_t count, std::int64_t value_bytes) const;

  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

// The problem of a prepare request. Tables lie in shared memory.
Problem read_problem(const ArenaView& tables, const Request& request);

// What a group of `problem` reads and writes in a call.
HostedCall read_call(const ArenaView& input, const ArenaView& output, const Problem& problem,
                     const Group& group, const CallRecord& record);

// One of the referee's arenas, mapped from the descriptor that every contestant inherits.
class Mapping {
 public:
  Mapping(int fd, std::int64_t bytes, int protection);
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  ArenaView view() const { return {data_, bytes_}; }

 private:
  std::int64_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace thresher::referee
