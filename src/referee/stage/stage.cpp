// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/stage.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "assert.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"
#include "referee/stage/eviction.hpp"
#include "referee/stage/stage_layout.hpp"

namespace thresher::referee {
namespace {

constexpr std::int64_t kPlaceCount = 3;
constexpr std::int64_t kExactSumsMax = 13000;
constexpr std::int64_t kExactShortSumsMax = 110000;
constexpr int kExactIntegerMax = 12;
constexpr std::uint64_t kExactOneIn = 8;
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

// Natural weights are multiples of 4 (a code's 1/2 times a scale's 8) with a root mean square of
// about 530. By Cauchy and Schwarz sum |a*b| <= |a|*|b|, about k * 530 * (rms of a); in units of
// the least product it must stay below 2^24, and every partial sum is exact:
//   activations                 unit   rms    k up to
//   all codes, scale 1          2      2.9    21700
//   integers -12..12            4      7.2    17500
//   -1, 0, 1                    4      0.8    150000
// of which a quarter is kept back, for rows that are larger than most.
void make_factors_exact(Inputs& inputs) {
  const auto to_power = [](float& factor) {
    factor = std::copysign(std::ldexp(1.0f, std::ilogb(factor)), factor);
  };
  for (GroupInputs& group : inputs.groups) {
    for (float* factor : {&group.a.global_scale, &group.b.global_scale, &group.b_up.global_scale,
                          &group.alpha, &group.alpha_up}) {
      to_power(*factor);
    }
  }
}

bool has_exact_activations(const Problem& problem) {
  return std::all_of(problem.groups.begin(), problem.groups.end(),
                     [](const Group& group) { return group.k <= kExactShortSumsMax; });
}

void draw_exact_activations(const Problem& problem, Inputs& inputs, Random& random) {
  constexpr std::uint8_t kScaleOfOne = nvfp4::encode_e4m3(1.0);
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    GroupInputs& group = inputs.groups[g];
    const bool is_long = problem.groups[g].k > kExactSumsMax;
    for (std::uint8_t& pair : group.a.codes) {
      // Of -1, 0 and 1 (codes 10, 0 or 8, and 2) by the sign and one bit.
      const auto codes = static_cast<std::uint8_t>(random.below(256));
      pair = is_long ? codes & 0xaa : codes;
    }
    std::fill(group.a.scales.begin(), group.a.scales.end(), kScaleOfOne);
    const int most = is_long ? 1 : kExactIntegerMax;
    for (std::uint16_t& value : group.a16) {
      const int drawn = random.between(-most, most);
      value = problem.activations == Activations::kFp16 ? nvfp4::double_to_fp16(drawn)
                                                        : nvfp4::double_to_bf16(drawn);
    }
  }
}

bool toss_exact(const Problem& problem, Random& random) {
  return random.below(kExactOneIn) == 0 && has_exact_activations(problem);
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
