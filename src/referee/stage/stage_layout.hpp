// SPDX-License-Identifier: Apache-2.0
// In which order the buffers of a problem lie in an input arena. Measuring, writing and comparing
// are one walk over them with different visitors: visit(data, bytes) says where a buffer lies.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "assert.hpp"
#include "gemm/inputs.hpp"
#include "referee/protocol.hpp"
#include "referee/stage/arena.hpp"
#include "referee/stage/stage.hpp"
#include "rounding.hpp"

namespace thresher::referee {

inline std::int64_t aligned(std::int64_t bytes) { return round_up(bytes, kAlignmentBytes); }

inline std::span<std::byte> bytes_of(const Arena& arena) { return {arena.data(), arena.bytes()}; }

template <typename Visit>
void walk_matrix(const Nvfp4Matrix& matrix, Visit& visit, std::int64_t& codes,
                 std::int64_t& scales) {
  codes = visit(matrix.codes.data(), matrix.codes.size());
  scales = visit(matrix.scales.data(), matrix.scales.size());
}

template <typename Visit>
std::vector<GroupRecord> walk_weights(const Problem& problem, const Inputs& inputs, Visit visit) {
  std::vector<GroupRecord> records;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const GroupInputs& group = inputs.groups[g];
    GroupRecord record{
        .m = problem.groups[g].m, .n = problem.groups[g].n, .k = problem.groups[g].k};
    record.b_global_scale = group.b.global_scale;
    walk_matrix(group.b, visit, record.b_codes, record.b_scales);
    if (problem.op == Op::kDual) {
      record.up_global_scale = group.b_up.global_scale;
      walk_matrix(group.b_up, visit, record.up_codes, record.up_scales);
    }
    records.push_back(record);
  }
  return records;
}

template <typename Visit>
std::vector<CallRecord> walk_call(const Problem& problem, const Inputs& inputs, Visit visit) {
  std::vector<CallRecord> records;
  for (const GroupInputs& group : inputs.groups) {
    CallRecord record{
        .a_global_scale = group.a.global_scale, .alpha = group.alpha, .alpha_up = group.alpha_up};
    if (problem.activations == Activations::kNvfp4) {
      walk_matrix(group.a, visit, record.a, record.a_scales);
    } else {
      record.a = visit(group.a16.data(), group.a16.size() * sizeof(std::uint16_t));
    }
    records.push_back(record);
  }
  return records;
}

// A table lies in front of the buffers it points to.
template <typename Record>
std::int64_t table_bytes(std::size_t count) {
  return aligned(static_cast<std::int64_t>(count * sizeof(Record)));
}

template <typename Record>
void put_table(std::span<std::byte> memory, std::int64_t offset,
               const std::vector<Record>& records) {
  std::memcpy(memory.data() + offset, records.data(), records.size() * sizeof(Record));
}

inline std::int64_t matrix_bytes(std::int64_t rows, std::int64_t k) {
  return aligned(rows * k / 2) + aligned(rows * k / kBlockElements);
}

// With the table.
inline std::int64_t weights_bytes(const Problem& problem) {
  std::int64_t bytes = table_bytes<GroupRecord>(problem.groups.size());
  for (const Group& group : problem.groups) {
    bytes += matrix_bytes(group.n, group.k) * (problem.op == Op::kDual ? 2 : 1);
  }
  return bytes;
}

inline std::int64_t activation_bytes(const Problem& problem) {
  std::int64_t bytes = 0;
  for (const Group& group : problem.groups) {
    bytes += problem.activations == Activations::kNvfp4 ? matrix_bytes(group.m, group.k)
                                                        : aligned(group.m * group.k * 2);
  }
  return bytes;
}

// Says where each buffer lies, and copies it there or compares it with what lies there.
class Cursor {
 public:
  Cursor(std::span<std::byte> memory, std::int64_t offset) : memory_(memory), offset_(offset) {}

  std::int64_t copy(const void* data, std::size_t bytes) {
    const std::int64_t at = advance(bytes);
    if (bytes > 0) std::memcpy(memory_.data() + at, data, bytes);
    return at;
  }

  std::int64_t compare(const void* data, std::size_t bytes) {
    const std::int64_t at = advance(bytes);
    if (bytes > 0) equal_ = equal_ && std::memcmp(memory_.data() + at, data, bytes) == 0;
    return at;
  }

  bool equal() const { return equal_; }
  std::int64_t offset() const { return offset_; }

 private:
  std::int64_t advance(std::size_t bytes) {
    const std::int64_t at = offset_;
    offset_ += aligned(static_cast<std::int64_t>(bytes));
    THRESHER_ASSERT(offset_ <= static_cast<std::int64_t>(memory_.size()));
    return at;
  }

  std::span<std::byte> memory_;
  std::int64_t offset_;
  bool equal_ = true;
};

}  // namespace thresher::referee
