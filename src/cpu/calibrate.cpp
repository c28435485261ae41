// SPDX-License-Identifier: Apache-2.0
#include "cpu/calibrate.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include "assert.hpp"
#include "cpu/calibrate_loops.hpp"
#include "cpu/pages.hpp"
#include "cpu/pool.hpp"
#include "hide.hpp"
#include "middle.hpp"

namespace thresher::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds) {}
  bool passed() const { return seconds_between(begin_, Clock::now()) >= seconds_; }

 private:
  Clock::time_point begin_ = Clock::now();
  double seconds_;
};

// Runs work(thread_index) on every thread at once: nobody starts before all are there. Returns the
// seconds from the first start to the last end.
template <typename Work>
double time_together(Pool& pool, const Work& work) {
  const int thread_count = pool.thread_count();
  std::vector<Clock::time_point> begins(thread_count);
  std::vector<Clock::time_point> ends(thread_count);
  std::atomic<int> arrived_count = 0;
  pool.run([&](int thread_index) {
    ++arrived_count;
    while (arrived_count < thread_count) std::this_thread::yield();
    begins[thread_index] = Clock::now();
    work(thread_index);
    ends[thread_index] = Clock::now();
  });
  return seconds_between(*std::min_element(begins.begin(), begins.end()),
                         *std::max_element(ends.begin(), ends.end()));
}

// The portable loops: vectors of 16 bytes are what every 64-bit machine has. Chains start from
// different values, or the compiler would run one of them and copy the rest.
constexpr int kPortableChainCount = 12;
using Floats = float __attribute__((vector_size(16)));
using Shorts = std::uint16_t __attribute__((vector_size(16)));
using Words = std::uint64_t __attribute__((vector_size(16)));

template <typename Vector, typename Lane>
void portable_multiply_add(std::int64_t iteration_count, Lane factor_value) {
  hide(factor_value);
  const Vector factor = Vector{} + factor_value;
  Vector sums[kPortableChainCount];
  for (int i = 0; i < kPortableChainCount; ++i) sums[i] = Vector{} + static_cast<Lane>(i + 1);
  for (std::int64_t i = 0; i < iteration_count; ++i) {
#pragma GCC unroll 12
    for (Vector& sum : sums) sum = sum * factor + factor;
  }
  Vector total = {};
  for (const Vector& sum : sums) total += sum;
  use(total);
}

void portable_fma(std::int64_t iteration_count) {
  portable_multiply_add<Floats>(iteration_count, 0.5f);
}

void portable_integer(std::int64_t iteration_count) {
  portable_multiply_add<Shorts>(iteration_count, std::uint16_t{3});
}

void portable_read(const ReadArgs& args) {
  Words sum = {};
  for (std::int64_t offset = 0; offset < args.stream_bytes; offset += kReadStepBytes) {
    for (int stream = 0; stream < args.stream_count; ++stream) {
      const std::uint8_t* step = args.data + stream * args.stream_bytes + offset;
      for (std::int64_t i = 0; i < kReadStepBytes; i += sizeof(Words)) {
        Words value;
        std::memcpy(&value, step + i, sizeof value);
        sum ^= value;
      }
    }
  }
  use(sum);
}

struct Loops {
  ReadFunction read = portable_read;
  ComputeLoop fma = {portable_fma, kPortableChainCount * 4 * 2.0};
  ComputeLoop integer = {portable_integer, kPortableChainCount * 8 * 2.0};
};

Loops loops(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kPortable:
      break;
    case Isa::kAvx2:
      return {read_avx2, fma_loop_avx2(), multiply_add_loop_avx2()};
    case Isa::kAvx512:
      return {read_avx512, fma_loop_avx512(), multiply_add_loop_avx512()};
    case Isa::kAvx512Vnni:
      return {read_avx512, fma_loop_avx512(), multiply_add_loop_avx512vnni()};
    case Isa::kAmx:
      return {read_avx512, fma_loop_avx512(), multiply_add_loop_amx()};
  }
#endif
  return {};
}

// Far beyond all caches together, but never more than a quarter of the memory.
std::int64_t read_bytes_total(int thread_count) {
  const std::int64_t memory_bytes =
      static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  const Caches cached = caches();
  const std::int64_t wanted =
      std::max({std::int64_t{256} << 20, 8 * cached.l3_bytes, 8 * cached.l2_bytes * thread_count});
  return std::min(wanted, memory_bytes / 4);
}

double measure_read_gb_per_s(ReadFunction read, Pool& pool, double seconds) {
  constexpr std::int64_t kPageBytes = 4096;
  const int thread_count = pool.thread_count();
  const std::int64_t slab_bytes =
      read_bytes_total(thread_count) / thread_count / kPageBytes * kPageBytes;
  const Pages pages(static_cast<std::size_t>(slab_bytes * thread_count));
  const auto slab = [&](int thread_index) { return pages.data() + thread_index * slab_bytes; };
  // Who touches a page decides where it lives.
  pool.run([&](int i) { make_distinct(slab(i), slab_bytes, i); });

  const Deadline deadline(seconds);
  double best = 0;
  for (int round = 0; round < 2 || !deadline.passed(); ++round) {
    for (const int stream_count : {1, 2, 4, 8}) {
      // Not a multiple of the page size, or all streams would compete for the same cache sets.
      const std::int64_t stream_bytes =
          (slab_bytes / stream_count / kPageBytes - 1) * kPageBytes + 5 * kReadStepBytes;
      const double elapsed = time_together(pool, [&](int i) {
        read({.data = slab(i), .stream_bytes = stream_bytes, .stream_count = stream_count});
      });
      const double bytes = static_cast<double>(stream_bytes) * stream_count * thread_count;
      best = std::max(best, bytes / elapsed / 1e9);
    }
  }
  return best;
}

double measure_gop_per_s(const ComputeLoop& loop, Pool& pool, double seconds) {
  // Long enough that starting the threads costs nothing, short enough that some go undisturbed.
  constexpr double kTrialSeconds = 4e-3;
  const Deadline deadline(seconds);
  std::int64_t iteration_count = 1024;
  double best = 0;
  for (int trial = 0; trial < 3 || !deadline.passed();) {
    const double elapsed = time_together(pool, [&](int) { loop.run(iteration_count); });
    if (elapsed < kTrialSeconds) {
      iteration_count *= 2;
      continue;
    }
    const double operations =
        loop.operations_per_iteration * static_cast<double>(iteration_count) * pool.thread_count();
    best = std::max(best, operations / elapsed / 1e9);
    ++trial;
  }
  return best;
}

// A chain of dependent multiplies: the same cycles every time, whatever the memory does. It takes
// longer than a scheduler's time slice, a few milliseconds, or it would slip through between the
// turns of other processes and find a busy machine quiet.
void spin() {
  std::uint64_t value = 1;
  hide(value);
  for (int i = 0; i < 4'000'000; ++i) value = value * 6364136223846793005u + 1;
  use(value);
}

double measure_noise(Pool& pool, double seconds) {
  const Deadline deadline(seconds);
  std::vector<double> times;
  while (times.size() < 20 || !deadline.passed()) {
    times.push_back(time_together(pool, [](int) { spin(); }));
  }
  const double median = upper_median(times);
  for (double& time : times) time = std::abs(time - median);
  return upper_median(times) / median;
}

}  // namespace

Ceilings measure_ceilings(Isa isa, int thread_count, double seconds) {
  THRESHER_ASSERT(can_run(isa) && thread_count > 0 && seconds > 0);
  const Loops measured = loops(isa);
  Pool pool(thread_count);
  return {.thread_count = thread_count,
          .read_gb_per_s = measure_read_gb_per_s(measured.read, pool, 0.4 * seconds),
          .integer_gop_per_s = measure_gop_per_s(measured.integer, pool, 0.2 * seconds),
          .fma_gflop_per_s = measure_gop_per_s(measured.fma, pool, 0.2 * seconds),
          .noise = measure_noise(pool, 0.2 * seconds)};
}

MachineRates machine_rates(Isa isa, const Ceilings& ceilings) {
  // AMX's ceiling is that of bf16 tiles, which hold bf16 and NVFP4 values exactly but not fp16.
  const bool has_tiles = isa == Isa::kAmx;
  return {.read_gb_per_s = ceilings.read_gb_per_s,
          .nvfp4_gop_per_s = ceilings.integer_gop_per_s,
          .fp16_gop_per_s = ceilings.fma_gflop_per_s,
          .bf16_gop_per_s = has_tiles ? ceilings.integer_gop_per_s : ceilings.fma_gflop_per_s};
}

}  // namespace thresher::cpu
