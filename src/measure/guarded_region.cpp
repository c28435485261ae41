// SPDX-License-Identifier: Apache-2.0
#include "measure/guarded_region.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rounding.hpp"

namespace thresher::measure {
namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr std::size_t kGroupAlignmentBytes = 64;

}  // namespace

GuardedRegion::GuardedRegion(const Problem& problem, OutputShape shape)
    : groups_(problem.groups),
      element_bytes_(static_cast<std::size_t>(bytes_per_element(problem.output))),
      shape_(shape) {
  const std::size_t misalignment_bytes =
      static_cast<std::size_t>(shape.misalignment_elements) * element_bytes_;
  std::size_t end = 0;  // of what is laid out so far
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::size_t begin =
        round_up(end + kGuardBytes, kGroupAlignmentBytes) + misalignment_bytes;
    offsets_.push_back(static_cast<std::int64_t>(begin));
    const std::int64_t elements =
        groups_[g].m == 0 ? 0 : (groups_[g].m - 1) * stride_elements(g) + groups_[g].n;
    end = begin + static_cast<std::size_t>(elements) * element_bytes_;
  }
  bytes_ = round_up(end + kGuardBytes, sizeof(std::uint64_t));
  poison_.resize(bytes_);
}

std::span<const std::byte> GuardedRegion::draw_poison(Random& random) {
  for (std::size_t i = 0; i < bytes_; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(poison_.data() + i, &word, sizeof word);
  }
  return poison_;
}

std::span<const std::byte> GuardedRegion::invert_poison() {
  for (std::byte& byte : poison_) byte = ~byte;
  return poison_;
}

void GuardedRegion::poison(std::byte* region, Random& random) {
  std::memcpy(region, draw_poison(random).data(), bytes_);
}

std::string GuardedRegion::find_trespass(const std::byte* region) const {
  std::string found;
  std::size_t guard_begin = 0;
  const auto check_guard = [&](std::size_t guard_end) {
    if (!found.empty()) return;
    const auto differ = std::mismatch(region + guard_begin, region + guard_end,
                                      poison_.begin() + static_cast<std::ptrdiff_t>(guard_begin));
    if (differ.first == region + guard_end) return;
    const auto at = static_cast<std::size_t>(differ.first - region);
    found = fmt::format("wrote byte {} of the {} guarded bytes {}", at - guard_begin,
                        guard_end - guard_begin,
                        guard_begin == 0      ? "before the first output"
                        : guard_end == bytes_ ? "behind the last output"
                                              : "between outputs");
  };
  for_each_row([&](std::size_t begin, std::size_t end) {
    check_guard(begin);
    guard_begin = end;
  });
  check_guard(bytes_);
  return found;
}

template <typename Bits>
std::int64_t GuardedRegion::count_poisoned(const std::byte* region) const {
  std::int64_t count = 0;
  for_each_row([&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; at += sizeof(Bits)) {
      Bits written;
      Bits poison;
      std::memcpy(&written, region + at, sizeof written);
      std::memcpy(&poison, poison_.data() + at, sizeof poison);
      count += written == poison;
    }
  });
  return count;
}

std::int64_t GuardedRegion::unwritten_count(const std::byte* region) const {
  const std::int64_t unwritten = element_bytes_ == sizeof(std::uint16_t)
                                     ? count_poisoned<std::uint16_t>(region)
                                     : count_poisoned<std::uint32_t>(region);
  double total = 0;
  for (const Group& group : groups_) total += static_cast<double>(group.m * group.n);
  // A random pattern is right by chance once in 2^bits. So many more than that do not happen in all
  // the calls that will ever be made; fewer are left to the check of the values.
  const double by_chance = std::ldexp(total, -8 * static_cast<int>(element_bytes_));
  const double forgiven = by_chance + 10 * std::sqrt(by_chance) + 8;
  return static_cast<double>(unwritten) > forgiven ? unwritten : 0;
}

std::vector<OutputView> GuardedRegion::views(const std::byte* region) const {
  std::vector<OutputView> views;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    views.push_back({.c = groups_[g].m == 0 ? nullptr : region + offsets_[g],
                     .stride_elements = stride_elements(g)});
  }
  return views;
}

namespace {

__extension__ using Product = unsigned __int128;

// Both halves of it: where a changed bit of the value shows in the upper one is for the secret
// multiplier to say. In the lower one alone the highest bit stays where it is under any multiplier,
// and a second change could take it back.
std::uint64_t folded_product(std::uint64_t value, std::uint64_t multiplier) {
  const Product product = static_cast<Product>(value) * multiplier;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t fingerprint(std::span<const std::byte> memory, std::uint64_t key) {
  const std::uint64_t multiplier = (key * 0x9e3779b97f4a7c15u) | 1;
  // Four chains, or each multiplication would wait for the one before.
  std::uint64_t chains[4] = {key, ~key, key * 3, key * 5};
  std::size_t at = 0;
  for (std::size_t i = 0; at < memory.size(); at += sizeof(std::uint64_t), ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory.data() + at, std::min(sizeof word, memory.size() - at));
    std::uint64_t& chain = chains[i % 4];
    chain = folded_product(chain ^ word, multiplier);
  }
  return chains[0] + 3 * chains[1] + 5 * chains[2] + 7 * chains[3];
}

}  // namespace thresher::measure
