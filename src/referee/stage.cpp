// SPDX-License-Identifier: Apache-2.0
#include "referee/stage.hpp"

#include <algorithm>
#include <cstring>

#include "assert.hpp"

namespace thresher::referee {
namespace {

constexpr std::int64_t kPlaceCount = 3;
constexpr std::int64_t kJitterCount = 64;  // beginnings within a place
constexpr std::int64_t kJitterBytes = kJitterCount * kAlignmentBytes;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

// Walks over the buffers of the weights, or of one call, in the order in which they lie in the
// arena. Measuring, writing and comparing are the same walk.
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

std::int64_t matrix_bytes(std::int64_t rows, std::int64_t k) {
  return aligned(rows * k / 2) + aligned(rows * k / kBlockElements);
}

std::int64_t weights_bytes(const Problem& problem) {
  const auto group_count = static_cast<std::int64_t>(problem.groups.size());
  std::int64_t bytes = aligned(group_count * static_cast<std::int64_t>(sizeof(GroupRecord)));
  for (const Group& group : problem.groups) {
    bytes += matrix_bytes(group.n, group.k) * (problem.op == Op::kDual ? 2 : 1);
  }
  return bytes;
}

std::int64_t call_bytes(const Problem& problem) {
  const auto group_count = static_cast<std::int64_t>(problem.groups.size());
  std::int64_t bytes = aligned(group_count * static_cast<std::int64_t>(sizeof(CallRecord)));
  for (const Group& group : problem.groups) {
    bytes += problem.activations == Activations::kNvfp4 ? matrix_bytes(group.m, group.k)
                                                        : aligned(group.m * group.k * 2);
  }
  return bytes;
}

// Says where each buffer lies, and copies it there or compares it with what lies there.
class Cursor {
 public:
  Cursor(const Arena& arena, std::int64_t offset) : arena_(arena), offset_(offset) {}

  std::int64_t copy(const void* data, std::size_t bytes) {
    const std::int64_t at = advance(bytes);
    if (bytes > 0) std::memcpy(arena_.data() + at, data, bytes);
    return at;
  }

  std::int64_t compare(const void* data, std::size_t bytes) {
    const std::int64_t at = advance(bytes);
    if (bytes > 0) equal_ = equal_ && std::memcmp(arena_.data() + at, data, bytes) == 0;
    return at;
  }

  bool equal() const { return equal_; }
  std::int64_t offset() const { return offset_; }

 private:
  std::int64_t advance(std::size_t bytes) {
    const std::int64_t at = offset_;
    offset_ += aligned(static_cast<std::int64_t>(bytes));
    THRESHER_ASSERT(offset_ <= static_cast<std::int64_t>(arena_.bytes()));
    return at;
  }

  const Arena& arena_;
  std::int64_t offset_;
  bool equal_ = true;
};

// A table lies in front of the buffers it points to.
template <typename Record>
std::int64_t table_bytes(std::size_t group_count) {
  return aligned(static_cast<std::int64_t>(group_count * sizeof(Record)));
}

template <typename Record>
void put_table(const Arena& arena, std::int64_t offset, const std::vector<Record>& records) {
  std::memcpy(arena.data() + offset, records.data(), records.size() * sizeof(Record));
}

std::span<std::uint8_t> activation_bytes(const Problem& problem, GroupInputs& group) {
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

Stage::Sizes Stage::sizes_of(std::span<const Problem> problems, Room room) {
  Sizes sizes;
  for (const Problem& problem : problems) {
    const std::int64_t bytes = weights_bytes(problem);
    sizes.weights = room == Room::kForAll ? sizes.weights + bytes : std::max(sizes.weights, bytes);
    sizes.call = std::max(sizes.call, call_bytes(problem) + kJitterBytes);
  }
  return sizes;
}

Stage::Stage(std::span<const Problem> problems, Room room) : Stage(sizes_of(problems, room)) {}

Stage::Stage(Sizes sizes)
    : sizes_(sizes),
      arena_(ChildAccess::kRead,
             static_cast<std::size_t>(sizes.weights + kPlaceCount * sizes.call)) {}

StagedProblem Stage::put(const Problem& problem, Inputs inputs) {
  StagedProblem staged{.id = next_id_++, .problem = problem, .inputs = std::move(inputs)};
  staged.table_offset = used_;
  Cursor cursor(arena_, used_ + table_bytes<GroupRecord>(problem.groups.size()));
  put_table(arena_, used_,
            walk_weights(problem, staged.inputs, [&](const void* data, std::size_t bytes) {
              return cursor.copy(data, bytes);
            }));
  used_ = cursor.offset();
  THRESHER_ASSERT(used_ <= sizes_.weights);
  return staged;
}

void Stage::clear() { used_ = 0; }

std::int64_t Stage::draw_place(Random& random) const {
  return sizes_.weights + static_cast<std::int64_t>(random.below(kPlaceCount)) * sizes_.call +
         static_cast<std::int64_t>(random.below(kJitterCount)) * kAlignmentBytes;
}

std::int64_t Stage::put_call(const StagedProblem& staged, std::span<const OutputPlace> outputs,
                             std::int64_t place) {
  Cursor cursor(arena_, place + table_bytes<CallRecord>(outputs.size()));
  std::vector<CallRecord> records =
      walk_call(staged.problem, staged.inputs,
                [&](const void* data, std::size_t bytes) { return cursor.copy(data, bytes); });
  for (std::size_t g = 0; g < records.size(); ++g) {
    records[g].c = outputs[g].c;
    records[g].c_stride = outputs[g].c_stride;
  }
  put_table(arena_, place, records);
  return place;
}

bool Stage::call_intact(const StagedProblem& staged, std::int64_t place) const {
  Cursor cursor(arena_, place + table_bytes<CallRecord>(staged.problem.groups.size()));
  walk_call(staged.problem, staged.inputs,
            [&](const void* data, std::size_t bytes) { return cursor.compare(data, bytes); });
  return cursor.equal();
}

bool Stage::weights_intact(const StagedProblem& staged) const {
  Cursor cursor(arena_,
                staged.table_offset + table_bytes<GroupRecord>(staged.problem.groups.size()));
  walk_weights(staged.problem, staged.inputs,
               [&](const void* data, std::size_t bytes) { return cursor.compare(data, bytes); });
  return cursor.equal();
}

void redraw_activations(const Problem& problem, Inputs& inputs, Random& random) {
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const std::span<std::uint8_t> values = activation_bytes(problem, inputs.groups[g]);
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
    const std::span<std::uint8_t> bytes = activation_bytes(problem, inputs.groups[g]);
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
