// SPDX-License-Identifier: Apache-2.0
#include "cpu/features.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

namespace thresher::cpu {
namespace {

struct Requirement {
  const char* feature;
  bool present;
};

#if defined(__x86_64__)

// Linux hands out the AMX tile registers only to processes that ask (arch_prctl, kernel 5.16 on).
bool request_amx_tiles() {
  constexpr int kArchReqXcompPerm = 0x1023;
  constexpr int kXfeatureXtiledata = 18;
  static const bool granted = syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
  return granted;
}

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// For what __builtin_cpu_supports does not know: amx-tile and amx-bf16 in GCC 12, f16c in Clang 14.
Leaf cpuid(unsigned number) {
  Leaf leaf;
  if (!__get_cpuid_count(number, 0, &leaf.eax, &leaf.ebx, &leaf.ecx, &leaf.edx)) return {};
  return leaf;
}

std::vector<Requirement> requirements(Isa isa) {
  std::vector<Requirement> list;
  const auto need = [&list](const char* feature, bool present) {
    list.push_back({feature, present});
  };
  if (isa >= Isa::kAvx2) {
    need("avx2", __builtin_cpu_supports("avx2"));
    need("fma", __builtin_cpu_supports("fma"));
    need("f16c", (cpuid(1).ecx >> 29 & 1) != 0);
  }
  if (isa >= Isa::kAvx512) {
    need("avx512f", __builtin_cpu_supports("avx512f"));
    need("avx512bw", __builtin_cpu_supports("avx512bw"));
    need("avx512vl", __builtin_cpu_supports("avx512vl"));
    need("avx512dq", __builtin_cpu_supports("avx512dq"));
  }
  if (isa >= Isa::kAvx512Vnni) need("avx512vnni", __builtin_cpu_supports("avx512vnni"));
  if (isa >= Isa::kAmx) {
    const unsigned edx = cpuid(7).edx;
    need("amx-tile", (edx >> 24 & 1) != 0);
    need("amx-bf16", (edx >> 22 & 1) != 0);
    const bool in_cpu = (edx >> 24 & 1) != 0 && (edx >> 22 & 1) != 0;
    need("the operating system's grant of AMX tiles", in_cpu && request_amx_tiles());
  }
  return list;
}

#else

std::vector<Requirement> requirements(Isa isa) {
  if (isa == Isa::kPortable) return {};
  return {{"an x86-64 processor", false}};
}

#endif

// "32768K" under /sys speaks of one instance of the cache; sysconf may add up all of a socket's.
// Index 0 is L1 data, 2 is L2, 3 is L3 wherever Linux lists them.
std::int64_t cache_bytes(int index, int sysconf_name) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
  std::int64_t size = 0;
  char unit = 0;
  if (file >> size >> unit && unit == 'K') return size * 1024;
  return std::max<std::int64_t>(0, sysconf(sysconf_name));
}

// The cgroup v2 quota in whole cores, or a large number where there is none.
int cgroup_core_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period_us = 0;
  if (!(file >> quota >> period_us) || quota == "max" || period_us <= 0) return 1 << 20;
  try {
    return std::max(1, static_cast<int>(std::stod(quota) / period_us));
  } catch (const std::exception&) {
    return 1 << 20;
  }
}

std::string find_missing_features(Isa isa) {
  std::string missing;
  for (const Requirement& requirement : requirements(isa)) {
    if (requirement.present) continue;
    if (!missing.empty()) missing += ", ";
    missing += requirement.feature;
  }
  return missing;
}

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Vnni:
      return "avx512vnni";
    case Isa::kAmx:
      return "amx";
  }
  return "?";
}

const std::string& missing_features(Isa isa) {
  // Asked once: in a virtual machine every cpuid costs tens of microseconds, and plans ask.
  static const std::vector<std::string> missing = [] {
    std::vector<std::string> texts;
    for (const Isa one : kAllIsas) texts.push_back(find_missing_features(one));
    return texts;
  }();
  return missing[static_cast<std::size_t>(isa)];
}

bool can_run(Isa isa) { return missing_features(isa).empty(); }

std::vector<Isa> runnable_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : kAllIsas) {
    if (can_run(isa)) isas.push_back(isa);
  }
  return isas;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

Caches caches() {
  return {.l1d_bytes = cache_bytes(0, _SC_LEVEL1_DCACHE_SIZE),
          .l2_bytes = cache_bytes(2, _SC_LEVEL2_CACHE_SIZE),
          .l3_bytes = cache_bytes(3, _SC_LEVEL3_CACHE_SIZE)};
}

int usable_core_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int by_affinity = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::max(1, std::min(by_affinity, cgroup_core_quota()));
}

}  // namespace thresher::cpu
