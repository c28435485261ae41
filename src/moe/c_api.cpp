// SPDX-License-Identifier: Apache-2.0
// The C twin of the layer: converts plain structs to those of moe.hpp, and exceptions to status
// codes.
#include "moe/c_layer.hpp"

namespace thresher {
namespace {

using namespace c_twin;

MoeExpert expert_of(const thresher_moe_expert& expert) {
  return {.gate = view_of(expert.gate),
          .up = view_of(expert.up),
          .down = view_of(expert.down),
          .input_scale = expert.input_scale,
          .down_input_scale = expert.down_input_scale,
          .gate_bias = expert.gate_bias,
          .up_bias = expert.up_bias,
          .down_bias = expert.down_bias};
}

MoeOptions options_of(const thresher_moe_options& from) {
  return {.top_k = from.top_k,
          .tokens_max = from.tokens_max,
          .first_expert = from.first_expert,
          .router_experts = from.router_experts,
          .activations = enum_of(from.activations, Activations::kBf16, "options.activations"),
          .x = enum_of(from.x, Output::kFp32, "options.x"),
          .out = enum_of(from.out, Output::kFp32, "options.out"),
          .activation = enum_of(from.activation, MoeActivation::kSquaredRelu, "options.activation"),
          .alpha = from.alpha,
          .beta = from.beta,
          .limit = from.limit,
          .weight_on_input = from.weight_on_input != 0,
          .batch_invariant = from.batch_invariant != 0};
}

MoeTokens tokens_of(const thresher_moe_tokens& from) {
  return {.x = from.x,
          .x_stride_elements = from.x_stride_elements,
          .ids = from.ids,
          .weights = from.weights,
          .shared_weights = from.shared_weights,
          .out = from.out,
          .out_stride_elements = from.out_stride_elements,
          .token_count = from.token_count};
}

void check_count(const char* name, std::int64_t count) {
  if (count < 0) throw Error(fmt::format("{} = {} is negative", name, count));
}

template <class Value, class Ask>
Value ask(const thresher_moe_layer* layer, const Ask& question) {
  return value_or_zero([&] { return static_cast<Value>(question(need(layer, "layer").layer)); });
}

}  // namespace

thresher_moe_options c_twin::options_in_c(const MoeOptions& options) {
  return {.top_k = options.top_k,
          .tokens_max = options.tokens_max,
          .first_expert = options.first_expert,
          .router_experts = options.router_experts,
          .activations = static_cast<thresher_activations>(options.activations),
          .x = static_cast<thresher_output>(options.x),
          .out = static_cast<thresher_output>(options.out),
          .activation = static_cast<thresher_moe_activation>(options.activation),
          .alpha = options.alpha,
          .beta = options.beta,
          .limit = options.limit,
          .weight_on_input = options.weight_on_input ? 1 : 0,
          .batch_invariant = options.batch_invariant ? 1 : 0};
}

thresher_moe_layer c_twin::make_layer(const thresher_engine* engine, const MoeSource& source,
                                      const thresher_moe_options* options) {
  const Engine& packer = need(engine, "engine").engine;
  return {MoeLayer(packer, source, options_of(need(options, "options")))};
}

}  // namespace thresher

using namespace thresher;

thresher_moe_expert thresher_moe_expert_defaults(void) {
  thresher_moe_expert expert{};
  expert.gate.global_scale = expert.up.global_scale = expert.down.global_scale = 1.0f;
  expert.input_scale = expert.down_input_scale = 1.0f;
  return expert;
}

thresher_moe_options thresher_moe_options_defaults(void) {
  return c_twin::options_in_c(MoeOptions());
}

thresher_status thresher_moe_create(const thresher_engine* engine,
                                    const thresher_moe_expert* experts, int64_t expert_count,
                                    const thresher_moe_expert* shared, int64_t shared_count,
                                    const thresher_moe_options* options,
                                    thresher_moe_layer** layer) {
  return create(layer, "layer", [&] {
    check_count("expert_count", expert_count);
    check_count("shared_count", shared_count);
    if (expert_count > 0) need(experts, "experts");
    if (shared_count > 0) need(shared, "shared");
    const MoeSource source{
        .expert_count = expert_count,
        .shared_count = shared_count,
        .expert = [=](std::int64_t index) {
          return expert_of(index < expert_count ? experts[index] : shared[index - expert_count]);
        }};
    return make_layer(engine, source, options);
  });
}

thresher_status thresher_moe_create_from(const thresher_engine* engine, thresher_moe_source expert,
                                         void* context, int64_t expert_count, int64_t shared_count,
                                         const thresher_moe_options* options,
                                         thresher_moe_layer** layer) {
  thresher_status refused = THRESHER_OK;
  const thresher_status status = create(layer, "layer", [&] {
    if (expert == nullptr) throw Error("expert is null");
    const MoeSource source{
        .expert_count = expert_count,
        .shared_count = shared_count,
        .expert = [&](std::int64_t index) {
          thresher_moe_expert one = thresher_moe_expert_defaults();
          refused = expert(context, index, &one);
          if (refused == THRESHER_OK) return expert_of(one);
          throw Error(
              fmt::format("expert {}: the caller's source returned status {}", index, refused));
        }};
    return make_layer(engine, source, options);
  });
  return refused == THRESHER_OK ? status : refused;
}

void thresher_moe_destroy(thresher_moe_layer* layer) { delete layer; }

int64_t thresher_moe_hidden(const thresher_moe_layer* layer) {
  return ask<int64_t>(layer, [](const MoeLayer& of) { return of.hidden(); });
}
int64_t thresher_moe_intermediate(const thresher_moe_layer* layer) {
  return ask<int64_t>(layer, [](const MoeLayer& of) { return of.intermediate(); });
}
int64_t thresher_moe_expert_count(const thresher_moe_layer* layer) {
  return ask<int64_t>(layer, [](const MoeLayer& of) { return of.expert_count(); });
}
int64_t thresher_moe_shared_count(const thresher_moe_layer* layer) {
  return ask<int64_t>(layer, [](const MoeLayer& of) { return of.shared_count(); });
}
thresher_moe_options thresher_moe_layer_options(const thresher_moe_layer* layer) {
  return value_or_zero([&] { return c_twin::options_in_c(need(layer, "layer").layer.options()); });
}
int64_t thresher_moe_top_k(const thresher_moe_layer* layer) {
  return ask<int64_t>(layer, [](const MoeLayer& of) { return of.options().top_k; });
}
int64_t thresher_moe_tokens_max(const thresher_moe_layer* layer) {
  return ask<int64_t>(layer, [](const MoeLayer& of) { return of.options().tokens_max; });
}
size_t thresher_moe_weight_bytes(const thresher_moe_layer* layer) {
  return ask<size_t>(layer, [](const MoeLayer& of) { return of.weight_bytes(); });
}
size_t thresher_moe_workspace_bytes(const thresher_moe_layer* layer) {
  return ask<size_t>(layer, [](const MoeLayer& of) { return of.workspace_bytes(); });
}
int64_t thresher_moe_kernel_launch_count(const thresher_moe_layer* layer, int64_t token_count) {
  return ask<int64_t>(layer,
                      [&](const MoeLayer& of) { return of.kernel_launch_count(token_count); });
}
int64_t thresher_moe_variant_count(const thresher_moe_layer* layer, int64_t token_count) {
  return ask<int64_t>(layer, [&](const MoeLayer& of) { return of.variants(token_count).size(); });
}
const char* thresher_moe_variant_name(const thresher_moe_layer* layer, int64_t token_count,
                                      int64_t index) {
  return ask<const char*>(
      layer, [&](const MoeLayer& of) { return kept(at(of.variants(token_count), index)); });
}

thresher_status thresher_moe_forward(const thresher_moe_layer* layer,
                                     const thresher_moe_tokens* tokens) {
  return guarded([&] { need(layer, "layer").layer.forward(tokens_of(need(tokens, "tokens"))); });
}

thresher_status thresher_moe_enqueue(const thresher_moe_layer* layer,
                                     const thresher_moe_tokens* tokens, void* stream) {
  return guarded(
      [&] { need(layer, "layer").layer.enqueue(tokens_of(need(tokens, "tokens")), stream); });
}

thresher_status thresher_route(const float* logits, int64_t token_count,
                               const thresher_route_options* options, int32_t* ids,
                               float* weights) {
  return guarded([&] {
    const thresher_route_options& from = need(options, "options");
    check_count("token_count", token_count);
    const RouteOptions converted{
        .expert_count = from.expert_count,
        .top_k = from.top_k,
        .score = enum_of(from.score, RouteScore::kSqrtSoftplus, "options.score"),
        .renormalize = from.renormalize != 0,
        .scaling = from.scaling,
        .bias = from.bias,
        .group_count = from.group_count == 0 ? 1 : from.group_count,
        .groups_kept = from.groups_kept == 0 ? 1 : from.groups_kept};
    if (converted.expert_count < 0 || converted.expert_count > kGroupCountMax ||
        converted.top_k < 0 || converted.top_k > kGroupCountMax) {
      throw Error(fmt::format("route: expert_count = {} and top_k = {} are not in 1..{}",
                              converted.expert_count, converted.top_k, kGroupCountMax));
    }
    if (token_count == 0) return;
    need(logits, "logits");
    need(ids, "ids");
    need(weights, "weights");
    const auto count = [&](std::int64_t columns) {
      return static_cast<std::size_t>(token_count * columns);
    };
    route({logits, count(converted.expert_count)}, converted, {ids, count(converted.top_k)},
          {weights, count(converted.top_k)});
  });
}
