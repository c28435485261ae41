// SPDX-License-Identifier: Apache-2.0
#include "moe/packed_layer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "moe/ladder.hpp"

namespace thresher::moe {
namespace {

using backend::Between;

constexpr std::int64_t kRowsMax = std::int64_t{1} << 31;

bool is_gated(MoeActivation activation) { return activation != MoeActivation::kSquaredRelu; }

void check_between(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw Error(fmt::format("{} = {} is not in {}..{}", name, value, least, most));
}

template <class Enum>
void check_enum(const char* name, Enum value, Enum last) {
  if (value <= last) return;
  throw Error(fmt::format("{} = {} is not in 0..{}", name, static_cast<int>(value),
                          static_cast<int>(last)));
}

void check_activation(const MoeOptions& options) {
  if (options.activation != MoeActivation::kClampedSilu) return;
  if (!std::isfinite(options.alpha)) {
    throw Error(fmt::format("alpha = {} is not finite", options.alpha));
  }
  if (!std::isfinite(options.beta)) {
    throw Error(fmt::format("beta = {} is not finite", options.beta));
  }
  if (!(options.limit > 0)) throw Error(fmt::format("limit = {} is not above 0", options.limit));
}

void check_options(const MoeSource& source, const MoeOptions& options) {
  check_between("expert_count", source.expert_count, 1, kGroupCountMax);
  check_between("shared_count", source.shared_count, 0, kGroupCountMax - source.expert_count);
  check_between("top_k", options.top_k, 1, kGroupCountMax);
  const std::int64_t slots = options.top_k + source.shared_count;
  check_between("tokens_max", options.tokens_max, 1, (kRowsMax - 1) / slots);
  check_between("first_expert", options.first_expert, 0,
                std::numeric_limits<std::int32_t>::max() - source.expert_count);
  check_between("router_experts", options.router_experts, 0,
                std::numeric_limits<std::int32_t>::max());
  check_enum("activations", options.activations, Activations::kBf16);
  check_enum("x", options.x, Output::kFp32);
  check_enum("out", options.out, Output::kFp32);
  check_enum("activation", options.activation, MoeActivation::kSquaredRelu);
  check_activation(options);
  if (options.weight_on_input && options.top_k != 1) {
    throw Error(
        fmt::format("weight_on_input needs top_k = 1, not {}: the weights of several "
                    "experts cannot all be on one input",
                    options.top_k));
  }
}

// One expert against the layer; messages begin with its place.
class ExpertCheck {
 public:
  ExpertCheck(const backend::LayerShape& shape, std::int64_t index)
      : shape_(shape),
        place_(index < shape.expert_count
                   ? fmt::format("expert {}", index)
                   : fmt::format("shared expert {}", index - shape.expert_count)) {}

  void check(const MoeExpert& expert) const {
    const bool gated = is_gated(shape_.options.activation);
    if (!gated && (expert.gate.rows != 0 || expert.gate_bias != nullptr)) {
      fail("has a gate, but the layer's activation has none");
    }
    if (gated) check_matrix("gate", expert.gate, shape_.intermediate, shape_.hidden);
    check_matrix("up", expert.up, shape_.intermediate, shape_.hidden);
    check_matrix("down", expert.down, shape_.hidden, shape_.intermediate);
    check_bias("gate_bias", expert.gate_bias, shape_.intermediate);
    check_bias("up_bias", expert.up_bias, shape_.intermediate);
    check_bias("down_bias", expert.down_bias, shape_.hidden);
    check_scale("input_scale", expert.input_scale);
    check_scale("down_input_scale", expert.down_input_scale);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(place_ + ": " + what); }

  void check_matrix(const char* name, const Nvfp4View& view, std::int64_t rows,
                    std::int64_t k) const {
    try {
      thresher::check(view, name);
    } catch (const Error& error) {
      fail(error.what());
    }
    if (view.rows == rows && view.k_elements == k) return;
    fail(fmt::format("{} is {} x {}, but hidden = {} and intermediate = {} make it {} x {}", name,
                     view.rows, view.k_elements, shape_.hidden, shape_.intermediate, rows, k));
  }

  void check_bias(const char* name, const float* bias, std::int64_t count) const {
    for (std::int64_t i = 0; bias != nullptr && i < count; ++i) {
      if (std::isnan(bias[i])) fail(fmt::format("value {} of {} is NaN", i, name));
    }
  }

  void check_scale(const char* name, float scale) const {
    if (std::isfinite(scale) && scale > 0) return;
    fail(fmt::format("{} = {} is not a finite number above 0", name, scale));
  }

  const backend::LayerShape& shape_;
  const std::string place_;
};

// The extents are the first expert's; they are multiples of 16, since each is some matrix's k.
backend::LayerShape shape_of(const MoeSource& source, const MoeOptions& options,
                             const MoeExpert& first) {
  return {.hidden = first.up.k_elements,
          .intermediate = first.up.rows,
          .expert_count = source.expert_count,
          .shared_count = source.shared_count,
          .options = options};
}

// Biases become rows once somebody has one.
void add_bias(const float* bias, std::int64_t count, std::size_t group, std::vector<float>& rows) {
  if (bias == nullptr && rows.empty()) return;
  const auto row = static_cast<std::size_t>(count);
  rows.resize((group + 1) * row, 0.0f);
  if (bias != nullptr) std::copy_n(bias, row, rows.data() + group * row);
}

class Packer {
 public:
  Packer(const Engine& engine, const MoeOptions& options) : engine_(engine), options_(options) {}

  void add(const MoeExpert& expert, std::size_t group, PackedLayer& layer) const {
    if (layer.shape.between == Between::kActivate) {
      if (is_gated(options_.activation)) layer.first.push_back(pack(expert.gate));
      layer.up.push_back(pack(expert.up));
    } else {
      layer.first.push_back(engine_.pack({.op = Op::kDual,
                                          .b = expert.gate,
                                          .up = expert.up,
                                          .activations = options_.activations}));
    }
    layer.down.push_back(pack(expert.down));
    layer.input_scales.push_back(expert.input_scale);
    layer.down_input_scales.push_back(expert.down_input_scale);
    add_bias(expert.gate_bias, layer.shape.intermediate, group, layer.gate_biases);
    add_bias(expert.up_bias, layer.shape.intermediate, group, layer.up_biases);
    add_bias(expert.down_bias, layer.shape.hidden, group, layer.down_biases);
  }

 private:
  Weights pack(const Nvfp4View& matrix) const {
    return engine_.pack({.b = matrix, .activations = options_.activations});
  }

  const Engine& engine_;
  const MoeOptions& options_;
};

std::size_t bytes_of(const std::vector<Weights>& weights) {
  std::size_t bytes = 0;
  for (const Weights& one : weights) bytes += one.bytes();
  return bytes;
}

}  // namespace

std::size_t PackedLayer::weight_bytes() const {
  return bytes_of(first) + bytes_of(up) + bytes_of(down);
}

PackedLayer pack_layer(const Engine& engine, const MoeSource& source, const MoeOptions& options) {
  check_options(source, options);
  if (!source.expert) throw Error("the source of experts is empty");
  const Packer packer(engine, options);
  PackedLayer layer;
  for (std::int64_t index = 0; index < source.expert_count + source.shared_count; ++index) {
    const MoeExpert expert = source.expert(index);
    // Biases decide how gate and up are packed, and all experts alike.
    const bool has_biases = expert.gate_bias != nullptr || expert.up_bias != nullptr;
    if (index == 0) {
      layer.shape = shape_of(source, options, expert);
      layer.shape.between = between_of(options, has_biases);
    }
    ExpertCheck(layer.shape, index).check(expert);
    if (has_biases && layer.shape.between != Between::kActivate) {
      throw Error(
          fmt::format("expert {}: has a bias of gate or up, but expert 0 has none: give "
                      "every expert one, of zeros if need be",
                      index));
    }
    packer.add(expert, static_cast<std::size_t>(index), layer);
  }
  const auto fill = [&](std::vector<float>& rows, std::int64_t count) {
    if (!rows.empty()) rows.resize(static_cast<std::size_t>(layer.shape.group_count() * count));
  };
  fill(layer.gate_biases, layer.shape.intermediate);
  fill(layer.up_biases, layer.shape.intermediate);
  fill(layer.down_biases, layer.shape.hidden);
  return layer;
}

}  // namespace thresher::moe
