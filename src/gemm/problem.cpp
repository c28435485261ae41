// SPDX-License-Identifier: Apache-2.0
#include "thresher/problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "gemm/extent_faults.hpp"
#include "spelling.hpp"
#include "thresher/error.hpp"
#include "thresher/nvfp4.hpp"

namespace thresher {
namespace {

template <std::size_t count>
using Words = std::array<std::string_view, count>;

constexpr Words<2> kOps = {"gemm", "dual"};
constexpr Words<3> kActivations = {"nvfp4", "fp16", "bf16"};
constexpr Words<3> kOutputs = {"fp16", "bf16", "fp32"};

// A caller can cast any byte to an enum, so a value without a word is an Error and not a bug of
// ours.
template <typename Enum, std::size_t count>
std::string_view word_of(Enum value, const Words<count>& words, const char* what) {
  const auto index = static_cast<std::size_t>(value);
  if (index >= count) {
    throw Error(fmt::format("{} = {} is not in 0..{}", what, index, count - 1));
  }
  return words[index];
}

template <typename Enum, std::size_t count>
Enum value_of(std::string_view text, const Words<count>& words, const char* what) {
  for (std::size_t i = 0; i < count; ++i) {
    if (words[i] == text) return static_cast<Enum>(i);
  }
  throw Error(fmt::format("{} = {:?} is none of {}{}", what, text.substr(0, 40),
                          fmt::join(words, ", "), did_you_mean(text, words)));
}

std::string fault_of_range(const char* name, std::int64_t value, std::int64_t min) {
  if (value >= min && value <= kExtentMax) return {};
  return fmt::format("{} = {} is not in {}..{}", name, value, min, kExtentMax);
}

// Extents are within kExtentMax = 2^24 by now, so the product fits 48 bits.
std::string fault_of_matrix(const char* name, std::int64_t rows, std::int64_t columns) {
  if (rows * columns <= kMatrixElementsMax) return {};
  return fmt::format("{} has {} x {} elements, more than {}", name, rows, columns,
                     kMatrixElementsMax);
}

std::string fault_of_group(const Group& group) {
  if (std::string fault = fault_of_m(group.m); !fault.empty()) return fault;
  if (std::string fault = fault_of_n(group.n); !fault.empty()) return fault;
  if (std::string fault = fault_of_k(group.k); !fault.empty()) return fault;
  if (std::string fault = fault_of_matrix("A", group.m, group.k); !fault.empty()) return fault;
  if (std::string fault = fault_of_matrix("B", group.n, group.k); !fault.empty()) return fault;
  return fault_of_matrix("C", group.m, group.n);
}

void check_words(const Problem& problem) {
  to_string(problem.op);
  to_string(problem.activations);
  to_string(problem.output);
}

}  // namespace

std::string fault_of_m(std::int64_t m) { return fault_of_range("m", m, 0); }

std::string fault_of_n(std::int64_t n) { return fault_of_range("n", n, 1); }

std::string fault_of_k(std::int64_t k) {
  if (std::string fault = fault_of_range("k", k, kBlockElements); !fault.empty()) return fault;
  if (k % kBlockElements == 0) return {};
  return fmt::format("k = {} is not a multiple of {}", k, kBlockElements);
}

std::string fault_of_group_count(std::int64_t group_count) {
  if (group_count >= 1 && group_count <= kGroupCountMax) return {};
  return fmt::format("groups = {} is not in 1..{}", group_count, kGroupCountMax);
}

void check(const Problem& problem) {
  try {
    check_words(problem);
  } catch (const Error& error) {
    throw Error(fmt::format("problem '{}': {}", problem.name, error.what()));
  }
  // A vector cannot hold 2^63 groups, so its size fits.
  const auto group_count = static_cast<std::int64_t>(problem.groups.size());
  if (const std::string fault = fault_of_group_count(group_count); !fault.empty()) {
    throw Error(fmt::format("problem '{}': {}", problem.name, fault));
  }
  for (std::int64_t g = 0; g < group_count; ++g) {
    if (const std::string fault = fault_of_group(problem.groups[g]); !fault.empty()) {
      throw Error(fmt::format("problem '{}', group {}: {}", problem.name, g, fault));
    }
  }
}

std::int64_t token_count(const Problem& problem) {
  std::int64_t count = 0;
  for (const Group& group : problem.groups) count += group.m;
  return count;
}

double flop_count(const Problem& problem) {
  double flops = 0;
  for (const Group& group : problem.groups) {
    flops += 2.0 * static_cast<double>(group.m) * static_cast<double>(group.n) *
             static_cast<double>(group.k);
  }
  return problem.op == Op::kDual ? 2 * flops : flops;
}

std::string_view to_string(Op op) { return word_of(op, kOps, "op"); }

std::string_view to_string(Activations activations) {
  return word_of(activations, kActivations, "activations");
}

std::string_view to_string(Output output) { return word_of(output, kOutputs, "output"); }

Op op_from_string(std::string_view text) { return value_of<Op>(text, kOps, "op"); }

Activations activations_from_string(std::string_view text) {
  return value_of<Activations>(text, kActivations, "activations");
}

Output output_from_string(std::string_view text) {
  return value_of<Output>(text, kOutputs, "output");
}

std::int64_t bytes_per_element(Output output) { return output == Output::kFp32 ? 4 : 2; }

}  // namespace thresher
