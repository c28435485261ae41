// SPDX-License-Identifier: Apache-2.0
// A mixture-of-experts layer: packed once, then computed for any number of tokens up to a maximum.
//
//   Engine engine({.device = "gpu"});
//   const MoeLayer layer(engine, {.experts = experts}, {.top_k = 8, .tokens_max = 8192});
//   layer.enqueue({.x = x, .ids = ids, .weights = weights, .out = out, .token_count = t}, stream);
//
//   out[t] = sum over slots s of weights[t][s] * down(act(gate(x[t]), up(x[t])))  of expert
//   ids[t][s]
//
// The sum is taken in FP32 in the order of the slots, shared experts after them, and rounded once.
// Slots whose id is negative, or no expert of this layer, are skipped; an expert may stand in a row
// more than once. A token without experts gets zeros. docs/moe.md has the arithmetic step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thresher/engine.hpp"
#include "thresher/nvfp4.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// One expert, in host memory; nobody looks at it after the layer has been made. Matrices have their
// own global scales. Biases are FP32 values, null for none.
struct MoeExpert {
  Nvfp4View gate = {};  // intermediate x hidden; left empty where the activation has no gate
  Nvfp4View up = {};    // intermediate x hidden
  Nvfp4View down = {};  // hidden x intermediate
  // W4A4 only: what an activation's block scales are in units of, the amax / (6 * 448) of a
  // calibration (a compressed-tensors `input_global_scale` is its reciprocal). 1: none, blocks are
  // scaled by their own amax alone.
  float input_scale = 1.0f;       // of the input of gate and up
  float down_input_scale = 1.0f;  // of the input of down
  const float* gate_bias = nullptr;
  const float* up_bias = nullptr;
  const float* down_bias = nullptr;
};

// All experts at once. Shared experts take every token; they have the routed ones' extents.
struct MoeMatrices {
  std::span<const MoeExpert> experts = {};
  std::span<const MoeExpert> shared = {};
};

// Experts one at a time, for layers that need not lie in memory as a whole: called once for each
// index, in order, routed experts first and shared ones after them. What it returns is packed
// before the next call.
struct MoeSource {
  std::int64_t expert_count = 0;
  std::int64_t shared_count = 0;
  std::function<MoeExpert(std::int64_t index)> expert = {};
};

struct MoeOptions {
  std::int64_t top_k = 1;         // slots per token
  std::int64_t tokens_max = 1;    // of a call
  std::int64_t first_expert = 0;  // the id of the layer's first expert, where ranks share experts
  // Experts that the router chooses from, where ranks share them; 0: those of the layer. Nothing
  // but the choice of variants depends on it.
  std::int64_t router_experts = 0;
  // What experts multiply: kBf16 or kFp16 (W4A16), kNvfp4 (W4A4: inputs of both products are
  // rounded to NVFP4). x is converted to it.
  Activations activations = Activations::kBf16;
  Output x = Output::kBf16;    // the type of x
  Output out = Output::kBf16;  // the type of out
  MoeActivation activation = MoeActivation::kSilu;
  float alpha = 1.0f;  // kClampedSilu only
  float beta = 0.0f;
  float limit = std::numeric_limits<float>::infinity();
  // The weight of a slot multiplies x (in FP32, before x is converted) instead of the result:
  // Llama-4.
  bool weight_on_input = false;
  // A token's bits do not depend on the other tokens of its call, nor on how many they are.
  bool batch_invariant = false;
};

// What a call reads and writes: host memory for forward(), the device's for enqueue(). Row-major;
// strides count elements between rows, 0 means rows that follow each other. `out` overlaps nothing.
struct MoeTokens {
  const void* x = nullptr;  // token_count x hidden
  std::int64_t x_stride_elements = 0;
  const std::int32_t* ids = nullptr;      // token_count x top_k
  const float* weights = nullptr;         // token_count x top_k
  const float* shared_weights = nullptr;  // token_count x shared experts; null: all are 1
  void* out = nullptr;                    // token_count x hidden
  std::int64_t out_stride_elements = 0;
  std::int64_t token_count = 0;  // 0 to tokens_max
};

// A layer belongs to its engine and must not outlive it. It owns packed weights, plans and scratch
// memory, so calls of one layer take turns: on a GPU they are queued on one stream, or the caller
// orders them; on the CPU they wait for each other.
class MoeLayer {
 public:
  // Throws Error naming the expert and what is wrong with it.
  MoeLayer(const Engine& engine, const MoeMatrices& matrices, const MoeOptions& options);
  MoeLayer(const Engine& engine, const MoeSource& source, const MoeOptions& options);
  MoeLayer(MoeLayer&&) noexcept;
  MoeLayer& operator=(MoeLayer&&) noexcept;
  ~MoeLayer();

  const MoeOptions& options() const;
  std::int64_t hidden() const;
  std::int64_t intermediate() const;
  std::int64_t expert_count() const;
  std::int64_t shared_count() const;
  std::size_t weight_bytes() const;
  std::size_t workspace_bytes() const;
  // What the device launches for one call of so many tokens; the CPU launches nothing.
  std::int64_t kernel_launch_count(std::int64_t token_count) const;
  // The variants of the products for a call of so many tokens, gate and up first.
  std::vector<std::string> variants(std::int64_t token_count) const;

  // Computes on host memory, and is done when it returns. A GPU copies in and out.
  void forward(const MoeTokens& tokens) const;
  // Queues one call on memory of the device (on the CPU and the emulator host memory, and it is
  // done when it returns). Allocates nothing, waits for nothing, may be captured in a graph, and
  // every address travels with the launches.
  void enqueue(const MoeTokens& tokens, void* stream = nullptr) const;

 private:
  class State;
  const State& state() const;
  std::unique_ptr<State> state_;
};

// How a router's scores become ids and weights, for those who have no router of their own. Scores
// of a token are logits[expert] under `score`; the best top_k of score + bias are chosen, of equal
// ones the lower index; weights are the chosen scores (without bias), divided by their sum if
// `renormalize`, times `scaling`.
//   Qwen3, Mixtral: softmax, renormalize.  GPT-OSS: softmax_of_chosen.
//   DeepSeek-V3: sigmoid, bias, group_count 8, groups_kept 4, renormalize, scaling 2.5.
//   Llama-4: sigmoid, top_k 1.  MiniMax: sigmoid, bias, renormalize.
enum class RouteScore : std::uint8_t {
  kSoftmax,          // over all experts
  kSoftmaxOfChosen,  // chosen by logit, softmax over the chosen
  kSigmoid,
  kSqrtSoftplus,  // sqrt(log(1 + exp(logit))): DeepSeek-V4
};
struct RouteOptions {
  std::int64_t expert_count = 0;
  std::int64_t top_k = 1;
  RouteScore score = RouteScore::kSoftmax;
  bool renormalize = false;
  float scaling = 1.0f;
  const float* bias = nullptr;  // expert_count values, for the choice alone
  // Experts in so many equal groups; only the groups_kept groups whose two best experts have the
  // largest sum take part.
  std::int64_t group_count = 1;
  std::int64_t groups_kept = 1;
};
// Writes token_count x top_k ids and weights, best first. A logit of -infinity masks an expert: its
// weight is 0. Throws Error, with token and expert, on logits that are NaN or infinite and on
// tokens whose experts are all masked; on a bias or scaling that is not finite, spans of the wrong
// size and options that do not fit each other.
void route(std::span<const float> logits, const RouteOptions& options, std::span<std::int32_t> ids,
           std::span<float> weights);

}  // namespace thresher
