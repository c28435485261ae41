// SPDX-License-Identifier: Apache-2.0
#include "cpu/layer_steps.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "cpu/body.hpp"
#include "cpu/choose.hpp"
#include "rounding.hpp"

namespace thresher::cpu {
namespace {

using backend::kNoRow;
using backend::LayerMemory;
using backend::LayerShape;

// Rows that a thread takes at a time.
constexpr std::int64_t kRowsAtATime = 8;

// Fewer ids are counted before another thread has woken up.
constexpr std::int64_t kIdsOfAThread = 8192;
// So many stretches of ids at most: where their rows begin is found out by one thread.
constexpr int kStretchesMax = 16;

std::int64_t activation_row_bytes(Activations activations, std::int64_t count) {
  return activations == Activations::kNvfp4 ? count / 2 : count * 2;
}

class HostSteps : public backend::LayerSteps {
 public:
  HostSteps(const LayerShape& shape, const LayerMemory& memory, SharedPool pool)
      : shape_(shape),
        memory_(memory),
        pool_(pool),
        rows_(body(best_vector_isa()).layer),
        needs_groups_(shape.between != backend::Between::kNothing || memory.down_biases != nullptr),
        stretches_max_(std::min(pool.pool.thread_count(), kStretchesMax)),
        first_rows_(static_cast<std::size_t>(stretches_max_ * shape.expert_count)),
        slots_(static_cast<std::size_t>(pool.pool.thread_count() * shape.slot_count())) {}

  std::size_t row_alignment() const override { return 1; }
  std::int64_t launch_count() const override { return 0; }

  void gather(const MoeTokens& tokens, void*) const override {
    count(tokens);
    for_each(tokens.token_count, [&](std::int64_t token, int) {
      place_token(tokens, token);
      gather_token(tokens, token);
    });
  }

  void sort(const MoeTokens& tokens) const override {
    count(tokens);
    for_each(tokens.token_count, [&](std::int64_t token, int) { place_token(tokens, token); });
  }

  void rehearse(const MoeTokens& tokens) const override {
    const int times = shape_.between == backend::Between::kNothing ? 2 : 3;
    for (int i = 0; i < times; ++i) {
      const std::lock_guard turn(pool_.turn);
      if (tokens.token_count > kRowsAtATime) pool_.pool.for_each(0, [](std::int64_t, int) {});
    }
  }

  void activate(const MoeTokens&, void*) const override {
    for_each(row_count(), [&](std::int64_t row, int) { activate_row(row); });
  }

  void combine(const MoeTokens& tokens, void*) const override {
    const MoeOptions& options = shape_.options;
    const auto add_up = rows_.combine[static_cast<int>(options.out)];
    const std::int64_t out_bytes =
        bytes_per_element(options.out) *
        (tokens.out_stride_elements == 0 ? shape_.hidden : tokens.out_stride_elements);
    for_each(tokens.token_count, [&](std::int64_t token, int thread_index) {
      CombineSlot* slots = slots_.data() + thread_index * shape_.slot_count();
      add_up({.slots = slots,
              .slot_count = slots_of(tokens, token, slots),
              .count = shape_.hidden,
              .out = static_cast<std::byte*>(tokens.out) + token * out_bytes});
    });
  }

 private:
  template <class Work>
  void for_each(std::int64_t count, const Work& work) const {
    const std::lock_guard turn(pool_.turn);
    const std::int64_t stretches = divide_up(count, kRowsAtATime);
    // A few rows are done before another thread has woken up.
    if (stretches <= 1) {
      for (std::int64_t i = 0; i < count; ++i) work(i, 0);
      return;
    }
    pool_.pool.for_each(stretches, [&](std::int64_t stretch, int thread_index) {
      const std::int64_t first = stretch * kRowsAtATime;
      const std::int64_t behind = std::min(count, first + kRowsAtATime);
      for (std::int64_t i = first; i < behind; ++i) work(i, thread_index);
    });
  }

  std::int64_t row_count() const { return row_count_; }

  // Calls found(slot, expert) for the ids of a token that name experts of this layer, and
  // nobodys(slot) for the others.
  template <class Found, class Nobodys>
  void for_each_id(const MoeTokens& tokens, std::int64_t token, const Found& found,
                   const Nobodys& nobodys) const {
    const std::int64_t top_k = shape_.options.top_k;
    const std::int64_t first_expert = shape_.options.first_expert;
    const auto expert_count = static_cast<std::uint64_t>(shape_.expert_count);
    const std::int32_t* ids = tokens.ids + token * top_k;
    for (std::int64_t slot = 0; slot < top_k; ++slot) {
      // What is below the first is beyond the last.
      const auto expert = static_cast<std::uint64_t>(std::int64_t{ids[slot]} - first_expert);
      if (expert < expert_count) {
        found(slot, expert);
      } else {
        nobodys(slot);
      }
    }
  }

  // Counts the rows of every expert, and in row_of_slot which of them a slot's is. That goes in the
  // order of the tokens: of many ids, every thread counts a stretch of tokens for itself, and where
  // its rows begin is known when all have counted. The rest is place_token()'s.
  void count(const MoeTokens& tokens) const {
    const std::int64_t stretches = stretch_count(tokens);
    stretch_tokens_ = divide_up(tokens.token_count, stretches);
    if (stretches == 1) {
      count_stretch(tokens, 0);
    } else {
      const std::lock_guard turn(pool_.turn);
      pool_.pool.for_each(stretches,
                          [&](std::int64_t stretch, int) { count_stretch(tokens, stretch); });
    }
    // From how many there are to where they begin.
    std::uint32_t behind = 0;
    for (std::int64_t expert = 0; expert < shape_.expert_count; ++expert) {
      const std::uint32_t before = behind;
      for (std::int64_t stretch = 0; stretch < stretches; ++stretch) {
        std::uint32_t& first_row = first_rows(stretch)[expert];
        behind += std::exchange(first_row, behind);
      }
      memory_.counts[expert] = behind - before;
    }
    shared_row_ = behind;
    std::fill_n(memory_.counts + shape_.expert_count, shape_.shared_count,
                static_cast<std::uint32_t>(tokens.token_count));
    row_count_ = behind + shape_.shared_count * tokens.token_count;
  }

  std::int64_t stretch_count(const MoeTokens& tokens) const {
    const std::int64_t ids = tokens.token_count * shape_.options.top_k;
    return std::clamp<std::int64_t>(ids / kIdsOfAThread, 1, stretches_max_);
  }

  void count_stretch(const MoeTokens& tokens, std::int64_t stretch) const {
    std::uint32_t* counts = first_rows(stretch);
    std::fill_n(counts, shape_.expert_count, 0u);
    const std::int64_t behind = std::min(tokens.token_count, (stretch + 1) * stretch_tokens_);
    for (std::int64_t token = stretch * stretch_tokens_; token < behind; ++token) {
      std::uint32_t* ranks = memory_.row_of_slot + token * shape_.slot_count();
      for_each_id(
          tokens, token,
          [=](std::int64_t slot, std::uint64_t expert) { ranks[slot] = counts[expert]++; },
          [](std::int64_t) {});
    }
  }

  // Of a stretch, where the rows of every expert begin.
  std::uint32_t* first_rows(std::int64_t stretch) const {
    return first_rows_.data() + stretch * shape_.expert_count;
  }

  // From what count() has left to the rows of a token's slots.
  void place_token(const MoeTokens& tokens, std::int64_t token) const {
    const std::int64_t top_k = shape_.options.top_k;
    std::uint32_t* rows = memory_.row_of_slot + token * shape_.slot_count();
    const std::int64_t stretch = token < stretch_tokens_ ? 0 : token / stretch_tokens_;
    const std::uint32_t* first = first_rows(stretch);
    std::uint32_t* groups = needs_groups_ ? memory_.group_of_row : nullptr;
    for_each_id(
        tokens, token,
        [=](std::int64_t slot, std::uint64_t expert) {
          rows[slot] += first[expert];
          if (groups != nullptr) groups[rows[slot]] = static_cast<std::uint32_t>(expert);
        },
        [=](std::int64_t slot) { rows[slot] = kNoRow; });
    for (std::int64_t shared = 0; shared < shape_.shared_count; ++shared) {
      const std::int64_t row = shared_row_ + shared * tokens.token_count + token;
      rows[top_k + shared] = static_cast<std::uint32_t>(row);
      memory_.group_of_row[row] = static_cast<std::uint32_t>(shape_.expert_count + shared);
    }
  }

  // A token's rows are alike, but for the scales of their experts: what stands in one of them is
  // copied to the next.
  void gather_token(const MoeTokens& tokens, std::int64_t token) const {
    const MoeOptions& options = shape_.options;
    const std::int64_t stride =
        tokens.x_stride_elements == 0 ? shape_.hidden : tokens.x_stride_elements;
    const auto convert =
        rows_.convert[static_cast<int>(options.x)][static_cast<int>(options.activations)];
    ConvertArgs args{.x = static_cast<const std::byte*>(tokens.x) +
                          token * stride * bytes_per_element(options.x),
                     .count = shape_.hidden};
    for (std::int64_t slot = 0; slot < shape_.slot_count(); ++slot) {
      const std::uint32_t row = memory_.row_of_slot[token * shape_.slot_count() + slot];
      if (row == kNoRow) continue;
      const ActivationRow before = args.out;
      args.out =
          activation_row(memory_.a, memory_.a_scales, memory_.input_scales, row, shape_.hidden);
      args.weighted = options.weight_on_input && slot < options.top_k;
      if (args.weighted) args.weight = tokens.weights[token * options.top_k + slot];
      const bool alike = before.values != nullptr && !options.weight_on_input &&
                         before.global_scale == args.out.global_scale;
      if (alike) {
        copy_row(before, args.out);
      } else {
        convert(args);
      }
    }
  }

  void copy_row(const ActivationRow& from, const ActivationRow& to) const {
    const Activations activations = shape_.options.activations;
    std::memcpy(to.values, from.values,
                static_cast<std::size_t>(activation_row_bytes(activations, shape_.hidden)));
    if (from.scales == nullptr) return;
    std::memcpy(to.scales, from.scales, static_cast<std::size_t>(shape_.hidden / kBlockElements));
  }

  ActivationRow activation_row(void* values, std::uint8_t* scales, const float* global_scales,
                               std::int64_t row, std::int64_t count) const {
    const Activations activations = shape_.options.activations;
    ActivationRow out{.values = static_cast<std::byte*>(values) +
                                row * activation_row_bytes(activations, count)};
    if (activations != Activations::kNvfp4) return out;
    out.scales = scales + row * (count / kBlockElements);
    out.global_scale = global_scales[memory_.group_of_row[row]];
    return out;
  }

  void activate_row(std::int64_t row) const {
    const std::int64_t count = shape_.intermediate;
    const MoeOptions& options = shape_.options;
    const int to = static_cast<int>(options.activations);
    const ActivationRow out =
        activation_row(memory_.h, memory_.h_scales, memory_.down_input_scales, row, count);
    if (shape_.between == backend::Between::kQuantize) {
      const auto convert = rows_.convert[static_cast<int>(Output::kFp32)][to];
      return convert({.x = memory_.gate + row * count, .count = count, .out = out});
    }
    const std::int64_t bias = memory_.group_of_row[row] * count;
    const auto of_group = [bias](const float* biases) {
      return biases == nullptr ? nullptr : biases + bias;
    };
    rows_.activate[to]({.gate = memory_.gate == nullptr ? nullptr : memory_.gate + row * count,
                        .up = memory_.up + row * count,
                        .gate_bias = of_group(memory_.gate_biases),
                        .up_bias = of_group(memory_.up_biases),
                        .count = count,
                        .activation = options.activation,
                        .alpha = options.alpha,
                        .beta = options.beta,
                        .limit = options.limit,
                        .out = out});
  }

  // What a token's row is the sum of, in the order of its slots.
  int slots_of(const MoeTokens& tokens, std::int64_t token, CombineSlot* slots) const {
    const MoeOptions& options = shape_.options;
    int count = 0;
    for (std::int64_t slot = 0; slot < shape_.slot_count(); ++slot) {
      const std::uint32_t row = memory_.row_of_slot[token * shape_.slot_count() + slot];
      if (row == kNoRow) continue;
      CombineSlot& from = slots[count++];
      from = {.y = memory_.y + std::int64_t{row} * shape_.hidden};
      if (memory_.down_biases != nullptr) {
        from.bias = memory_.down_biases + memory_.group_of_row[row] * shape_.hidden;
      }
      if (slot < options.top_k) {
        if (!options.weight_on_input) from.weight = tokens.weights[token * options.top_k + slot];
      } else if (tokens.shared_weights != nullptr) {
        from.weight = tokens.shared_weights[token * shape_.shared_count + slot - options.top_k];
      }
    }
    return count;
  }

  const LayerShape shape_;
  const LayerMemory memory_;
  const SharedPool pool_;
  const LayerRows& rows_;
  const bool needs_groups_;  // whether anybody asks whose a row is
  const std::int64_t stretches_max_;
  // Scratch: calls of a layer take turns.
  mutable std::vector<std::uint32_t> first_rows_;  // of every stretch, by expert
  mutable std::int64_t stretch_tokens_ = 1;
  mutable std::uint32_t shared_row_ = 0;    // the first of the shared experts'
  mutable std::vector<CombineSlot> slots_;  // of every thread
  mutable std::int64_t row_count_ = 0;
};

}  // namespace

std::unique_ptr<backend::LayerSteps> layer_steps(const LayerShape& shape, const LayerMemory& memory,
                                                 SharedPool pool) {
  return std::make_unique<HostSteps>(shape, memory, pool);
}

}  // namespace thresher::cpu
