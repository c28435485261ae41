// SPDX-License-Identifier: Apache-2.0
// What a device does around the products of a mixture-of-experts layer (moe/layer.cpp): it brings
// tokens into the order of the experts, finishes what stands between the products, and adds up.
//
// The products have one group per expert, shared ones last, and their rows follow each other: those
// of an expert in the order of tokens and slots. Nobody but the device knows how many rows a group
// has. A slot is a place of a token's row of ids; shared experts have slots behind those.
#pragma once

#include <cstdint>

#include "factor.hpp"
#include "thresher/moe.hpp"

namespace thresher::backend {

// What is left to do between the products.
enum class Between : std::uint8_t {
  kNothing,   // the first product has written the second one's activations
  kQuantize,  // it has written them in FP32, to be rounded to NVFP4
  kActivate,  // gate and up products are there in FP32, without biases
};

struct LayerShape {
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t expert_count = 0;
  std::int64_t shared_count = 0;
  MoeOptions options;
  Between between = Between::kNothing;

  std::int64_t group_count() const { return expert_count + shared_count; }
  std::int64_t slot_count() const { return options.top_k + shared_count; }
  std::int64_t row_count_max() const { return options.tokens_max * slot_count(); }
  bool quantizes() const { return options.activations == Activations::kNvfp4; }
};

// What row_of_slot says of a slot without an expert of this layer.
inline constexpr std::uint32_t kNoRow = ~0u;

// The packed weights of a group, and what their sums are multiplied by. In the memory of the device
// as it is here.
struct LayerGroup {
  const void* first = nullptr;  // gate and up, or the gate alone
  const void* up = nullptr;
  const void* down = nullptr;
  Factor factor;  // the gate's
  Factor factor_up;
  Factor factor_down;
};

// In the memory of the device.
struct LayerMemory {
  const LayerGroup* groups = nullptr;
  // Written by gather().
  std::uint32_t* counts = nullptr;       // rows per group; behind them there is room for one more
  std::uint32_t* slot_of_row = nullptr;  // token * slot_count + slot; for those who combine by rows
  std::uint32_t* row_of_slot = nullptr;  // or kNoRow
  std::uint32_t* group_of_row = nullptr;
  void* a = nullptr;                 // the first product's activations: rows x hidden
  std::uint8_t* a_scales = nullptr;  // NVFP4 only
  // Between the products, rows x intermediate.
  float* gate = nullptr;  // kActivate: the gate product; kQuantize: what to round
  float* up = nullptr;    // kActivate only
  void* h = nullptr;      // the second product's activations
  std::uint8_t* h_scales = nullptr;
  float* y = nullptr;  // the second product: rows x hidden
  // By group; null where nobody has any.
  const float* input_scales = nullptr;
  const float* down_input_scales = nullptr;
  const float* gate_biases = nullptr;  // x intermediate
  const float* up_biases = nullptr;
  const float* down_biases = nullptr;  // x hidden
};

class LayerSteps {
 public:
  virtual ~LayerSteps() = default;
  // Of x and out and their rows, in bytes.
  virtual std::size_t row_alignment() const = 0;
  // Kernels that each step launches; 0 on the CPU.
  virtual std::int64_t launch_count() const = 0;

  // Whether the device can read and write there. May ask a driver; waits for nothing.
  virtual bool reaches(const void* /*address*/) const { return true; }

  // Counts and sorts the slots, and writes the first product's activations.
  virtual void gather(const MoeTokens& tokens, void* stream) const = 0;
  // From gate (and up) to h; not for kNothing.
  virtual void activate(const MoeTokens& tokens, void* stream) const = 0;
  // From y to out.
  virtual void combine(const MoeTokens& tokens, void* stream) const = 0;

  // Parts of the steps, where they return with their work done, for those who time them: what
  // gather() does to ids, and what all steps do beside their work, as Call::rehearse().
  virtual void sort(const MoeTokens&) const {}
  virtual void rehearse(const MoeTokens&) const {}

  // Calls of up to so many tokens need no products of the engine: first() goes from x to h, down()
  // from there to y, and rows are where their slots are. 0: there are none.
  virtual std::int64_t few_tokens_max() const { return 0; }
  virtual void first(const MoeTokens&, void* /*stream*/) const {}
  virtual void down(const MoeTokens&, void* /*stream*/) const {}
};

}  // namespace thresher::backend
