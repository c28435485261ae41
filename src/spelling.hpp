// SPDX-License-Identifier: Apache-2.0
// The word that somebody meant, for messages about one that nobody knows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thresher {

// Letters to add, leave out, exchange or swap with their neighbour until one word is the other.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: a swap looks two rows back.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t exchanged = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, exchanged});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// How many slips a word may have and still be known: of three letters any two are another word.
inline std::size_t slips_max(std::size_t length) { return length < 4 ? 0 : length < 6 ? 1 : 2; }

// The nearest of `words`, if it is as near as a slip of the finger. Empty: nobody can have meant
// one of them.
template <typename Words>
std::string nearest_word(std::string_view word, const Words& words) {
  constexpr std::size_t kLengthMax = 64;  // what is longer is no slip, and takes long
  std::string nearest;
  std::size_t distance_min = kLengthMax;
  for (const std::string_view candidate : words) {
    const std::size_t length = std::max(word.size(), candidate.size());
    if (length > kLengthMax) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > slips_max(length) || distance >= distance_min) continue;
    distance_min = distance;
    nearest = candidate;
  }
  return nearest;
}

// "; did you mean 'claim'?", to stand behind a complaint; empty where no word is near.
template <typename Words>
std::string did_you_mean(std::string_view word, const Words& words) {
  const std::string nearest = nearest_word(word, words);
  return nearest.empty() ? std::string() : "; did you mean '" + nearest + "'?";
}

}  // namespace thresher
