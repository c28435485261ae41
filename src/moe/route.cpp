// SPDX-License-Identifier: Apache-2.0
// From a router's logits to ids and weights, in FP32 (exponentials in double), one token at a time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "thresher/moe.hpp"

namespace thresher {
namespace {

void check_route(const RouteOptions& options, std::size_t logit_count, std::size_t id_count,
                 std::size_t weight_count) {
  const std::int64_t experts = options.expert_count;
  if (experts < 1 || experts > kGroupCountMax) {
    throw Error(fmt::format("route: expert_count = {} is not in 1..{}", experts, kGroupCountMax));
  }
  if (options.group_count < 1 || experts % options.group_count != 0) {
    throw Error(fmt::format("route: group_count = {} does not divide expert_count = {}",
                            options.group_count, experts));
  }
  if (options.groups_kept < 1 || options.groups_kept > options.group_count) {
    throw Error(fmt::format("route: groups_kept = {} is not in 1..{}", options.groups_kept,
                            options.group_count));
  }
  const std::int64_t kept = experts / options.group_count * options.groups_kept;
  if (options.top_k < 1 || options.top_k > kept) {
    throw Error(fmt::format("route: top_k = {} is not in 1..{}, the experts to choose from",
                            options.top_k, kept));
  }
  if (options.score > RouteScore::kSqrtSoftplus) {
    throw Error(fmt::format("route: score = {} is not in 0..3", static_cast<int>(options.score)));
  }
  if (!std::isfinite(options.scaling)) {
    throw Error(fmt::format("route: scaling = {} is not finite", options.scaling));
  }
  for (std::int64_t e = 0; options.bias != nullptr && e < experts; ++e) {
    if (std::isfinite(options.bias[e])) continue;
    throw Error(fmt::format("route: the bias of expert {} is {}, not finite", e, options.bias[e]));
  }
  const auto tokens = logit_count / static_cast<std::size_t>(experts);
  if (tokens * static_cast<std::size_t>(experts) != logit_count) {
    throw Error(fmt::format("route: {} logits are not rows of {}", logit_count, experts));
  }
  const std::size_t slots = tokens * static_cast<std::size_t>(options.top_k);
  if (id_count == slots && weight_count == slots) return;
  throw Error(fmt::format("route: {} tokens x top_k = {} need {} ids and weights, not {} and {}",
                          tokens, options.top_k, slots, id_count, weight_count));
}

// A logit of -infinity is a mask: the expert's score is 0. A token with nothing else has no scores.
void check_logits(std::span<const float> logits, std::size_t token) {
  bool any = false;
  for (std::size_t e = 0; e < logits.size(); ++e) {
    any |= std::isfinite(logits[e]);
    if (std::isfinite(logits[e]) || logits[e] < 0) continue;
    throw Error(fmt::format("route: the logit of token {}, expert {} is {}", token, e,
                            std::isnan(logits[e]) ? "NaN" : "infinite"));
  }
  if (any) return;
  throw Error(fmt::format("route: all logits of token {} are -infinity: no expert is left", token));
}

float sigmoid(float x) { return static_cast<float>(1 / (1 + std::exp(-double{x}))); }

float sqrt_softplus(float x) {
  // log(1 + e^x) without overflow.
  const double softplus = std::max(double{x}, 0.0) + std::log1p(std::exp(-std::fabs(double{x})));
  return static_cast<float>(std::sqrt(softplus));
}

void softmax(std::span<float> values) {
  const float largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (const float value : values) sum += std::exp(double{value} - largest);
  for (float& value : values) value = static_cast<float>(std::exp(double{value} - largest) / sum);
}

class Router {
 public:
  explicit Router(const RouteOptions& options)
      : options_(options),
        scores_(static_cast<std::size_t>(options.expert_count)),
        ranks_(scores_.size()),
        order_(scores_.size()) {}

  void run(std::span<const float> logits, std::span<std::int32_t> ids, std::span<float> weights) {
    score(logits);
    choose();
    for (std::size_t slot = 0; slot < ids.size(); ++slot) {
      ids[slot] = order_[slot];
      weights[slot] = scores_[static_cast<std::size_t>(order_[slot])];
    }
    weigh(weights);
  }

 private:
  void score(std::span<const float> logits) {
    for (std::size_t e = 0; e < scores_.size(); ++e) {
      const float logit = logits[e];
      if (options_.score == RouteScore::kSigmoid) {
        scores_[e] = sigmoid(logit);
      } else if (options_.score == RouteScore::kSqrtSoftplus) {
        scores_[e] = sqrt_softplus(logit);
      } else {
        scores_[e] = logit;
      }
    }
    if (options_.score == RouteScore::kSoftmax) softmax(scores_);
    for (std::size_t e = 0; e < scores_.size(); ++e) {
      const float rank = scores_[e] + (options_.bias == nullptr ? 0.0f : options_.bias[e]);
      // Finite, so that the sum of a group's two best is a number.
      constexpr float kLargest = std::numeric_limits<float>::max();
      ranks_[e] = std::clamp(rank, -kLargest, kLargest);
    }
  }

  // The best experts of the best groups, best first.
  void choose() {
    if (options_.groups_kept < options_.group_count) drop_groups();
    std::iota(order_.begin(), order_.end(), 0);
    std::partial_sort(order_.begin(), order_.begin() + options_.top_k, order_.end(),
                      [this](std::int32_t a, std::int32_t b) {
                        const float rank_a = ranks_[static_cast<std::size_t>(a)];
                        const float rank_b = ranks_[static_cast<std::size_t>(b)];
                        return rank_a != rank_b ? rank_a > rank_b : a < b;
                      });
  }

  // Nobody of a group that is left out can be chosen: enough others are left.
  void drop_groups() {
    const auto group_count = static_cast<std::size_t>(options_.group_count);
    const std::size_t size = ranks_.size() / group_count;
    std::vector<float> sums;
    for (std::size_t g = 0; g < group_count; ++g) {
      std::vector<float> members(ranks_.begin() + static_cast<std::ptrdiff_t>(g * size),
                                 ranks_.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
      const std::size_t best = std::min<std::size_t>(2, size);
      std::partial_sort(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(best),
                        members.end(), std::greater<>());
      sums.push_back(best == 2 ? members[0] + members[1] : members[0]);
    }
    std::vector<std::size_t> groups(group_count);
    std::iota(groups.begin(), groups.end(), std::size_t{0});
    std::stable_sort(groups.begin(), groups.end(),
                     [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
    for (std::size_t i = static_cast<std::size_t>(options_.groups_kept); i < group_count; ++i) {
      std::fill_n(ranks_.begin() + static_cast<std::ptrdiff_t>(groups[i] * size), size,
                  -std::numeric_limits<float>::infinity());
    }
  }

  void weigh(std::span<float> weights) const {
    if (options_.score == RouteScore::kSoftmaxOfChosen) softmax(weights);
    float divisor = 1;
    if (options_.renormalize) divisor = std::accumulate(weights.begin(), weights.end(), 0.0f);
    for (float& weight : weights) {
      if (divisor > 0) weight /= divisor;  // nothing to divide where all scores are 0
      weight *= options_.scaling;
    }
  }

  const RouteOptions& options_;
  std::vector<float> scores_;
  std::vector<float> ranks_;  // what experts are chosen by
  std::vector<std::int32_t> order_;
};

}  // namespace

void route(std::span<const float> logits, const RouteOptions& options, std::span<std::int32_t> ids,
           std::span<float> weights) {
  check_route(options, logits.size(), ids.size(), weights.size());
  const auto experts = static_cast<std::size_t>(options.expert_count);
  const auto top_k = static_cast<std::size_t>(options.top_k);
  // Before anything is written.
  for (std::size_t token = 0; token < logits.size() / experts; ++token) {
    check_logits(logits.subspan(token * experts, experts), token);
  }
  Router router(options);
  for (std::size_t token = 0; token < logits.size() / experts; ++token) {
    router.run(logits.subspan(token * experts, experts), ids.subspan(token * top_k, top_k),
               weights.subspan(token * top_k, top_k));
  }
}

}  // namespace thresher
