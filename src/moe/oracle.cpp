// SPDX-License-Identifier: Apache-2.0
// The derivation. What gemm/bound.cpp derives for a product is used for each product; here stands
// how errors go through the layer. A value comes with an error: the true result of right arithmetic
// lies within it.
//
// 1. x becomes the first product's activations by steps that every device takes alike (a product
//    with the weight in FP32, one rounding to 16 bits, or NVFP4's rule): no error at all.
// 2. Gate and up are sums with sum_error, plus a bias and its rounding.
// 3. What stands between is evaluated at the ends of the errors. Functions are Lipschitz: SiLU by
//    1.1, g * sigmoid(alpha g) by 1.1 for alpha <= 1 and 1.1 for any alpha > 0 (it is silu(alpha g)
//    / alpha), squares by twice the reach; clamping by 1. FP32 evaluation adds what dual_error
//    says.
// 4. Rounding to 16 bits or NVFP4 between the products is monotone in the value (and, for NVFP4, in
//    the block's largest magnitude), so the roundings of both ends of an error enclose the result:
//    where both ends agree, as they nearly always do, the error is gone.
// 5. The second product has the error of its sum, over magnitudes as large as they may be, and that
//    of its activations times |w|.
// 6. The sum over the slots: one rounding per fused multiply-add and one for a bias.
#include "moe/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gemm/bound.hpp"
#include "nvfp4/e2m1.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"

namespace thresher::moe {
namespace {

constexpr double kUnitRoundoff = 0x1p-24;
constexpr double kFlush = 0x1p-126;

struct Approximate {
  double value = 0;
  double error = 0;
};

// Activations as a product reads them: what the codes stand for without the global scale, and that.
struct Row {
  std::vector<Approximate> values;
  double factor = 1;
};

double code_value(const Nvfp4View& matrix, std::int64_t row, std::int64_t column) {
  const std::int64_t index = row * matrix.k_elements + column;
  const std::uint8_t pair = matrix.codes[index / 2];
  const float scale = nvfp4::decode_e4m3(matrix.scales[index / kBlockElements]);
  return double{nvfp4::decode_e2m1(index % 2 == 0 ? pair & 15 : pair >> 4)} * scale;
}

Approximate product_at(const Row& a, const Nvfp4View& b, std::int64_t column) {
  const auto k = static_cast<std::int64_t>(a.values.size());
  const double factor = a.factor * b.global_scale;
  ExactSum sum{.value = 0, .magnitude = 0, .factor = factor};
  double moved = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    const Approximate& left = a.values[static_cast<std::size_t>(i)];
    const double right = code_value(b, column, i);
    sum.value += left.value * right;
    sum.magnitude += (std::abs(left.value) + left.error) * std::abs(right);
    moved += left.error * std::abs(right);
  }
  sum.value *= factor;
  sum.magnitude *= std::abs(factor);
  return {sum.value, sum_error(sum, k) + std::abs(factor) * moved};
}

void add_bias(const float* bias, std::int64_t column, Approximate& sum) {
  if (bias == nullptr) return;
  sum.value += bias[column];
  sum.error += kUnitRoundoff * (std::abs(sum.value) + sum.error) + kFlush;
}

double clamped(double value, double low, double high) { return std::clamp(value, low, high); }

// Step 3. For kSilu this is what dual_error derives; alpha scales the argument and its error.
Approximate activated(const MoeOptions& options, Approximate gate, Approximate up) {
  if (options.activation == MoeActivation::kSquaredRelu) {
    const double kept = std::max(up.value, 0.0);
    const double reach = kept + up.error;
    const double moved = reach * reach - kept * kept;
    return {kept * kept, moved + kUnitRoundoff * (reach * reach) + kFlush};
  }
  double alpha = 1;
  if (options.activation == MoeActivation::kClampedSilu) {
    const double limit = options.limit;
    gate.value = std::min(gate.value, limit);
    up.value = clamped(up.value, -limit, limit) + double{options.beta};
    up.error += kUnitRoundoff * (std::abs(up.value) + up.error) + kFlush;
    alpha = options.alpha;
  }
  if (alpha == 0) alpha = 1e-30;  // g / 2 in the limit
  // silu(alpha * g) / alpha: two more roundings than dual_error counts, of which it has slack.
  const double z = alpha * gate.value;
  const double z_error = std::abs(alpha) * gate.error + kUnitRoundoff * std::abs(z);
  const double value = silu(z) / alpha * up.value;
  const double error = dual_error({.gate = z,
                                   .gate_error = z_error,
                                   .up = up.value / alpha,
                                   .up_error = up.error / std::abs(alpha)});
  return {value, error + 2 * kUnitRoundoff * std::abs(value)};
}

double rounded_to_16(double value, Activations activations) {
  return activations == Activations::kFp16 ? nvfp4::fp16_to_float(nvfp4::double_to_fp16(value))
                                           : nvfp4::bf16_to_float(nvfp4::double_to_bf16(value));
}

Row rounded_to_16(const std::vector<Approximate>& values, Activations activations) {
  Row row;
  for (const Approximate& from : values) {
    const double value = rounded_to_16(from.value, activations);
    const double low = rounded_to_16(from.value - from.error, activations);
    const double high = rounded_to_16(from.value + from.error, activations);
    row.values.push_back({value, std::max(high - value, value - low)});
  }
  return row;
}

// NVFP4's rule (nvfp4/quantize.cpp) for one block scale and one value, in FP32 as there.
std::uint8_t scale_code(double amax, float global_scale) {
  if (amax == 0) return 0;
  const float ratio = static_cast<float>(amax) / (nvfp4::kE2m1Max * global_scale);
  return std::max(nvfp4::encode_e4m3(ratio), nvfp4::kE4m3LeastCode);
}

double quantized(double value, std::uint8_t scale, float global_scale) {
  if (scale == 0) return 0;
  const float step = nvfp4::decode_e4m3(scale) * global_scale;
  const std::uint8_t code = nvfp4::encode_e2m1(static_cast<float>(value) / step);
  return double{nvfp4::decode_e2m1(code)} * nvfp4::decode_e4m3(scale);
}

void quantize_block(const Approximate* from, float global_scale, Approximate* to) {
  double amax = 0;
  double amax_low = 0;
  double amax_high = 0;
  for (int i = 0; i < kBlockElements; ++i) {
    amax = std::max(amax, std::abs(from[i].value));
    amax_low = std::max(amax_low, std::abs(from[i].value) - from[i].error);
    amax_high = std::max(amax_high, std::abs(from[i].value) + from[i].error);
  }
  const std::uint8_t scale = scale_code(amax, global_scale);
  const int low = scale_code(amax_low, global_scale);
  const int high = scale_code(amax_high, global_scale);
  for (int i = 0; i < kBlockElements; ++i) {
    const double value = quantized(from[i].value, scale, global_scale);
    double error = 0;
    for (int code = low; code <= high; ++code) {
      for (const double end : {from[i].value - from[i].error, from[i].value + from[i].error}) {
        const double other = quantized(end, static_cast<std::uint8_t>(code), global_scale);
        error = std::max(error, std::abs(other - value));
      }
    }
    to[i] = {value, error};
  }
}

Row as_activations(const std::vector<Approximate>& values, Activations activations,
                   float global_scale) {
  if (activations != Activations::kNvfp4) return rounded_to_16(values, activations);
  Row row{.values = std::vector<Approximate>(values.size()), .factor = global_scale};
  for (std::size_t first = 0; first < values.size(); first += kBlockElements) {
    quantize_block(values.data() + first, global_scale, row.values.data() + first);
  }
  return row;
}

float element(const void* row, std::int64_t index, Output type) {
  if (type == Output::kFp32) return static_cast<const float*>(row)[index];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(row)[index];
  return type == Output::kFp16 ? nvfp4::fp16_to_float(bits) : nvfp4::bf16_to_float(bits);
}

const std::byte* row_at(const void* rows, std::int64_t row, std::int64_t stride,
                        std::int64_t hidden, Output type) {
  return static_cast<const std::byte*>(rows) +
         row * (stride == 0 ? hidden : stride) * bytes_per_element(type);
}

// One expert's row for one token, before the weight.
std::vector<Approximate> expert_row(const MoeOptions& options, const MoeExpert& expert,
                                    const std::vector<Approximate>& x) {
  const Row a = as_activations(x, options.activations, expert.input_scale);
  std::vector<Approximate> between;
  for (std::int64_t i = 0; i < expert.up.rows; ++i) {
    Approximate gate;
    if (options.activation != MoeActivation::kSquaredRelu) {
      gate = product_at(a, expert.gate, i);
      add_bias(expert.gate_bias, i, gate);
    }
    Approximate up = product_at(a, expert.up, i);
    add_bias(expert.up_bias, i, up);
    between.push_back(activated(options, gate, up));
  }
  const Row h = as_activations(between, options.activations, expert.down_input_scale);
  std::vector<Approximate> y;
  for (std::int64_t column = 0; column < expert.down.rows; ++column) {
    y.push_back(product_at(h, expert.down, column));
    add_bias(expert.down_bias, column, y.back());
  }
  return y;
}

// What a token's row is the sum of.
struct Slot {
  const MoeExpert* expert = nullptr;
  float weight = 1;
  float weight_on_input = 1;
};

std::vector<Slot> slots_of(const OracleLayer& layer, const MoeTokens& tokens, std::int64_t token) {
  const MoeOptions& options = layer.options;
  const auto experts = static_cast<std::int64_t>(layer.matrices.experts.size());
  std::vector<Slot> slots;
  for (std::int64_t slot = 0; slot < options.top_k; ++slot) {
    const std::int64_t id = tokens.ids[token * options.top_k + slot];
    const std::int64_t index = id - options.first_expert;
    if (id < 0 || index < 0 || index >= experts) continue;
    const float weight = tokens.weights[token * options.top_k + slot];
    slots.push_back({.expert = &layer.matrices.experts[static_cast<std::size_t>(index)],
                     .weight = options.weight_on_input ? 1.0f : weight,
                     .weight_on_input = options.weight_on_input ? weight : 1.0f});
  }
  const std::size_t shared = layer.matrices.shared.size();
  for (std::size_t i = 0; i < shared; ++i) {
    const float* weights = tokens.shared_weights;
    slots.push_back({.expert = &layer.matrices.shared[i],
                     .weight = weights == nullptr
                                   ? 1.0f
                                   : weights[static_cast<std::size_t>(token) * shared + i]});
  }
  return slots;
}

}  // namespace

std::vector<Expected> layer_oracle(const OracleLayer& layer, const MoeTokens& tokens,
                                   std::int64_t token) {
  const MoeOptions& options = layer.options;
  const std::int64_t hidden = layer.matrices.experts.front().up.k_elements;
  const std::byte* x = row_at(tokens.x, token, tokens.x_stride_elements, hidden, options.x);
  std::vector<Approximate> sums(static_cast<std::size_t>(hidden));
  for (const Slot& slot : slots_of(layer, tokens, token)) {
    std::vector<Approximate> row;
    for (std::int64_t i = 0; i < hidden; ++i) {
      row.push_back({double{element(x, i, options.x) * slot.weight_on_input}, 0});
    }
    const std::vector<Approximate> y = expert_row(options, *slot.expert, row);
    for (std::size_t i = 0; i < y.size(); ++i) {
      Approximate& sum = sums[i];
      sum.value += slot.weight * y[i].value;
      sum.error += std::abs(slot.weight) * y[i].error;
      sum.error += kUnitRoundoff * (std::abs(sum.value) + sum.error) + kFlush;
    }
  }
  std::vector<Expected> expected;
  for (const Approximate& sum : sums) {
    expected.push_back({sum.value, bound_after_rounding(sum.value, sum.error, options.out)});
  }
  return expected;
}

double worst_ratio(const OracleLayer& layer, const MoeTokens& tokens, std::int64_t token) {
  const Output type = layer.options.out;
  const std::vector<Expected> expected = layer_oracle(layer, tokens, token);
  const std::byte* out = row_at(tokens.out, token, tokens.out_stride_elements,
                                static_cast<std::int64_t>(expected.size()), type);
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double result = element(out, static_cast<std::int64_t>(i), type);
    worst = std::max(worst, distance(result, expected[i].value, type) / expected[i].bound);
  }
  return worst;
}

}  // namespace thresher::moe
