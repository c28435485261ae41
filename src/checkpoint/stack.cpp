// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/stack.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "checkpoint/state.hpp"
#include "nvfp4/check.hpp"
#include "parallel.hpp"
#include "rounding.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

constexpr int kSquare = 8;

std::uint64_t load_word(const std::uint8_t* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Swaps the upper right and the lower left part of every 2x2 square of pieces of so many bits.
template <int shift>
void swap_corners(std::uint64_t& upper, std::uint64_t& lower, std::uint64_t mask) {
  const std::uint64_t swapped = (upper >> shift ^ lower) & mask;
  lower ^= swapped;
  upper ^= swapped << shift;
}

// 8 rows of 8 bytes become 8 columns, in registers.
void transpose_square(std::uint64_t (&rows)[kSquare]) {
  for (int i = 0; i < 4; ++i) swap_corners<32>(rows[i], rows[i + 4], 0x00000000ffffffffu);
  for (const int i : {0, 1, 4, 5}) swap_corners<16>(rows[i], rows[i + 2], 0x0000ffff0000ffffu);
  for (const int i : {0, 2, 4, 6}) swap_corners<8>(rows[i], rows[i + 1], 0x00ff00ff00ff00ffu);
}

struct Transposition {
  const std::uint8_t* in;
  std::int64_t rows;
  std::int64_t columns;
  bool interleaved;
  std::uint8_t* out;

  std::uint8_t* out_row(std::int64_t row) const {
    const std::int64_t place = interleaved ? row % 2 * ((rows + 1) / 2) + row / 2 : row;
    return out + place * columns;
  }
  void one_by_one(std::int64_t row, std::int64_t column_begin, std::int64_t column_end) const {
    std::uint8_t* to = out_row(row);
    for (std::int64_t j = column_begin; j < column_end; ++j) to[j] = in[j * rows + row];
  }
  void square(std::int64_t row, std::int64_t column) const {
    std::uint64_t words[kSquare];
    for (int j = 0; j < kSquare; ++j) words[j] = load_word(in + (column + j) * rows + row);
    transpose_square(words);
    for (int i = 0; i < kSquare; ++i) std::memcpy(out_row(row + i) + column, words + i, kSquare);
  }
  // Rows [begin, end), in strips of columns that the first cache holds for all of them.
  void strip(std::int64_t begin, std::int64_t end) const {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::int64_t kColumns = 256;
    for (std::int64_t first = 0; first < columns; first += kColumns) {
      const std::int64_t last = std::min(columns, first + kColumns);
      const std::int64_t whole_rows = begin + (end - begin) / kSquare * kSquare;
      const std::int64_t whole_columns = first + (last - first) / kSquare * kSquare;
      for (std::int64_t row = begin; row < whole_rows; row += kSquare) {
        for (std::int64_t j = first; j < whole_columns; j += kSquare) square(row, j);
        for (int i = 0; i < kSquare; ++i) one_by_one(row + i, whole_columns, last);
      }
      for (std::int64_t row = whole_rows; row < end; ++row) one_by_one(row, first, last);
    }
  }
};

// One value for all experts, or one for each.
void need_scales(const State& state, const Tensor& tensor, std::int64_t expert_count) {
  const std::int64_t count = value_count(tensor);
  if (tensor.dtype == "F32" && (count == 1 || count == expert_count)) return;
  throw Error(
      fmt::format("{}: is {} of shape {}; F32, one value or one for each of {} experts, is "
                  "needed",
                  state.place(tensor), tensor.dtype, shape_text(tensor), expert_count));
}

const Tensor& need_part(const State& state, const Tensor& codes, const char* suffix) {
  const Tensor* part = state.find(codes.name + suffix);
  if (part != nullptr) return *part;
  throw Error(fmt::format("{}: there is no '{}{}' to it", state.place(codes), codes.name, suffix));
}

void locate_scales(const State& state, StoredStack& stack) {
  const std::string place = state.place(*stack.codes);
  nvfp4::check_extent(place.c_str(), {.name = "K / 2",
                                      .value = stack.codes->shape[1],
                                      .min = kBlockElements / 2,
                                      .max = kExtentMax / 2});
  stack.k_elements = 2 * stack.codes->shape[1];
  nvfp4::check_matrix_extents(place.c_str(), stack.rows, stack.k_elements);
  stack.scales = &need_part(state, *stack.codes, "_weight_scale");
  stack.global_scale = &need_part(state, *stack.codes, "_weight_scale_2");
  stack.input_scale = state.find(stack.codes->name + "_input_scale");
  if (stack.scales->dtype != "F8_E4M3") {
    throw Error(fmt::format("{}: is {}, F8_E4M3 is needed", state.place(*stack.scales),
                            stack.scales->dtype));
  }
  need_shape(state, *stack.scales,
             {stack.expert_count, stack.k_elements / kBlockElements, stack.rows});
  need_scales(state, *stack.global_scale, stack.expert_count);
  if (stack.input_scale != nullptr) need_scales(state, *stack.input_scale, stack.expert_count);
}

float scale_of_expert(const State& state, const Tensor& tensor, std::int64_t expert) {
  return load_scale(state, tensor, value_count(tensor) == 1 ? 0 : expert, false);
}

}  // namespace

void transpose_bytes(const std::uint8_t* in, std::int64_t rows, std::int64_t columns,
                     bool interleaved, std::uint8_t* out) {
  const Transposition job{in, rows, columns, interleaved, out};
  constexpr std::int64_t kRows = 64;  // a cache line of `in`
  constexpr std::int64_t kBytesPerThread = 1 << 20;
  const int threads = rows * columns < 2 * kBytesPerThread ? 1 : 0;
  for_each_in_parallel(divide_up(rows, kRows), threads, [&](std::int64_t i) {
    job.strip(i * kRows, std::min(rows, (i + 1) * kRows));
  });
}

StoredStack locate_stack(const State& state, const std::string& name, bool rows_first) {
  StoredStack stack;
  stack.rows_first = rows_first;
  stack.codes = &need_tensor(state, name);
  if (stack.codes->shape.size() != 3) {
    throw Error(fmt::format("{}: has shape {}; a stack of matrices is needed",
                            state.place(*stack.codes), shape_text(*stack.codes)));
  }
  stack.dtype = stack.codes->dtype;
  stack.expert_count = stack.codes->shape[0];
  if (stack.expert_count == 0) {
    throw Error(fmt::format("{}: has shape {}, and so no experts", state.place(*stack.codes),
                            shape_text(*stack.codes)));
  }
  stack.rows = stack.codes->shape[rows_first ? 1 : 2];
  stack.k_elements = stack.codes->shape[rows_first ? 2 : 1];
  stack.bias = state.find(name + "_bias");
  if (stack.bias != nullptr) {
    need_floats(state, *stack.bias);
    need_shape(state, *stack.bias, {stack.expert_count, stack.rows});
  }
  if (stack.dtype != "U8") return stack;
  stack.format = CheckpointFormat::kModelOpt;
  stack.dtype = "NVFP4";
  locate_scales(state, stack);
  return stack;
}

LoadedMatrix load_stacked(const State& state, const StoredStack& stack, std::int64_t expert,
                          bool interleaved, Keep& keep) {
  const std::int64_t code_columns = stack.k_elements / 2;
  const std::int64_t scale_columns = stack.k_elements / kBlockElements;
  const auto code_bytes = static_cast<std::uint64_t>(stack.rows * code_columns);
  const auto scale_bytes = static_cast<std::uint64_t>(stack.rows * scale_columns);
  const auto index = static_cast<std::uint64_t>(expert);
  const auto codes = state.bytes(*stack.codes, index * code_bytes, code_bytes);
  const auto scales = state.bytes(*stack.scales, index * scale_bytes, scale_bytes);
  const auto* scale_codes = reinterpret_cast<const std::uint8_t*>(scales.get());
  check_scales(state, *stack.scales, scale_codes, index * scale_bytes, scale_bytes);

  std::shared_ptr<std::uint8_t> memory(new std::uint8_t[code_bytes + scale_bytes],
                                       std::default_delete<std::uint8_t[]>());
  transpose_bytes(reinterpret_cast<const std::uint8_t*>(codes.get()), stack.rows, code_columns,
                  interleaved, memory.get());
  transpose_bytes(scale_codes, stack.rows, scale_columns, interleaved, memory.get() + code_bytes);

  LoadedMatrix loaded;
  loaded.view = {.codes = memory.get(),
                 .scales = memory.get() + code_bytes,
                 .rows = stack.rows,
                 .k_elements = stack.k_elements,
                 .global_scale = scale_of_expert(state, *stack.global_scale, expert)};
  if (stack.input_scale != nullptr && input_scales_are_nvfp4(state)) {
    loaded.input_scale = scale_of_expert(state, *stack.input_scale, expert);
  }
  keep.pieces.emplace_back(std::move(memory));
  if (stack.bias != nullptr) {
    std::vector<float> stored = load_values(state, *stack.bias, expert * stack.rows, stack.rows);
    auto bias = std::make_shared<std::vector<float>>();
    for (std::size_t parity = 0; interleaved && parity < 2; ++parity) {
      for (std::size_t i = parity; i < stored.size(); i += 2) bias->push_back(stored[i]);
    }
    if (!interleaved) *bias = std::move(stored);
    loaded.bias = bias->data();
    keep.pieces.emplace_back(std::move(bias));
  }
  return loaded;
}

}  // namespace thresher::checkpoint
