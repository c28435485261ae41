// SPDX-License-Identifier: Apache-2.0
#include "moe/layer_scene.hpp"

#include <algorithm>
#include <cstring>

#include "gemm/random.hpp"
#include "nvfp4/half.hpp"

namespace thresher::testing {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::uint8_t kPoison = 0xff;  // NaN in every type
constexpr std::int64_t kPadding = 16;   // elements between rows

void store(std::vector<std::uint8_t>& bytes, std::int64_t index, float value, Output type) {
  const std::uint32_t bits = round_to_output(value, type);
  const auto size = static_cast<std::size_t>(bytes_per_element(type));
  std::memcpy(bytes.data() + static_cast<std::size_t>(index) * size, &bits, size);
}

}  // namespace

LayerScene::LayerScene(const LayerCase& which, std::uint64_t seed) : case_(which), state_(seed) {
  memory_.reserve(static_cast<std::size_t>(3 * (which.expert_count + which.shared_count)));
  for (std::int64_t i = 0; i < which.expert_count; ++i) routed_.push_back(make_expert());
  for (std::int64_t i = 0; i < which.shared_count; ++i) shared_.push_back(make_expert());
  make_tokens();
}

std::uint64_t LayerScene::next(std::uint64_t bound) {
  state_ = state_ * 6364136223846793005u + 1442695040888963407u;
  return (state_ >> 33) % bound;
}

// Exact: codes of 0, 0.5 and 1 and scales of 1, so that sums are small multiples of a power of two.
// Positive gates are large enough for SiLU to be the identity.
Nvfp4View LayerScene::make_matrix(std::int64_t rows, std::int64_t k, bool positive) {
  Nvfp4Matrix& matrix = memory_.emplace_back();
  matrix.rows = rows;
  matrix.k_elements = k;
  matrix.global_scale = case_.exact ? 1.0f : 0.01f * static_cast<float>(1 + next(7));
  for (std::int64_t i = 0; i < rows * k / 2; ++i) {
    std::uint64_t code = next(256);
    if (case_.exact) code = positive ? 0x44 + (code & 0x11) : code & 0xaa;
    matrix.codes.push_back(static_cast<std::uint8_t>(code));
  }
  for (std::int64_t i = 0; i < rows * k / kBlockElements; ++i) {
    matrix.scales.push_back(case_.exact ? 0x38 : static_cast<std::uint8_t>(0x30 + next(16)));
  }
  return matrix.view();
}

const float* LayerScene::make_bias(std::int64_t count) {
  std::vector<float>& bias = biases_.emplace_back();
  for (std::int64_t i = 0; i < count; ++i) {
    bias.push_back(case_.exact ? static_cast<float>(next(3))
                               : 0.01f * (static_cast<float>(next(100)) - 50));
  }
  return bias.data();
}

MoeExpert LayerScene::make_expert() {
  MoeExpert expert;
  const bool gated = case_.options.activation != MoeActivation::kSquaredRelu;
  if (gated) expert.gate = make_matrix(case_.intermediate, case_.hidden, /*positive=*/true);
  expert.up = make_matrix(case_.intermediate, case_.hidden, false);
  expert.down = make_matrix(case_.hidden, case_.intermediate, false);
  expert.input_scale = case_.input_scale * static_cast<float>(1 + next(4));
  expert.down_input_scale = case_.input_scale * static_cast<float>(1 + next(4));
  if (case_.exact) expert.input_scale = expert.down_input_scale = 1.0f;
  if (!case_.biases) return expert;
  if (gated) expert.gate_bias = make_bias(case_.intermediate);
  expert.up_bias = make_bias(case_.intermediate);
  expert.down_bias = make_bias(case_.hidden);
  return expert;
}

void LayerScene::make_tokens() {
  const MoeOptions& options = case_.options;
  const std::int64_t tokens = case_.token_count;
  const std::int64_t stride = case_.hidden + kPadding;
  x_.assign(static_cast<std::size_t>(tokens * stride * bytes_per_element(options.x)), kPoison);
  for (std::int64_t i = 0; i < tokens * case_.hidden; ++i) {
    const float value = case_.exact ? static_cast<float>(1 + next(3))
                                    : 0.02f * (static_cast<float>(next(200)) - 100);
    store(x_, i / case_.hidden * stride + i % case_.hidden, value, options.x);
  }
  for (std::int64_t i = 0; i < tokens * options.top_k; ++i) {
    // Now and then nobody, or an expert of another rank; and, as they come, twice the same.
    const auto id = static_cast<std::int32_t>(next(static_cast<std::uint64_t>(case_.expert_count)));
    const std::uint64_t other = next(8);
    const auto first = static_cast<std::int32_t>(options.first_expert);
    ids_.push_back(other == 0   ? -1
                   : other == 1 ? first + static_cast<std::int32_t>(case_.expert_count) + id
                                : first + id);
    weights_.push_back(case_.exact ? 0.5f : 0.05f * static_cast<float>(1 + next(20)));
  }
  for (std::int64_t i = 0; i < tokens * case_.shared_count; ++i) {
    shared_weights_.push_back(case_.exact ? 2.0f : 0.1f * static_cast<float>(1 + next(10)));
  }
  out_.resize(static_cast<std::size_t>(tokens * stride * bytes_per_element(options.out)) +
              2 * kGuardBytes);
  tokens_ = {.x = x_.data(),
             .x_stride_elements = stride,
             .ids = ids_.data(),
             .weights = weights_.data(),
             .shared_weights = case_.shared_count > 1 ? shared_weights_.data() : nullptr,
             .out = out_.data() + kGuardBytes,
             .out_stride_elements = stride,
             .token_count = tokens};
  poison();
}

void LayerScene::poison() { std::fill(out_.begin(), out_.end(), kPoison); }

void LayerScene::run(const MoeLayer& layer) {
  poison();
  layer.forward(tokens_);
}

std::vector<std::uint8_t> LayerScene::row(std::int64_t token) const {
  const std::int64_t element = bytes_per_element(case_.options.out);
  const auto* first =
      static_cast<const std::uint8_t*>(tokens_.out) + token * tokens_.out_stride_elements * element;
  return {first, first + case_.hidden * element};
}

std::string LayerScene::why_wrong() const {
  const moe::OracleLayer layer{matrices(), case_.options};
  const Output type = case_.options.out;
  const auto element = static_cast<std::size_t>(bytes_per_element(type));
  std::vector<std::uint8_t> rest = out_;
  for (std::int64_t token = 0; token < tokens_.token_count; ++token) {
    const std::string where = case_.name + ": token " + std::to_string(token);
    const std::vector<std::uint8_t> bytes = row(token);
    if (const double ratio = moe::worst_ratio(layer, tokens_, token); !(ratio <= 1)) {
      return where + " is " + std::to_string(ratio) + " times the bound away";
    }
    const std::vector<Expected> expected = moe::layer_oracle(layer, tokens_, token);
    for (std::size_t i = 0; case_.exact && i < expected.size(); ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes.data() + i * element, element);
      if (bits != round_to_output(expected[i].value, type)) {
        return where + ", column " + std::to_string(i) + ": " +
               std::to_string(output_value(bits, type)) + " is not " +
               std::to_string(expected[i].value);
      }
    }
    std::fill_n(
        rest.begin() + static_cast<std::ptrdiff_t>(
                           kGuardBytes +
                           static_cast<std::size_t>(token * tokens_.out_stride_elements) * element),
        bytes.size(), kPoison);
  }
  const bool intact = std::all_of(rest.begin(), rest.end(), [](auto b) { return b == kPoison; });
  return intact ? "" : case_.name + ": something beside the rows was written";
}

}  // namespace thresher::testing
