// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/stage.hpp"

#include <algorithm>
#include <cstring>

#include "assert.hpp"
#include "referee/stage/eviction.hpp"
#include "referee/stage/stage_layout.hpp"

namespace thresher::referee {
namespace {

constexpr std::int64_t kPlaceCount = 3;
constexpr std::int64_t kJitterCount = 64;  // beginnings within a place
constexpr std::int64_t kJitterBytes = kJitterCount * kAlignmentBytes;

std::int64_t call_bytes(const Problem& problem) {
  return table_bytes<CallRecord>(problem.groups.size()) + activation_bytes(problem);
}

std::span<std::uint8_t> values_of(const Problem& problem, GroupInputs& group) {
  if (problem.activations == Activations::kNvfp4) return group.a.codes;
  return {reinterpret_cast<std::uint8_t*>(group.a16.data()), group.a16.size() * 2};
}

std::size_t block_bytes(const Problem& problem) {
  return problem.activations == Activations::kNvfp4 ? 8 : 32;
}

// Scales of 16-bit activations are an empty matrix, and stay one.
void rotate_row(std::span<std::uint8_t> matrix, std::uint64_t row_count, std::uint64_t row,
                std::uint64_t bytes) {
  if (matrix.empty()) return;
  const std::size_t row_bytes = matrix.size() / row_count;
  const std::span<std::uint8_t> turned = matrix.subspan(row * row_bytes, row_bytes);
  std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(bytes), turned.end());
}

// Turns the signs that draw() says. k is a multiple of 16, so rows and blocks are whole words.
template <typename Draw>
void flip_signs(const Problem& problem, std::span<std::uint8_t> bytes, Draw draw) {
  const bool is_nvfp4 = problem.activations == Activations::kNvfp4;
  const std::uint64_t sign_bits = is_nvfp4 ? 0x8888888888888888u : 0x8000800080008000u;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    word ^= draw() & sign_bits;
    std::memcpy(bytes.data() + i, &word, sizeof word);
  }
}

}  // namespace

Request prepare_request(const StagedProblem& staged, std::uint64_t token) {
  return {.kind = RequestKind::kPrepare,
          .id = staged.id,
          .op = staged.problem.op,
          .activations = staged.problem.activations,
          .output = staged.problem.output,
          .group_count = static_cast<std::int64_t>(staged.problem.groups.size()),
          .table_offset = staged.table_offset,
          .token = token};
}

CpuStage::Sizes CpuStage::sizes_of(std::span<const Problem> problems, Room room) {
  Sizes sizes;
  for (const Problem& problem : problems) {
    const std::int64_t bytes = weights_bytes(problem);
    sizes.weights = room == Room::kForAll ? sizes.weights + bytes : std::max(sizes.weights, bytes);
    sizes.call = std::max(sizes.call, call_bytes(problem) + kJitterBytes);
  }
  return sizes;
}

CpuStage::CpuStage(std::span<const Problem> problems, Room room)
    : CpuStage(sizes_of(problems, room)) {}

CpuStage::CpuStage(Sizes sizes)
    : sizes_(sizes),
      arena_(ChildAccess::kRead,
             static_cast<std::size_t>(sizes.weights + kPlaceCount * sizes.call)) {}

StagedProblem CpuStage::put(const Problem& problem, Inputs inputs) {
  StagedProblem staged{.id = next_id_++, .problem = problem, .inputs = std::move(inputs)};
  staged.table_offset = used_;
  Cursor cursor(bytes_of(arena_), used_ + table_bytes<GroupRecord>(problem.groups.size()));
  put_table(bytes_of(arena_), used_,
            walk_weights(problem, staged.inputs, [&](const void* data, std::size_t bytes) {
              return cursor.copy(data, bytes);
            }));
  used_ = cursor.offset();
  staged.weights_end = used_;
  THRESHER_ASSERT(used_ <= sizes_.weights);
  return staged;
}

std::int64_t CpuStage::draw_place(Random& random) const {
  return sizes_.weights + static_cast<std::int64_t>(random.below(kPlaceCount)) * sizes_.call +
         static_cast<std::int64_t>(random.below(kJitterCount)) * kAlignmentBytes;
}

std::int64_t CpuStage::put_call(const StagedProblem& staged, std::span<const OutputPlace> outputs,
                                std::int64_t place) {
  Cursor cursor(bytes_of(arena_), place + table_bytes<CallRecord>(outputs.size()));
  std::vector<CallRecord> records =
      walk_call(staged.problem, staged.inputs,
                [&](const void* data, std::size_t bytes) { return cursor.copy(data, bytes); });
  for (std::size_t g = 0; g < records.size(); ++g) {
    records[g].c = outputs[g].c;
    records[g].c_stride = outputs[g].c_stride;
  }
  put_table(bytes_of(arena_), place, records);
  return place;
}

void CpuStage::flush_call(const StagedProblem& staged, std::int64_t place,
                          bool with_weights) const {
  const std::span<const std::byte> all{arena_.data(), arena_.bytes()};
  const auto flush = [&](std::int64_t begin, std::int64_t bytes) {
    flush_lines(all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes)));
  };
  flush(place, call_bytes(staged.problem));
  if (with_weights) flush(staged.table_offset, staged.weights_end - staged.table_offset);
}

bool CpuStage::call_intact(const StagedProblem& staged, std::int64_t place) const {
  Cursor cursor(bytes_of(arena_), place + table_bytes<CallRecord>(staged.problem.groups.size()));
  walk_call(staged.problem, staged.inputs,
            [&](const void* data, std::size_t bytes) { return cursor.compare(data, bytes); });
  return cursor.equal();
}

bool CpuStage::weights_intact(const StagedProblem& staged) const {
  Cursor cursor(bytes_of(arena_),
                staged.table_offset + table_bytes<GroupRecord>(staged.problem.groups.size()));
  walk_weights(staged.problem, staged.inputs,
               [&](const void* data, std::size_t bytes) { return cursor.compare(data, bytes); });
  return cursor.equal();
}

void redraw_activations(const Problem& problem, Inputs& inputs, Random& random) {
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const std::span<std::uint8_t> values = values_of(problem, inputs.groups[g]);
    const std::span<std::uint8_t> scales = inputs.groups[g].a.scales;
    const auto block_count = static_cast<std::uint64_t>(problem.groups[g].k / kBlockElements);
    const auto row_count = static_cast<std::uint64_t>(problem.groups[g].m);
    for (std::uint64_t row = 0; row < row_count; ++row) {
      const std::uint64_t turn = random.below(block_count);
      rotate_row(values, row_count, row, turn * block_bytes(problem));
      rotate_row(scales, row_count, row, turn);
    }
    flip_signs(problem, values, [&] { return random.next(); });
  }
}

void turn_late_blocks(const Problem& problem, Inputs& inputs, Random& random) {
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const std::span<std::uint8_t> bytes = values_of(problem, inputs.groups[g]);
    const auto block_count = static_cast<std::uint64_t>(problem.groups[g].k / kBlockElements);
    const std::uint64_t late_count = std::max<std::uint64_t>(1, block_count / 4);
    const auto row_count = static_cast<std::uint64_t>(problem.groups[g].m);
    for (std::uint64_t row = 0; row < row_count; ++row) {
      const std::uint64_t block = (row + 1) * block_count - 1 - random.below(late_count);
      flip_signs(problem, bytes.subspan(block * block_bytes(problem), block_bytes(problem)),
                 [] { return ~0ull; });
    }
  }
}

}  // namespace thresher::referee
