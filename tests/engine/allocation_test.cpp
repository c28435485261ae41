// SPDX-License-Identifier: Apache-2.0
// run() allocates nothing. Every allocation of the process is counted, on all threads, whether it
// comes through operator new or straight from malloc: the sanitizers have a hook for that, and
// without them the functions below stand in front of glibc's.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "engine/c_handles.hpp"
#include "support/scene.hpp"
#include "thresher/engine.hpp"
#include "thresher/thresher.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocation_count{0};

void count_allocation() noexcept {
  if (counting.load(std::memory_order_relaxed)) ++allocation_count;
}

}  // namespace

#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
// GCC ships the function without the header that declares it.
extern "C" int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void* memory, std::size_t bytes),
    void (*free_hook)(const volatile void* memory));

namespace {
bool install_counter() {
  static const bool installed = __sanitizer_install_malloc_and_free_hooks(
                                    [](const volatile void*, std::size_t) { count_allocation(); },
                                    [](const volatile void*) {}) != 0;
  return installed;
}
}  // namespace

#elif defined(__GLIBC__)
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept {
  count_allocation();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  count_allocation();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  count_allocation();
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  count_allocation();
  return __libc_memalign(alignment, bytes);
}
}

namespace {
bool install_counter() { return true; }
}  // namespace

#else
namespace {
bool install_counter() { return false; }
}  // namespace
#endif

namespace thresher {
namespace {

using testing::make_problem;
using testing::Scene;

constexpr std::uint64_t kAllocationSeed = 20260404;

template <class Call>
int allocations_during(const Call& call) {
  allocation_count = 0;
  counting = true;
  call();
  counting = false;
  return allocation_count;
}

class Allocation : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!install_counter()) GTEST_SKIP() << "no way to count allocations with this C library";
  }
};

// If the counter were blind, every test below would pass.
TEST_F(Allocation, IsSeenByTheCounter) {
  // Volatile, or the compiler may leave out an allocation that nobody uses.
  void* volatile memory = nullptr;
  EXPECT_EQ(allocations_during([&] { memory = std::malloc(100); }), 1);
  std::free(memory);
  EXPECT_EQ(allocations_during([&] { memory = ::operator new(100); }), 1);
  ::operator delete(memory);
#if !defined(THRESHER_SANITIZES_THREAD)  // whose hook is not called for aligned_alloc
  EXPECT_EQ(allocations_during([&] { memory = std::aligned_alloc(64, 128); }), 1);
  std::free(memory);
#endif
}

TEST_F(Allocation, NeverHappensInRun) {
  const Engine engine({.thread_count = 3});
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const Activations activations :
         {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
      const Problem problem = make_problem({5, 0, 70}, 50, 208, op, activations);
      Scene scene(engine, problem, InputFamily::kNatural, kAllocationSeed);
      for (const std::string& variant : engine.variants()) {
        if (!engine.supports(problem, variant).ok) continue;
        const Plan plan = engine.plan(problem, variant);
        const Workspace workspace = engine.workspace(plan);
        const Operands operands = scene.operands();
        // The very first run counts too: nothing may be put off until then.
        EXPECT_EQ(allocations_during([&] { engine.run(plan, operands, workspace); }), 0)
            << variant << ", " << to_string(op) << ", " << to_string(activations);
      }
    }
  }
}

TEST_F(Allocation, NeverHappensInRunFromC) {
  const testing::OwnedEngine engine = testing::make_engine({.thread_count = 2});
  const std::vector<std::uint8_t> codes(64 * 32), scales(64 * 4, 0x38);
  const thresher_weight_matrices matrices{.b = {codes.data(), scales.data(), 64, 64, 1.0f}};
  thresher_weights* weights = nullptr;
  ASSERT_EQ(thresher_pack(engine.get(), &matrices, &weights), THRESHER_OK);
  const testing::OwnedWeights owned_weights(weights);

  const thresher_group group{.m = 8, .n = 64, .k = 64};
  const thresher_problem problem{.output = THRESHER_C_FP32, .groups = &group, .group_count = 1};
  thresher_plan* plan = nullptr;
  ASSERT_EQ(thresher_plan_create(engine.get(), &problem, nullptr, 0, &plan), THRESHER_OK);
  const testing::OwnedPlan owned_plan(plan);
  thresher_workspace* workspace = nullptr;
  ASSERT_EQ(thresher_workspace_create(engine.get(), plan, &workspace), THRESHER_OK);
  const testing::OwnedWorkspace owned_workspace(workspace);

  std::vector<float> c(8 * 64);
  const thresher_group_operands own{.weights = weights, .a_global_scale = 1.0f};
  const thresher_operands operands{
      .groups = &own,
      .group_count = 1,
      .rows = {.a = codes.data(), .a_scales = scales.data(), .c = c.data()}};
  thresher_status status = THRESHER_INTERNAL;
  EXPECT_EQ(
      allocations_during([&] { status = thresher_run(engine.get(), plan, &operands, workspace); }),
      0);
  EXPECT_EQ(status, THRESHER_OK);
}

}  // namespace
}  // namespace thresher
