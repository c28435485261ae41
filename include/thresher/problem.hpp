// SPDX-License-Identifier: Apache-2.0
// What to compute: groups of (m, n, k), an operation, the activation type and the output type.
//
// gemm: C[g] = (A[g] * B[g]^T) * alpha.   dual: C[g] = silu(A*B1^T*alpha) * (A*B2^T*alpha_up).
// A is m x k, B is n x k, C is m x n, all row-major. docs/nvfp4.md has the arithmetic contract.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thresher {

enum class Op : std::uint8_t { kGemm, kDual };
enum class Activations : std::uint8_t { kNvfp4, kFp16, kBf16 };
enum class Output : std::uint8_t { kFp16, kBf16, kFp32 };

// What stands between the two products of an expert (thresher/moe.hpp), in FP32, biases added
// before it:
//   kSilu           silu(g) * u
//   kClampedSilu    g' * sigmoid(alpha * g') * (u' + beta), g' = min(g, limit), u' = u clamped to
//                   [-limit, limit]: GPT-OSS is alpha 1.702, beta 1, limit 7; DeepSeek-V4 is 1, 0,
//                   10
//   kSquaredRelu    max(u, 0)^2, without a gate: Nemotron
enum class MoeActivation : std::uint8_t { kSilu, kClampedSilu, kSquaredRelu };

struct Group {
  std::int64_t m = 0;  // rows of A and C, 0 allowed
  std::int64_t n = 0;  // columns of C
  std::int64_t k = 0;  // elements summed over, a multiple of 16

  bool operator==(const Group&) const = default;
};

struct Problem {
  std::string name;
  Op op = Op::kGemm;
  Activations activations = Activations::kNvfp4;
  Output output = Output::kFp16;
  std::vector<Group> groups;
};

inline constexpr std::int64_t kExtentMax = std::int64_t{1} << 24;
inline constexpr std::int64_t kGroupCountMax = 65536;
// No matrix of a problem may have more elements than this: 2^40 keeps every byte count and every
// sum of byte counts far inside 64 bits.
inline constexpr std::int64_t kMatrixElementsMax = std::int64_t{1} << 40;

// Throws Error naming the problem, the group, the value and the limit.
void check(const Problem& problem);

// The m of all groups together.
std::int64_t token_count(const Problem& problem);

// 2*m*n*k summed over groups, doubled for dual.
double flop_count(const Problem& problem);

std::string_view to_string(Op op);                    // "gemm", "dual"
std::string_view to_string(Activations activations);  // "nvfp4", "fp16", "bf16"
std::string_view to_string(Output output);            // "fp16", "bf16", "fp32"
// Inverses; throw Error listing the allowed words.
Op op_from_string(std::string_view text);
Activations activations_from_string(std::string_view text);
Output output_from_string(std::string_view text);

std::int64_t bytes_per_element(Output output);

}  // namespace thresher
