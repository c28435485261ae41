// SPDX-License-Identifier: Apache-2.0
#include "tune/forest.hpp"

#include <gtest/gtest.h>

namespace thresher::tune {
namespace {

// 8 x 8 points of two features that mean nothing by themselves: a chessboard of four squares.
struct Board {
  Board() {
    for (int i = 0; i < 64; ++i) {
      const int x = i / 8;
      const int y = i % 8;
      points.push_back({static_cast<float>(x), static_cast<float>(y)});
      values.push_back((x < 4) == (y < 4) ? 1 : 3);
    }
    for (const Features& point : points) rows.push_back(&point);
  }

  std::vector<Features> points;
  std::vector<const Features*> rows;
  std::vector<double> values;
};

TEST(Forest, KnowsWhatFeaturesDoTogether) {
  const Board board;
  Forest forest;
  Random random(1);
  forest.fit(board.rows, board.values, random);
  EXPECT_NEAR(forest.predict({1, 1}).mean, 1, 0.2);
  EXPECT_NEAR(forest.predict({1, 6}).mean, 3, 0.2);
  EXPECT_NEAR(forest.predict({6, 1}).mean, 3, 0.2);
  EXPECT_NEAR(forest.predict({6, 6}).mean, 1, 0.2);
}

TEST(Forest, IsUnsureBetweenWhatItKnows) {
  const Features low{0};
  const Features high{100};
  const std::vector<const Features*> rows{&low, &low, &low, &high, &high, &high};
  Forest forest;
  Random random(1);
  forest.fit(rows, std::vector<double>{1, 1, 1, 5, 5, 5}, random);
  EXPECT_EQ(forest.predict({0}).sd, 0);
  EXPECT_EQ(forest.predict({100}).mean, 5);
  EXPECT_GT(forest.predict({50}).sd, 1);
}

TEST(Forest, OfEqualRowsIsTheirMean) {
  const Features row{2, 3};
  Forest forest;
  Random random(1);
  forest.fit(std::vector<const Features*>(4, &row), std::vector<double>{1, 2, 3, 6}, random);
  EXPECT_EQ(forest.predict({9, 9}).mean, 3);
}

}  // namespace
}  // namespace thresher::tune
