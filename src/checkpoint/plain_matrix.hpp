// SPDX-License-Identifier: Apache-2.0
// A matrix in bf16, fp16 or fp32: a tensor, or a part of a stack of them, in whatever order its
// values lie.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "checkpoint/matrix.hpp"
#include "checkpoint/state.hpp"
#include "parallel.hpp"
#include "rounding.hpp"

namespace thresher::checkpoint {

// Value (row, k) is element first + row * row_stride + k * k_stride of the tensor.
struct PlainMatrix {
  const Tensor* tensor = nullptr;
  std::int64_t rows = 0;
  std::int64_t k_elements = 0;
  std::int64_t first = 0;
  std::int64_t row_stride = 0;
  std::int64_t k_stride = 1;

  bool is_row_major() const { return k_stride == 1 && row_stride == k_elements; }
  // Of the tensor, from `first` to the last one that is the matrix's.
  std::int64_t element_span() const {
    return (rows - 1) * row_stride + (k_elements - 1) * k_stride + 1;
  }
};

inline bool is_plain_type(std::string_view dtype) {
  return dtype == "BF16" || dtype == "F16" || dtype == "F32";
}

// Elements [first, first + count) of a tensor, aligned to their type.
template <typename Value, class Call>
auto with_typed_elements(const State& state, const Tensor& tensor, std::int64_t first,
                         std::int64_t count, const Call& work) {
  const auto size = static_cast<std::size_t>(count);
  const std::shared_ptr<const std::byte> bytes =
      state.bytes(tensor, static_cast<std::uint64_t>(first) * sizeof(Value), size * sizeof(Value));
  if (reinterpret_cast<std::uintptr_t>(bytes.get()) % alignof(Value) == 0) {
    return work(std::span(reinterpret_cast<const Value*>(bytes.get()), size));
  }
  std::vector<Value> aligned(size);
  std::memcpy(aligned.data(), bytes.get(), size * sizeof(Value));
  return work(std::span<const Value>(aligned));
}

// Calls work with a span of them, of the tensor's own type, which is_plain_type().
template <class Call>
auto with_elements(const State& state, const Tensor& tensor, std::int64_t first, std::int64_t count,
                   const Call& work) {
  if (tensor.dtype == "BF16") {
    return with_typed_elements<Bf16>(state, tensor, first, count, work);
  }
  if (tensor.dtype == "F16") {
    return with_typed_elements<Fp16>(state, tensor, first, count, work);
  }
  return with_typed_elements<float>(state, tensor, first, count, work);
}

// The values in row-major order: tiles are small enough that the lines of both sides stay in the
// first cache.
template <typename Value>
std::vector<Value> in_row_major(const PlainMatrix& matrix, std::span<const Value> elements,
                                int thread_count) {
  constexpr std::int64_t kTile = 32;
  std::vector<Value> values(static_cast<std::size_t>(matrix.rows * matrix.k_elements));
  const auto tile = [&](std::int64_t row_begin, std::int64_t k_begin) {
    const std::int64_t row_end = std::min(matrix.rows, row_begin + kTile);
    const std::int64_t k_end = std::min(matrix.k_elements, k_begin + kTile);
    for (std::int64_t k = k_begin; k < k_end; ++k) {
      const Value* from = elements.data() + k * matrix.k_stride;
      Value* to = values.data() + k;
      for (std::int64_t row = row_begin; row < row_end; ++row) {
        to[row * matrix.k_elements] = from[row * matrix.row_stride];
      }
    }
  };
  for_each_in_parallel(divide_up(matrix.rows, kTile), thread_count, [&](std::int64_t strip) {
    for (std::int64_t k = 0; k < matrix.k_elements; k += kTile) tile(strip * kTile, k);
  });
  return values;
}

// Calls work with all values of a matrix, row-major, of the tensor's own type.
template <class Call>
auto with_values(const State& state, const PlainMatrix& matrix, int thread_count,
                 const Call& work) {
  return with_elements(
      state, *matrix.tensor, matrix.first, matrix.element_span(), [&](auto elements) {
        using Value = std::remove_const_t<typename decltype(elements)::element_type>;
        if (matrix.is_row_major()) return work(elements);
        const std::vector<Value> values = in_row_major<Value>(matrix, elements, thread_count);
        return work(std::span<const Value>(values));
      });
}

}  // namespace thresher::checkpoint
