// SPDX-License-Identifier: Apache-2.0
#include "tune/forest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace thresher::tune {
namespace {

constexpr std::size_t kTrees = 24;
constexpr std::size_t kLeafRows = 2;  // not cut any further

struct Split {
  int feature = -1;
  float threshold = 0;
  double gain = -1;  // to cut without a gain is better than not to: the next cut may have one
};

// How much smaller the squares become when rows are cut in two.
double gain_of(std::span<const std::size_t> rows, std::span<const Features* const> features,
               std::span<const double> values, int feature, float threshold) {
  double sums[2] = {0, 0};
  double counts[2] = {0, 0};
  for (const std::size_t row : rows) {
    const int side = (*features[row])[static_cast<std::size_t>(feature)] <= threshold ? 0 : 1;
    sums[side] += values[row];
    counts[side] += 1;
  }
  if (counts[0] == 0 || counts[1] == 0) return -1;
  const double total = sums[0] + sums[1];
  return sums[0] * sums[0] / counts[0] + sums[1] * sums[1] / counts[1] -
         total * total / (counts[0] + counts[1]);
}

// One threshold at random per feature that varies; of these the best.
Split draw_split(std::span<const std::size_t> rows, std::span<const Features* const> features,
                 std::span<const double> values, Random& random) {
  Split best;
  const std::size_t feature_count = features.front()->size();
  for (std::size_t feature = 0; feature < feature_count; ++feature) {
    float low = (*features[rows.front()])[feature];
    float high = low;
    for (const std::size_t row : rows) {
      low = std::min(low, (*features[row])[feature]);
      high = std::max(high, (*features[row])[feature]);
    }
    if (low == high) continue;
    const auto share = static_cast<float>(static_cast<double>(random.next() >> 40) * 0x1p-24);
    const float threshold = low + share * (high - low);
    const double gain = gain_of(rows, features, values, static_cast<int>(feature), threshold);
    if (gain > best.gain) best = {static_cast<int>(feature), threshold, gain};
  }
  return best;
}

}  // namespace

void Forest::fit(std::span<const Features* const> rows, std::span<const double> values,
                 Random& random) {
  trees_.clear();
  struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    int parent = -1;  // whose right child it is; -1: it follows its parent, or is the root
  };
  for (std::size_t i = 0; i < kTrees; ++i) {
    Tree tree;
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<Part> parts{{0, order.size(), -1}};
    while (!parts.empty()) {
      const Part part = parts.back();
      parts.pop_back();
      const std::span<std::size_t> here(order.data() + part.begin, part.end - part.begin);
      const int index = static_cast<int>(tree.size());
      if (part.parent >= 0) tree[static_cast<std::size_t>(part.parent)].right = index;
      Node& node = tree.emplace_back();
      for (const std::size_t row : here)
        node.value += values[row] / static_cast<double>(here.size());
      if (here.size() <= kLeafRows) continue;
      const Split split = draw_split(here, rows, values, random);
      if (split.feature < 0) continue;
      node.feature = split.feature;
      node.threshold = split.threshold;
      const auto middle = std::partition(here.begin(), here.end(), [&](std::size_t row) {
        return (*rows[row])[static_cast<std::size_t>(split.feature)] <= split.threshold;
      });
      const std::size_t cut = part.begin + static_cast<std::size_t>(middle - here.begin());
      parts.push_back({cut, part.end, index});
      parts.push_back({part.begin, cut, -1});
    }
    trees_.push_back(std::move(tree));
  }
}

Forest::Prediction Forest::predict(const Features& row) const {
  double sum = 0;
  double squares = 0;
  for (const Tree& tree : trees_) {
    std::size_t at = 0;
    while (tree[at].feature >= 0) {
      const bool left = row[static_cast<std::size_t>(tree[at].feature)] <= tree[at].threshold;
      at = left ? at + 1 : static_cast<std::size_t>(tree[at].right);
    }
    sum += tree[at].value;
    squares += tree[at].value * tree[at].value;
  }
  const double count = static_cast<double>(trees_.size());
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean))};
}

}  // namespace thresher::tune
