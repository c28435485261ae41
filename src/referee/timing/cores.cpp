// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/cores.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace thresher::referee {

std::vector<CoreUse> core_use() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return {};
  std::vector<CoreUse> uses;
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name.size() < 4 || !name.starts_with("cpu")) continue;
    const int core = std::stoi(name.substr(3));
    if (core >= CPU_SETSIZE || !CPU_ISSET(core, &usable)) continue;
    std::int64_t user = 0;
    std::int64_t nice = 0;
    std::int64_t system = 0;
    words >> user >> nice >> system;
    uses.push_back({core, user + nice + system});
  }
  return uses;
}

std::vector<int> quietest_cores(const std::vector<CoreUse>& before,
                                const std::vector<CoreUse>& after, int count) {
  const auto wanted = static_cast<std::size_t>(std::max(count, 0));
  if (wanted == 0 || before.size() != after.size() || after.size() <= wanted) return {};
  std::vector<CoreUse> between;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (before[i].core != after[i].core) return {};
    between.push_back({after[i].core, after[i].busy - before[i].busy});
  }
  std::stable_sort(between.begin(), between.end(),
                   [](const CoreUse& a, const CoreUse& b) { return a.busy < b.busy; });
  std::vector<int> cores;
  for (std::size_t i = 0; i < wanted; ++i) cores.push_back(between[i].core);
  std::sort(cores.begin(), cores.end());
  return cores;
}

int quiet_core_count(const std::vector<CoreUse>& before, const std::vector<CoreUse>& after,
                     double ticks) {
  if (before.empty() || before.size() != after.size() || !(ticks > 0)) return 0;
  std::int64_t busy = 0;
  for (std::size_t i = 0; i < after.size(); ++i) busy += after[i].busy - before[i].busy;
  const int busy_count = static_cast<int>(std::lround(static_cast<double>(busy) / ticks));
  return std::max(1, static_cast<int>(after.size()) - busy_count);
}

int watch_quiet_cores() {
  const std::vector<CoreUse> before = core_use();
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  return quiet_core_count(before, core_use(),
                          passed.count() * static_cast<double>(sysconf(_SC_CLK_TCK)));
}

}  // namespace thresher::referee
