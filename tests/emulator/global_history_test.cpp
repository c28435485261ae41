// SPDX-License-Identifier: Apache-2.0
// Publication through global memory: what is in order passes, and each rule that is broken is named
// with who wrote, who read, and where.
#include "emulator/global_history.hpp"

#include <gtest/gtest.h>

#include "emulator/device_memory.hpp"
#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)

// A flag, and data behind it that a copy can read.
class Publication : public ::testing::Test {
 protected:
  Publication() {
    flag_ = static_cast<u32*>(memory_.allocate(16, "flags"));
    *flag_ = 0;
    data_ = static_cast<u32*>(memory_.allocate(256, "data"));
  }

  LaunchOptions options(u64 seed, bool dependent = false) {
    return {.block_count = 2,
            .thread_count = 64,
            .shared_bytes = 1024,
            .seed = seed,
            .memory = &memory_,
            .order = {.dependent = dependent},
            .history = &history_};
  }

  // What two blocks report: the first publishes, the second reads; the same whatever the order of
  // events is.
  template <typename Publish, typename Read>
  std::string fault_between(Publish publish, Read read) {
    std::string first;
    for (u64 seed = 1; seed <= 4; ++seed) {
      history_.synchronize();
      *flag_ = 0;
      const std::string message = fault_of(options(seed), [&] {
        if (hw::block_index() == 0) {
          publish();
        } else {
          read();
        }
      });
      if (seed == 1) first = message;
      EXPECT_EQ(message.empty(), first.empty()) << message;
    }
    return first;
  }

  void wait_for_flag() const {
    while (hw::load_global_coherent(flag_) == 0) {
    }
  }

  // Thread 1 stores, thread 0 tells.
  void store_and_publish(bool fence_behind_barrier) const {
    if (hw::thread_index() == 1) hw::store_global(data_, 7u);
    if (!fence_behind_barrier) hw::fence_device();
    hw::sync_block();
    if (hw::thread_index() != 0) return;
    if (fence_behind_barrier) hw::fence_device();
    hw::atomic_add(flag_, 1);
  }

  DeviceMemory memory_;
  GlobalHistory history_;
  u32* flag_ = nullptr;
  u32* data_ = nullptr;
};

void expect_words(const std::string& message, std::initializer_list<const char*> words) {
  for (const char* const word : words) EXPECT_TRUE(contains(message, word)) << message;
}

TEST_F(Publication, ReleaseAndAcquireOrder) {
  const auto publish = [&] { store_and_publish(/*fence_behind_barrier=*/true); };
  EXPECT_EQ(fault_between(publish,
                          [&] {
                            wait_for_flag();
                            hw::fence_device();
                            EXPECT_EQ(hw::load_global_coherent(data_), 7u);
                          }),
            "");
  // The same, by one thread for its block.
  EXPECT_EQ(fault_between(publish,
                          [&] {
                            if (hw::thread_index() == 0) {
                              while (hw::load_global_acquire(flag_) == 0) {
                              }
                            }
                            hw::sync_block();
                            EXPECT_EQ(hw::load_global_coherent(data_), 7u);
                          }),
            "");
}

TEST_F(Publication, WithoutAFlagNothingIsKnown) {
  const std::string message = fault_between(
      [&] {
        if (hw::thread_index() == 1) hw::store_global(data_ + 2, 7u);
      },
      [&] {
        if (hw::thread_index() == 5) hw::store_global(data_ + 2, 8u);
      });
  expect_words(message, {"thread ", "(data + 8), which thread ", " wrote: nothing was published"});
}

TEST_F(Publication, TheFlagAloneReleasesNothing) {
  const std::string message = fault_between(
      [&] {
        if (hw::thread_index() != 0) return;
        hw::store_global(data_, 7u);
        hw::atomic_add(flag_, 1);
      },
      [&] {
        wait_for_flag();
        hw::fence_device();
        hw::load_global_coherent(data_);
      });
  expect_words(message, {"block 1, thread ", "reads global address ",
                         "(data + 0), which thread 0 of block 0 wrote: who published it did not "
                         "say fence_device before"});
}

// PTX: the fence and the write that publishes are one thread's, in that order.
TEST_F(Publication, AFenceInFrontOfTheBarrierIsNotThePublishers) {
  const std::string message =
      fault_between([&] { store_and_publish(/*fence_behind_barrier=*/false); },
                    [&] {
                      wait_for_flag();
                      hw::fence_device();
                      hw::load_global_coherent(data_);
                    });
  expect_words(message, {"who published it did not say fence_device before"});
}

TEST_F(Publication, TheFlagAloneAcquiresNothing) {
  const std::string message =
      fault_between([&] { store_and_publish(/*fence_behind_barrier=*/true); },
                    [&] {
                      wait_for_flag();
                      hw::load_global_coherent(data_);
                    });
  expect_words(message, {"(data + 0), which thread 1 of block 0 wrote: it was published, but "
                         "nobody here said fence_device after seeing that"});
}

TEST_F(Publication, LoadGlobalIsForWhatTheLaunchDoesNotWrite) {
  const std::string message =
      fault_between([&] { store_and_publish(/*fence_behind_barrier=*/true); },
                    [&] {
                      wait_for_flag();
                      hw::fence_device();
                      hw::load_global(data_);
                    });
  expect_words(message, {"with load_global, which is for what no thread of the launch writes, but "
                         "thread 1 of block 0 wrote it"});
}

// What was read may be written only by those that know of it.
TEST_F(Publication, ReadersComeFirst) {
  const auto read = [&](bool fence) {
    hw::load_global_coherent(data_);
    if (fence) hw::fence_device();
    hw::sync_block();
    if (hw::thread_index() != 0) return;
    hw::fence_device();
    hw::atomic_add(flag_, 1);
  };
  const auto write = [&](bool acquires) {
    wait_for_flag();
    if (acquires) hw::fence_device();
    if (hw::thread_index() == 3) hw::store_global(data_, 1u);
  };
  EXPECT_EQ(fault_between([&] { read(true); }, [&] { write(true); }), "");
  expect_words(fault_between([&] { read(true); }, [&] { write(false); }),
               {"block 1, thread 3 (warp 0) writes global address ", " of block 0 read: "});
}

TEST_F(Publication, InABlockABarrierIsEnough) {
  const auto kernel = [&](bool barrier) {
    return [this, barrier] {
      if (hw::block_index() != 0) return;
      if (hw::thread_index() == 40) hw::store_global(data_, 7u);
      if (barrier) hw::sync_block();
      if (hw::thread_index() == 3) hw::load_global_coherent(data_);
      if (!barrier) hw::sync_block();
    };
  };
  EXPECT_EQ(fault_of(options(1), kernel(true)), "");
  bool found = false;
  for (u64 seed = 1; seed <= 8; ++seed) {
    history_.synchronize();
    found = found || contains(fault_of(options(seed), kernel(false)),
                              "which thread 40 of block 0 wrote: there is no barrier in between");
  }
  EXPECT_TRUE(found);
}

// A copy reads through another proxy, which has to be told on both sides.
class ProxyPublication : public Publication {
 protected:
  std::string fault_with(bool writer_fences, bool reader_fences) {
    return fault_between(
        [=, this] {
          if (hw::thread_index() < 16) hw::store_global(data_ + hw::thread_index(), 7u);
          if (writer_fences) hw::fence_async_global();
          hw::sync_block();
          if (hw::thread_index() != 0) return;
          hw::fence_device();
          hw::atomic_add(flag_, 1);
        },
        [=, this] {
          if (hw::thread_index() != 0) return;
          hw::barrier_init(hw::shared_base(), 1);
          hw::barrier_init_fence();
          while (hw::load_global_acquire(flag_) == 0) {
          }
          if (reader_fences) hw::fence_async_global();
          hw::barrier_arrive_expect(hw::shared_base(), 64);
          hw::copy_to_shared(hw::shared_base() + 128, data_, 64, hw::shared_base());
          hw::barrier_wait(hw::shared_base(), 0);
        });
  }
};

TEST_F(ProxyPublication, BothSidesFence) {
  EXPECT_EQ(fault_with(true, true), "");
  expect_words(fault_with(false, true),
               {"(data + 0) by a copy, which thread 0 of block 0 wrote without fence_async_global "
                "before it told of it"});
  expect_words(fault_with(true, false),
               {"by a copy, which thread 0 of block 0 wrote, and has not said fence_async_global "
                "since it knows of it"});
}

TEST_F(Publication, CopiesToGlobalMemoryMustHaveArrived) {
  const auto kernel = [&](bool arrives) {
    return [this, arrives] {
      if (hw::block_index() != 0 || hw::thread_index() != 0) return;
      hw::store_shared(hw::shared_base(), U32x4{1, 2, 3, 4});
      hw::fence_async();
      hw::copy_to_global(data_, hw::shared_base(), 16);
      hw::copy_commit();
      hw::copy_wait_read<0>();
      if (arrives) hw::copy_wait<0>();
      hw::load_global_coherent(data_);
    };
  };
  EXPECT_EQ(fault_of(options(1), kernel(true)), "");
  history_.synchronize();
  expect_words(fault_of(options(1), kernel(false)),
               {"which a copy of block 0 wrote: nothing tells that the copy is complete"});
}

// Launches on one stream.
class DependentLaunch : public Publication {
 protected:
  std::string fault_after(const std::function<void()>& first, const std::function<void()>& second) {
    history_.synchronize();
    launch(options(1), first);
    return fault_of(options(2, /*dependent=*/true), second);
  }
  static void in_one_thread(const std::function<void()>& act) {
    if (hw::block_index() == 0 && hw::thread_index() == 0) act();
  }
};

TEST_F(DependentLaunch, WaitsForWhatTheOneBeforeWrote) {
  const auto store = [&] { in_one_thread([&] { hw::store_global(data_, 7u); }); };
  const auto load = [&] { in_one_thread([&] { hw::load_global(data_); }); };
  EXPECT_EQ(fault_after(store,
                        [&] {
                          hw::wait_for_previous_kernel();
                          load();
                        }),
            "");
  expect_words(fault_after(store,
                           [&] {
                             load();
                             hw::wait_for_previous_kernel();
                           }),
               {"(data + 0), which thread 0 of block 0 of the launch before wrote: it has not said "
                "wait_for_previous_kernel"});
  // And the other way round.
  expect_words(fault_after(load,
                           [&] {
                             store();
                             hw::wait_for_previous_kernel();
                           }),
               {"writes global address", "of the launch before read: "});
}

TEST_F(DependentLaunch, OthersNeedNotWait) {
  launch(options(1), [&] { in_one_thread([&] { hw::store_global(data_, 7u); }); });
  EXPECT_EQ(fault_of(options(2), [&] { in_one_thread([&] { hw::load_global(data_); }); }), "");
}

// What was fenced before start_next_kernel may be used at once, even by atomics nothing else.
TEST_F(DependentLaunch, StartsBehindStartNextKernel) {
  const auto add = [&] { in_one_thread([&] { hw::atomic_add(flag_, 1); }); };
  const auto second = [&] {
    add();
    hw::wait_for_previous_kernel();
  };
  EXPECT_EQ(fault_after(
                [&] {
                  add();
                  hw::fence_device();
                  hw::sync_block();
                  hw::start_next_kernel();
                },
                second),
            "");
  for (const bool fences : {false, true}) {
    expect_words(fault_after(
                     [&] {
                       hw::start_next_kernel();
                       add();
                       if (fences) hw::fence_device();
                     },
                     second),
                 {"(flags + 0), which thread 0 of block 0 of the launch before wrote"});
  }
}

TEST_F(DependentLaunch, SomebodyMustWait) {
  EXPECT_EQ(fault_after([] {}, [] {}),
            "no thread of a dependent launch says wait_for_previous_kernel: those that wait for it "
            "would not know what came before it to be complete");
}

// A launch that begins before the one before it has waited does not know what came before both.
TEST_F(DependentLaunch, KnowsWhatTheOneBeforeKnewWhenItStartedIt) {
  for (const bool waits_first : {true, false}) {
    history_.synchronize();
    launch(options(1), [&] { in_one_thread([&] { hw::store_global(data_, 7u); }); });
    launch(options(2, /*dependent=*/true), [&] {
      if (waits_first) hw::wait_for_previous_kernel();
      hw::start_next_kernel();
      if (!waits_first) hw::wait_for_previous_kernel();
    });
    const std::string message = fault_of(options(3, /*dependent=*/true), [&] {
      in_one_thread([&] { hw::load_global(data_); });
      hw::wait_for_previous_kernel();
    });
    if (waits_first) {
      EXPECT_EQ(message, "");
    } else {
      expect_words(message, {"which thread 0 of block 0 of 2 launches before wrote"});
    }
  }
}

}  // namespace
}  // namespace thresher::emulator
