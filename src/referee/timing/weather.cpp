// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/weather.hpp"

#include <chrono>
#include <cstdio>
#include <iterator>

#include "hide.hpp"

namespace thresher::referee {
namespace {

constexpr int kSpinSteps = 20000;
constexpr std::size_t kStealColumn = 7;  // user nice system idle iowait irq softirq steal

}  // namespace

double reference_spin_ns() {
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t value = 1;
  for (int i = 0; i < kSpinSteps; ++i) {
    value = value * 6364136223846793005u + 1;
    use(value);
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

StealCount steal_so_far() {
  StealCount count;
  std::FILE* file = std::fopen("/proc/stat", "re");
  if (file == nullptr) return count;
  long long columns[kStealColumn + 1] = {};
  const int read = std::fscanf(file, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &columns[0],
                               &columns[1], &columns[2], &columns[3], &columns[4], &columns[5],
                               &columns[6], &columns[kStealColumn]);
  std::fclose(file);
  if (read != static_cast<int>(std::size(columns))) return count;
  count.stolen = columns[kStealColumn];
  for (const long long column : columns) count.all += column;
  return count;
}

double steal_share(const StealCount& before, const StealCount& after) {
  const std::int64_t all = after.all - before.all;
  return all > 0 ? static_cast<double>(after.stolen - before.stolen) / static_cast<double>(all) : 0;
}

}  // namespace thresher::referee
