// SPDX-License-Identifier: Apache-2.0
// What something usually takes, from the last few times: the known delay of the controls is a share
// of that.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace thresher::referee {

class RecentTimes {
 public:
  void add(double ns) { ns_[count_++ % ns_.size()] = ns; }

  // The median, the lower one of two: the first time is often a long one. 0 before the first.
  double usual() const {
    std::array<double, 5> sorted = ns_;
    const std::size_t count = std::min(count_, sorted.size());
    if (count == 0) return 0;
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
    return sorted[(count - 1) / 2];
  }

 private:
  std::array<double, 5> ns_ = {};
  std::size_t count_ = 0;
};

}  // namespace thresher::referee
