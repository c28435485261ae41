// SPDX-License-Identifier: Apache-2.0
#include "measure/layer_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "backend/backend.hpp"
#include "gemm/oracle.hpp"
#include "gemm/random.hpp"
#include "measure/series.hpp"
#include "moe/device_layer.hpp"
#include "moe/oracle.hpp"

namespace thresher::measure {
namespace {

// Sets of ids, so many that all of them together touch more than a cache holds.
constexpr double kColdBytes = 256e6;
constexpr int kSetsMin = 4;
constexpr int kSetsMax = 32;
constexpr std::size_t kRehearsals = 500;  // of a call without its work
// Experts with contents of their own; the others repeat them in memory of their own.
constexpr std::int64_t kDistinctExperts = 2;

// Bytes without a pattern, fast.
std::vector<std::uint8_t> random_bytes(std::int64_t count, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  std::uint64_t state = seed | 1;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(bytes.data() + i, &state, std::min(sizeof state, bytes.size() - i));
  }
  return bytes;
}

// Values of a few hundredths, as a checkpoint's are.
Nvfp4Matrix random_matrix(std::int64_t rows, std::int64_t k, std::uint64_t seed) {
  Nvfp4Matrix matrix{.codes = random_bytes(rows * k / 2, seed),
                     .scales = random_bytes(rows * k / kBlockElements, seed + 1),
                     .rows = rows,
                     .k_elements = k,
                     .global_scale = 0.01f};
  for (std::uint8_t& scale : matrix.scales) scale = static_cast<std::uint8_t>(0x30 | (scale & 15));
  return matrix;
}

MoeOptions moe_options(const LayerModel& model, const LayerTrialOptions& options) {
  MoeOptions made{.top_k = model.top_k,
                  .tokens_max = options.tokens_max,
                  .router_experts = model.router_experts,
                  .activations = options.activations,
                  .activation = model.activation,
                  .batch_invariant = options.batch_invariant};
  if (model.activation == MoeActivation::kClampedSilu) {
    made.alpha = 1.702f;
    made.beta = 1.0f;
    made.limit = 7.0f;
  }
  return made;
}

// Ids of a token, all different: the k largest of scores that are random, or that fall with the
// logarithm of the expert's rank if the routing is skewed.
class IdSource {
 public:
  IdSource(const LayerModel& model, bool skewed, std::uint64_t seed)
      : top_k_(model.top_k), skewed_(skewed), random_(seed) {
    order_.resize(static_cast<std::size_t>(model.id_count()));
    std::iota(order_.begin(), order_.end(), 0);
    scores_.resize(order_.size());
  }

  void append(std::vector<std::int32_t>& ids) {
    for (std::size_t e = 0; e < scores_.size(); ++e) {
      const double uniform = (static_cast<double>(random_.below(1u << 30)) + 0.5) / (1u << 30);
      const double popularity = skewed_ ? -std::log(static_cast<double>(e + 1)) : 0;
      scores_[e] = popularity - std::log(-std::log(uniform));  // Gumbel's trick
    }
    std::partial_sort(order_.begin(), order_.begin() + top_k_, order_.end(), [this](int a, int b) {
      return scores_[static_cast<std::size_t>(a)] > scores_[static_cast<std::size_t>(b)];
    });
    ids.insert(ids.end(), order_.begin(), order_.begin() + top_k_);
  }

 private:
  const std::int64_t top_k_;
  const bool skewed_;
  Random random_;
  std::vector<std::int32_t> order_;
  std::vector<double> scores_;
};

}  // namespace

// Of an expert, in host memory.
struct LayerTrialExpert {
  Nvfp4Matrix gate, up, down;
  std::vector<float> biases;

  LayerTrialExpert(const LayerModel& model, std::uint64_t seed)
      : gate(random_matrix(model.intermediate, model.hidden, seed)),
        up(random_matrix(model.intermediate, model.hidden, seed + 10)),
        down(random_matrix(model.hidden, model.intermediate, seed + 20)) {
    if (!model.biases) return;
    biases.assign(static_cast<std::size_t>(std::max(model.hidden, model.intermediate)), 0.125f);
  }

  MoeExpert view(const LayerModel& model) const {
    MoeExpert expert{.up = up.view(), .down = down.view()};
    const bool gated = model.activation != MoeActivation::kSquaredRelu;
    if (gated) expert.gate = gate.view();
    if (!model.biases) return expert;
    if (gated) expert.gate_bias = biases.data();
    expert.up_bias = expert.down_bias = biases.data();
    return expert;
  }
};

class LayerTrial::State {
 public:
  State(const Engine& engine, const LayerModel& model, const LayerTrialOptions& options)
      : engine_(engine), options_(options), model_(limited(model, options.expert_limit)) {
    const std::int64_t distinct = std::min(kDistinctExperts, model_.expert_count);
    for (std::int64_t i = 0; i < distinct; ++i) {
      contents_.emplace_back(model_, options.seed + 100 * static_cast<std::uint64_t>(i));
    }
    const MoeSource source{.expert_count = model_.expert_count,
                           .expert = [&](std::int64_t index) { return expert(index); }};
    layer_ = std::make_unique<moe::DeviceLayer>(engine, source, moe_options(model_, options));
    const std::vector<std::uint8_t> x = random_x();
    x_ = std::make_unique<Buffer>(place(x));
    out_ = std::make_unique<Buffer>(engine.allocate(x.size()));
    x_host_ = x;
  }

  const LayerModel& model() const { return model_; }
  const moe::DeviceLayer& layer() const { return *layer_; }

  LayerTiming run(std::int64_t token_count) {
    LayerTiming timing{.token_count = token_count,
                       .launch_count = layer_->kernel_launch_count(token_count),
                       .variants = layer_->variants(token_count)};
    draw_sets(timing);
    const std::unique_ptr<Clock> clock = make_clock(engine_, clock_options());
    const std::vector<Entrant> entrants = entrants_of(timing, *clock);
    // Products alone read what the last whole call has left between them: as many rows as any set
    // has, or some would never have been written.
    layer_->enqueue(tokens(fullest_set_, token_count), clock->stream());
    const Judge judge = [&](const Entrant& entrant, std::size_t set) {
      return &entrant == &entrants.front() ? check(token_count, set) : Conformance();
    };
    const std::vector<Timing> timings = play_series(
        *clock, entrants, judge,
        {.seconds = options_.seconds, .seed = options_.seed, .copy_count = ids_.size()});
    if (!timings[0].first_failure.empty()) throw Error(timings[0].first_failure);
    timing.us = timings[0].us;
    if (timings.size() > 1) timing.products_us = timings[1].us;
    timing.error_over_bound = timings[0].max_error_over_bound;
    timing.timed = clock->description();
    if (clock->stream() != nullptr) {
      timing.host_us = host_us(engine_, entrants.front(), ids_.size(), ids_.size());
    } else {
      time_beside(timing);
    }
    return timing;
  }

 private:
  // Where a call returns with its work done, what is not the work of rows is called alone.
  void time_beside(LayerTiming& timing) const {
    const std::int64_t count = timing.token_count;
    const auto best_us = [&](const std::function<void(const MoeTokens&)>& part, std::size_t calls) {
      const Entrant entrant{.enqueue = [&](std::size_t set) { part(tokens(set, count)); }};
      return host_us(engine_, entrant, ids_.size(), calls);
    };
    timing.sort_us = best_us([&](const MoeTokens& of) { layer_->sort(of); }, 2 * ids_.size());
    // On the counts of the set that was sorted last.
    timing.host_us = best_us([&](const MoeTokens& of) { layer_->rehearse(of); }, kRehearsals);
  }

  static LayerModel limited(LayerModel model, std::int64_t limit) {
    if (limit == 0 || limit >= model.expert_count) return model;
    if (model.router_experts != 0) {
      model.router_experts = model.router_experts * limit / model.expert_count;
    }
    model.expert_count = limit;
    if (model.top_k > model.id_count()) {
      throw Error(fmt::format("{} experts are fewer than top_k = {}", limit, model.top_k));
    }
    return model;
  }

  MoeExpert expert(std::int64_t index) const {
    return contents_[static_cast<std::size_t>(index) % contents_.size()].view(model_);
  }

  template <class Value>
  Buffer place(const std::vector<Value>& values) const {
    const auto bytes = std::as_bytes(std::span(values));
    Buffer buffer = engine_.allocate(bytes.size());
    buffer.copy_in(bytes);
    return buffer;
  }

  // bf16 values of about 1.
  std::vector<std::uint8_t> random_x() const {
    std::vector<std::uint8_t> bytes = random_bytes(2 * options_.tokens_max * model_.hidden, 77);
    for (std::size_t i = 1; i < bytes.size(); i += 2) {
      bytes[i] = static_cast<std::uint8_t>((bytes[i] & 0x80) | 0x3f);
    }
    return bytes;
  }

  void draw_sets(LayerTiming& timing) {
    const std::int64_t tokens = timing.token_count;
    IdSource source(model_, options_.skewed, options_.seed + static_cast<std::uint64_t>(tokens));
    ids_host_.clear();
    ids_.clear();
    weights_.clear();
    double bytes = 0;
    double most_rows = 0;
    while (set_count() < kSetsMin || (bytes < kColdBytes && set_count() < kSetsMax)) {
      std::vector<std::int32_t> ids;
      for (std::int64_t i = 0; i < tokens; ++i) source.append(ids);
      const double rows_before = timing.rows;
      bytes += count(ids, timing) * model_.expert_bytes();
      if (timing.rows - rows_before >= most_rows) {
        most_rows = timing.rows - rows_before;
        fullest_set_ = ids_.size();
      }
      ids_.push_back(place(ids));
      ids_host_.push_back(std::move(ids));
      weights_.push_back(place(weights_host()));
    }
    const double sets = set_count();
    timing.experts_touched /= sets;
    timing.rows /= sets;
    timing.weight_bytes = timing.experts_touched * model_.expert_bytes();
    timing.operations = 2 * timing.rows * model_.expert_bytes() / kNvfp4BytesPerElement;
  }

  // Adds up the experts and rows of a set; returns its experts.
  double count(const std::vector<std::int32_t>& ids, LayerTiming& timing) const {
    std::vector<bool> touched(static_cast<std::size_t>(model_.expert_count));
    for (const std::int32_t id : ids) {
      if (id >= model_.expert_count) continue;
      touched[static_cast<std::size_t>(id)] = true;
      timing.rows += 1;
    }
    const auto experts = static_cast<double>(std::count(touched.begin(), touched.end(), true));
    timing.experts_touched += experts;
    return experts;
  }

  std::vector<float> weights_host() const {
    return std::vector<float>(ids_weights_count(), 1.0f / static_cast<float>(model_.top_k));
  }
  std::size_t ids_weights_count() const {
    return static_cast<std::size_t>(options_.tokens_max * model_.top_k);
  }

  int set_count() const { return static_cast<int>(ids_host_.size()); }

  MoeTokens tokens(std::size_t set, std::int64_t token_count) const {
    return {.x = x_->data(),
            .ids = static_cast<const std::int32_t*>(ids_[set].data()),
            .weights = static_cast<const float*>(weights_[set].data()),
            .out = out_->data(),
            .token_count = token_count};
  }

  ClockOptions clock_options() const {
    return {
        .surroundings = options_.surroundings, .graph = options_.graph, .copy_count = ids_.size()};
  }

  // The layer; and its products, where the experts of one set do not fit into a cache: where
  // nothing is prepared they run on what was gathered last.
  std::vector<Entrant> entrants_of(const LayerTiming& timing, const Clock& clock) {
    void* const stream = clock.stream();
    const std::int64_t count = timing.token_count;
    std::vector<Entrant> entrants{
        {.name = model_.name,
         .enqueue = [=, this](std::size_t i) { layer_->enqueue(tokens(i, count), stream); },
         .poison = [=, this](std::size_t, std::uint64_t seed) { poison(count - 1, seed); }}};
    if (clock.prepares() || timing.weight_bytes >= kColdBytes / 2) {
      entrants.push_back(
          {.name = "its products",
           .enqueue = [=,
                       this](std::size_t i) { layer_->enqueue_products(tokens(i, count), stream); },
           .prepare = [=,
                       this](std::size_t i) { layer_->enqueue_gather(tokens(i, count), stream); },
           .poison = [](std::size_t, std::uint64_t) {}});
    }
    return entrants;
  }

  std::size_t row_bytes() const { return static_cast<std::size_t>(2 * model_.hidden); }

  void poison(std::int64_t token, std::uint64_t seed) const {
    const std::vector<std::uint8_t> bytes = random_bytes(2 * model_.hidden, seed);
    out_->copy_in(std::as_bytes(std::span(bytes)), static_cast<std::size_t>(token) * row_bytes());
  }

  // The last token of a set against the oracle.
  Conformance check(std::int64_t token_count, std::size_t set) const {
    const std::int64_t token = token_count - 1;
    std::vector<std::uint8_t> row(row_bytes());
    const auto offset = static_cast<std::size_t>(token) * row.size();
    out_->copy_out(std::as_writable_bytes(std::span(row)), offset);
    std::vector<MoeExpert> experts;
    for (std::int64_t i = 0; i < model_.expert_count; ++i) experts.push_back(expert(i));
    const std::vector<float> weights = weights_host();
    const MoeTokens alone{.x = x_host_.data() + offset,
                          .ids = ids_host_[set].data() + token * model_.top_k,
                          .weights = weights.data(),
                          .out = row.data(),
                          .token_count = 1};
    const double ratio = moe::worst_ratio({{.experts = experts}, layer_->options()}, alone, 0);
    if (ratio <= 1) return {.max_error_over_bound = ratio};
    return {.ok = false,
            .max_error_over_bound = ratio,
            .first_failure =
                fmt::format("{}: token {} of {} is {:.3g} times the bound away from the oracle",
                            model_.name, token, token_count, ratio)};
  }

  const Engine& engine_;
  const LayerTrialOptions options_;
  const LayerModel model_;
  std::vector<LayerTrialExpert> contents_;
  std::unique_ptr<moe::DeviceLayer> layer_;
  std::vector<std::uint8_t> x_host_;
  std::unique_ptr<Buffer> x_;
  std::unique_ptr<Buffer> out_;
  std::vector<std::vector<std::int32_t>> ids_host_;  // by set
  std::size_t fullest_set_ = 0;
  std::vector<Buffer> ids_;
  std::vector<Buffer> weights_;
};

LayerTrial::LayerTrial(const Engine& engine, const LayerModel& model,
                       const LayerTrialOptions& options)
    : state_(std::make_unique<State>(engine, model, options)) {}
LayerTrial::~LayerTrial() = default;

const LayerModel& LayerTrial::model() const { return state_->model(); }
std::size_t LayerTrial::weight_bytes() const { return state_->layer().weight_bytes(); }
std::size_t LayerTrial::workspace_bytes() const { return state_->layer().workspace_bytes(); }
LayerTiming LayerTrial::run(std::int64_t token_count) { return state_->run(token_count); }

}  // namespace thresher::measure
