// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "thresher/moe.hpp"

namespace thresher {
namespace {

struct Routed {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

Routed routed(const std::vector<float>& logits, const RouteOptions& options) {
  const auto slots = logits.size() / static_cast<std::size_t>(options.expert_count) *
                     static_cast<std::size_t>(options.top_k);
  Routed result{std::vector<std::int32_t>(slots), std::vector<float>(slots)};
  route(logits, options, result.ids, result.weights);
  return result;
}

std::string complaint(const std::vector<float>& logits, const RouteOptions& options) {
  try {
    routed(logits, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_near(const std::vector<float>& weights, const std::vector<double>& expected) {
  ASSERT_EQ(weights.size(), expected.size());
  for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(weights[i], expected[i], 1e-6) << i;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Route, SoftmaxWithAndWithoutRenormalising) {
  const std::vector<float> logits{0, 1, 2, 3, 5, 4, 4, -1};
  RouteOptions options{.expert_count = 4, .top_k = 2};
  const double first = std::exp(0) + std::exp(1) + std::exp(2) + std::exp(3);
  const double second = std::exp(5) + 2 * std::exp(4) + std::exp(-1);
  const Routed plain = routed(logits, options);
  // Of equal ones the lower index.
  EXPECT_EQ(plain.ids, (std::vector<std::int32_t>{3, 2, 0, 1}));
  expect_near(plain.weights, {std::exp(3) / first, std::exp(2) / first, std::exp(5) / second,
                              std::exp(4) / second});
  options.renormalize = true;
  options.scaling = 2;
  const double e = std::exp(1);
  expect_near(routed(logits, options).weights,
              {2 * e / (1 + e), 2 / (1 + e), 2 * e / (1 + e), 2 / (1 + e)});
}

TEST(Route, SoftmaxOfTheChosen) {
  const Routed result =
      routed({1, 3, 2, 0}, {.expert_count = 4, .top_k = 2, .score = RouteScore::kSoftmaxOfChosen});
  EXPECT_EQ(result.ids, (std::vector<std::int32_t>{1, 2}));
  const double e = std::exp(1);
  expect_near(result.weights, {e / (1 + e), 1 / (1 + e)});
}

// Four groups of two; the bias decides who is chosen, and is no part of a weight.
TEST(Route, SigmoidInGroupsWithABias) {
  const std::vector<float> logits{2, -3, 1, 1, 0, 0.5f, -1, -1};
  const std::vector<float> bias{0, 0, 0, 0, 0, 0, 1, 0.9f};
  const Routed result = routed(logits, {.expert_count = 8,
                                        .top_k = 3,
                                        .score = RouteScore::kSigmoid,
                                        .renormalize = true,
                                        .scaling = 2.5f,
                                        .bias = bias.data(),
                                        .group_count = 4,
                                        .groups_kept = 2});
  // Sums of the groups' two best: 0.928, 1.462, 1.122, 2.438: groups 3 and 1.
  EXPECT_EQ(result.ids, (std::vector<std::int32_t>{6, 7, 2}));
  const double sum = 2 * sigmoid(-1) + sigmoid(1);
  expect_near(result.weights,
              {2.5 * sigmoid(-1) / sum, 2.5 * sigmoid(-1) / sum, 2.5 * sigmoid(1) / sum});
}

TEST(Route, SqrtSoftplusAndInfinities) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Routed result = routed({0, 200, -infinity},
                               {.expert_count = 3, .top_k = 3, .score = RouteScore::kSqrtSoftplus});
  EXPECT_EQ(result.ids, (std::vector<std::int32_t>{1, 0, 2}));
  expect_near(result.weights, {std::sqrt(200.0), std::sqrt(std::log(2.0)), 0});
}

constexpr RouteScore kAllScores[] = {RouteScore::kSoftmax, RouteScore::kSoftmaxOfChosen,
                                     RouteScore::kSigmoid, RouteScore::kSqrtSoftplus};

TEST(Route, WhatIsNotFiniteIsRefusedWithItsPlace) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const RouteScore score : kAllScores) {
    const RouteOptions options{.expert_count = 2, .score = score, .renormalize = true};
    EXPECT_EQ(complaint({0, 1, infinity, 0}, options),
              "route: the logit of token 1, expert 0 is infinite");
    EXPECT_EQ(complaint({0, 1, -infinity, -infinity}, options),
              "route: all logits of token 1 are -infinity: no expert is left");
    for (const float bad : {std::nanf(""), infinity, -infinity}) {
      const std::vector<float> bias{0, bad};
      RouteOptions wrong = options;
      wrong.bias = bias.data();
      EXPECT_EQ(complaint({0, 1}, wrong).rfind("route: the bias of expert 1 is ", 0), 0u);
      wrong = options;
      wrong.scaling = bad;
      EXPECT_EQ(complaint({0, 1}, wrong).rfind("route: scaling = ", 0), 0u);
    }
  }
}

// In groups too, where a mask stands beside the only expert that is left.
TEST(Route, MaskedExpertsWeighNothing) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const RouteScore score : kAllScores) {
    const Routed result = routed({-infinity, -infinity, -infinity, 1}, {.expert_count = 4,
                                                                        .top_k = 2,
                                                                        .score = score,
                                                                        .renormalize = true,
                                                                        .group_count = 2,
                                                                        .groups_kept = 1});
    if (score == RouteScore::kSoftmaxOfChosen) {
      EXPECT_EQ(result.ids, (std::vector<std::int32_t>{3, 2}));
    }
    EXPECT_EQ(result.ids[0], 3);
    expect_near(result.weights, {1, 0});
  }
}

// Sums beyond FP32 are no reason for a wrong choice.
TEST(Route, TheLargestLogitsAndBiasesChoose) {
  const float largest = std::numeric_limits<float>::max();
  const std::vector<float> bias{largest, -largest, 0, 0};
  const Routed result = routed({largest, -largest, 1, 2}, {.expert_count = 4,
                                                           .top_k = 1,
                                                           .score = RouteScore::kSoftmaxOfChosen,
                                                           .bias = bias.data(),
                                                           .group_count = 2,
                                                           .groups_kept = 1});
  EXPECT_EQ(result.ids, std::vector<std::int32_t>{3});
  expect_near(result.weights, {1});
}

TEST(Route, SaysWhatIsWrong) {
  const std::vector<float> four(4, 0.0f);
  std::vector<float> none;
  try {
    route(four, {.expert_count = 0}, {}, none);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "route: expert_count = 0 is not in 1..65536");
  }
  EXPECT_EQ(complaint(four, {.expert_count = 4, .top_k = 5}),
            "route: top_k = 5 is not in 1..4, the experts to choose from");
  EXPECT_EQ(complaint(four, {.expert_count = 4, .group_count = 3}),
            "route: group_count = 3 does not divide expert_count = 4");
  EXPECT_EQ(complaint(four, {.expert_count = 4, .group_count = 2, .groups_kept = 3}),
            "route: groups_kept = 3 is not in 1..2");
  EXPECT_EQ(complaint(four, {.expert_count = 3}), "route: 4 logits are not rows of 3");
  std::vector<float> nan = four;
  nan[3] = std::nanf("");
  EXPECT_EQ(complaint(nan, {.expert_count = 2}), "route: the logit of token 1, expert 1 is NaN");
  std::vector<std::int32_t> ids(3);
  std::vector<float> weights(2);
  try {
    route(four, {.expert_count = 2}, ids, weights);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "route: 2 tokens x top_k = 1 need 2 ids and weights, not 3 and 2");
  }
}

}  // namespace
}  // namespace thresher
