// SPDX-License-Identifier: Apache-2.0
#include "gpu/layer/layer_plan.hpp"

#include <algorithm>

#include "gpu/gemm/plan_extents.hpp"

namespace thresher::gpu {
namespace {

using backend::Between;
using backend::LayerMemory;
using backend::LayerShape;

// Enough for every warp to have loads on their way while others wait for theirs.
constexpr std::int64_t kLayerBlocksPerSm = 4;

// Rows per expert up to which products without sorting, gathering and images are faster: beyond
// that what they save is little beside the weights, and the engine's decode them in less time.
constexpr std::int64_t kFewRowsPerExpert = 1;

static_assert(kLayerNoRow == backend::kNoRow);
static_assert(sizeof(LayerExpert) == sizeof(backend::LayerGroup));
static_assert(static_cast<int>(LayerActivation::kSquaredRelu) ==
              static_cast<int>(MoeActivation::kSquaredRelu));

u64 row_bytes(std::int64_t stride, std::int64_t hidden, Output type) {
  return static_cast<u64>((stride == 0 ? hidden : stride) * bytes_per_element(type));
}

OutputType output_type_of(Output output) { return static_cast<OutputType>(output); }
static_assert(static_cast<int>(OutputType::kFp32) == static_cast<int>(Output::kFp32));

// A group's rows are shared by more blocks if groups are few, as long as there are ids for all.
std::int64_t part_count(const LayerShape& shape, std::int64_t tokens, const SmLimits& limits) {
  const std::int64_t blocks = limits.sm_count * kLayerBlocksPerSm;
  const std::int64_t useful = divide_up(tokens * shape.slot_count(), hw::kWarpThreads);
  return std::clamp<std::int64_t>(blocks / shape.group_count(), 1, useful);
}

std::int64_t block_count_for(std::int64_t thread_count, const SmLimits& limits) {
  return std::clamp<std::int64_t>(divide_up(thread_count, kLayerThreads), 1,
                                  limits.sm_count * kLayerBlocksPerSm);
}

FewKind few_kind(const LayerShape& shape) {
  if (shape.options.activation == MoeActivation::kSquaredRelu) return FewKind::kSingle;
  return shape.between == Between::kNothing ? FewKind::kDual : FewKind::kPaired;
}

std::int64_t few_piece_count(const LayerShape& shape, LayerStep step, u32 strips,
                             std::int64_t rows) {
  const bool single = step == LayerStep::kDown || few_kind(shape) == FewKind::kSingle;
  const std::int64_t width = step == LayerStep::kFirst ? shape.intermediate : shape.hidden;
  return rows * divide_up(width, (single ? 16 : 8) * strips);
}

// Two or four strips to a piece, whichever should be done first: a strip takes a little longer
// where fewer of them share their tokens, and all blocks wait for those that have one piece more.
u32 few_strips(const LayerShape& shape, LayerStep step, std::int64_t token_count,
               const SmLimits& limits) {
  constexpr double kTwoOverFour = 1.1;
  const std::int64_t chosen_from = std::max(shape.expert_count, shape.options.router_experts);
  const std::int64_t rows =
      divide_up(token_count * shape.options.top_k * shape.expert_count, chosen_from) +
      token_count * shape.shared_count;
  const auto strips_of_fullest = [&](u32 strips) {
    return static_cast<double>(strips * divide_up(few_piece_count(shape, step, strips, rows),
                                                  limits.sm_count * kFewBlocksPerSm));
  };
  return kTwoOverFour * strips_of_fullest(2) < strips_of_fullest(4) ? 2 : 4;
}

LayerArgs layer_args(const LayerShape& shape, const LayerMemory& memory, const MoeTokens& tokens) {
  const MoeOptions& options = shape.options;
  const auto number = [](std::int64_t value) { return static_cast<u32>(value); };
  const auto bytes = [](const void* address) {
    return static_cast<u8*>(const_cast<void*>(address));
  };
  return {.x = bytes(tokens.x),
          .x_row_bytes = row_bytes(tokens.x_stride_elements, shape.hidden, options.x),
          .ids = reinterpret_cast<const u32*>(tokens.ids),
          .weights = tokens.weights,
          .shared_weights = tokens.shared_weights,
          .out = bytes(tokens.out),
          .out_row_bytes = row_bytes(tokens.out_stride_elements, shape.hidden, options.out),
          .token_count = number(tokens.token_count),
          .hidden = number(shape.hidden),
          .intermediate = number(shape.intermediate),
          .expert_count = number(shape.expert_count),
          .shared_count = number(shape.shared_count),
          .top_k = number(options.top_k),
          .first_expert = number(options.first_expert),
          .weight_on_input = options.weight_on_input ? 1u : 0u,
          .activation = shape.between == Between::kActivate
                            ? static_cast<LayerActivation>(options.activation)
                            : LayerActivation::kNone,
          .alpha = options.alpha,
          .beta = options.beta,
          .limit = options.limit,
          .experts = reinterpret_cast<const LayerExpert*>(memory.groups),
          .first_kind = few_kind(shape),
          .counts = memory.counts,
          .slot_of_row = memory.slot_of_row,
          .row_of_slot = memory.row_of_slot,
          .group_of_row = memory.group_of_row,
          .a = bytes(memory.a),
          .a_scales = memory.a_scales,
          .gate = memory.gate,
          .up = memory.up,
          .h = bytes(memory.h),
          .h_scales = memory.h_scales,
          .y = memory.y,
          .input_scales = memory.input_scales,
          .down_input_scales = memory.down_input_scales,
          .gate_biases = memory.gate_biases,
          .up_biases = memory.up_biases,
          .down_biases = memory.down_biases};
}

LayerConfig layer_config(const LayerShape& shape, LayerStep step) {
  const MoeOptions& options = shape.options;
  const bool from_x = step == LayerStep::kGather || step == LayerStep::kFirst;
  const Output type = from_x ? options.x : options.out;
  LayerConfig config{.step = step};
  if (step != LayerStep::kCombine) config.activations = activation_type(options.activations);
  if (step != LayerStep::kActivate && step != LayerStep::kDown) config.type = output_type_of(type);
  return config;
}

}  // namespace

std::vector<LayerConfig> layer_configs(const LayerShape& shape) {
  std::vector<LayerConfig> configs;
  for (const LayerStep step : {LayerStep::kGather, LayerStep::kActivate, LayerStep::kCombine}) {
    configs.push_back(layer_config(shape, step));
  }
  if (few_tokens_max(shape) == 0) return configs;
  for (const LayerStep step : {LayerStep::kFirst, LayerStep::kDown}) {
    for (const u32 strips : {2u, 4u}) {
      configs.push_back(layer_config(shape, step));
      configs.back().strips = strips;
    }
  }
  return configs;
}

std::int64_t few_tokens_max(const LayerShape& shape) {
  const MoeOptions& options = shape.options;
  if (shape.quantizes() || options.batch_invariant || options.weight_on_input) return 0;
  // Of 16-bit x there are kernels for the type that experts multiply.
  const Output own = options.activations == Activations::kFp16 ? Output::kFp16 : Output::kBf16;
  if (options.x != own && options.x != Output::kFp32) return 0;
  const std::int64_t experts = std::max(shape.expert_count, options.router_experts);
  return std::min({kFewRowsMax / shape.slot_count(), kFewRowsPerExpert * experts / options.top_k,
                   options.tokens_max});
}

LayerLaunch layer_launch(const LayerShape& shape, const LayerMemory& memory, LayerStep step,
                         const MoeTokens& tokens, const SmLimits& limits) {
  LayerLaunch launch{.config = layer_config(shape, step),
                     .args = layer_args(shape, memory, tokens)};
  const std::int64_t rows = tokens.token_count * shape.slot_count();
  std::int64_t blocks = 0;
  if (step == LayerStep::kGather) {
    const std::int64_t parts = part_count(shape, tokens.token_count, limits);
    launch.args.part_count = static_cast<u32>(parts);
    launch.shared_bytes = kLayerThreads / hw::kWarpThreads * sizeof(U32x2);
    blocks = parts * shape.group_count();
  } else if (step == LayerStep::kActivate) {
    blocks = block_count_for(rows * (shape.intermediate / kLayerChunk), limits);
  } else if (is_few(step)) {
    launch.config.strips = few_strips(shape, step, tokens.token_count, limits);
    launch.shared_bytes = kFewBookBytes + 2 * kLayerThreads / hw::kWarpThreads * kFewColumns *
                                              few_sums_pitch(launch.config.strips) * 4;
    blocks = std::min<std::int64_t>(few_piece_count(shape, step, launch.config.strips, rows),
                                    limits.sm_count * kFewBlocksPerSm);
  } else {
    blocks = block_count_for(tokens.token_count * (shape.hidden / kCombineChunk), limits);
  }
  launch.block_count = static_cast<int>(blocks);
  return launch;
}

}  // namespace thresher::gpu
