// SPDX-License-Identifier: Apache-2.0
// Boxes by tensor maps: where every byte comes to lie in every swizzle, everything that a map can
// say wrongly said once, and pairs of blocks that count at one barrier.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "emulator/device_memory.hpp"
#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "emulator/tensor_map.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace)
using hw::TensorMap;
using hw::TensorMapFields;

constexpr u32 kRows = 40;
constexpr u32 kRowBytes = 320;

class Boxes : public ::testing::Test {
 protected:
  Boxes() {
    matrix_ = static_cast<u8*>(memory_.allocate(kRows * kRowBytes, "matrix"));
    for (u32 i = 0; i < kRows * kRowBytes; ++i) matrix_[i] = static_cast<u8>(i * 7 + i / 256);
  }

  LaunchOptions options(std::uint64_t seed = 0, int blocks = 1) const {
    return {.block_count = blocks,
            .cluster_blocks = blocks,
            .thread_count = 32,
            .shared_bytes = 40960,
            .seed = seed,
            .memory = &memory_};
  }

  TensorMapFields fields(hw::Swizzle swizzle = hw::Swizzle::k128, u32 box_rows = 16) const {
    return hw::tensor_map_fields(reinterpret_cast<u64>(matrix_), kRows, kRowBytes, box_rows,
                                 swizzle);
  }

  static hw::SharedAddress barrier() { return hw::shared_base() + 32768; }

  // Thread 0 copies a box to the start of shared memory, waits for it, and looks.
  template <typename Look>
  auto copies(const TensorMap& map, u32 byte, u32 row, u32 bytes, Look look) const {
    return [&map, byte, row, bytes, look] {
      if (hw::thread_index() != 0) return;
      hw::barrier_init(barrier(), 1);
      hw::barrier_init_fence();
      hw::barrier_arrive_expect(barrier(), bytes);
      hw::copy_box_to_shared<1>(hw::shared_base(), &map, byte, row, barrier());
      hw::barrier_wait(barrier(), 0);
      look();
    };
  }

  std::string fault_with(const TensorMapFields& wrong) const {
    const TensorMap map = hw::tensor_map(wrong);
    return fault_of(options(), copies(map, 0, 0, wrong.box[0] * wrong.box[1], [] {}));
  }

  DeviceMemory memory_;
  u8* matrix_;
};

// Said another way than the emulator says it: row r's chunk c of `chunks` stands at place
// c ^ (r * chunks / 8 % chunks), as the descriptors of MMAs count it.
TEST_F(Boxes, ComeToLieInTheSwizzle) {
  for (const hw::Swizzle swizzle : {hw::Swizzle::k32, hw::Swizzle::k64, hw::Swizzle::k128}) {
    TensorMapFields told = fields(swizzle);
    const u32 row_bytes = 16u << static_cast<u32>(swizzle);
    const u32 chunks = row_bytes / 16;
    told.box[0] = row_bytes;
    const TensorMap map = hw::tensor_map(told);
    launch(options(3), copies(map, 64, 5, 16 * row_bytes, [&] {
             for (u32 i = 0; i < 16 * row_bytes; ++i) {
               const u32 row = i / row_bytes;
               const u32 chunk = i % row_bytes / 16 ^ (row * chunks / 8 % chunks);
               const u32 byte = 16 * chunk + i % 16;
               ASSERT_EQ(hw::load_shared<u8>(hw::shared_base() + i),
                         matrix_[(5 + row) * kRowBytes + 64 + byte])
                   << row_bytes << " " << i;
             }
           }));
  }
}

TEST_F(Boxes, ComeRowByRowWithoutASwizzle) {
  TensorMapFields told = fields(hw::Swizzle::kNone, 256);
  told.box[0] = 80;
  const TensorMap map = hw::tensor_map(told);
  launch(options(1), copies(map, 0, 0, 256 * 80, [&] {
           for (u32 i = 0; i < kRows * 80; ++i) {
             ASSERT_EQ(hw::load_shared<u8>(hw::shared_base() + i),
                       matrix_[i / 80 * kRowBytes + i % 80]);
           }
         }));
}

// What the matrix does not have is zeros, and counts.
TEST_F(Boxes, AreZerosWhereTheMatrixEnds) {
  const TensorMap map = hw::tensor_map(fields());
  launch(options(2), copies(map, 256, 32, 2048, [&] {
           for (u32 i = 0; i < 2048; ++i) {
             const u32 byte = ((i % 128 / 16) ^ (i / 128 % 8)) * 16 + i % 16;
             const u32 row = 32 + i / 128;
             const bool is_there = byte < 64 && row < kRows;
             ASSERT_EQ(hw::load_shared<u8>(hw::shared_base() + i),
                       is_there ? matrix_[row * kRowBytes + 256 + byte] : 0);
           }
         }));
  EXPECT_FAULT(options(), copies(map, 0, kRows, 1024, [] {}), "bytes more than phase 0");
}

// Every field that the host says is looked at.
TEST_F(Boxes, EveryFieldIsHeldToItsRule) {
  EXPECT_EQ(fault_with(fields()), "");
  const auto expect = [&](auto change, const char* words) {
    TensorMapFields wrong = fields();
    change(wrong);
    EXPECT_TRUE(contains(fault_with(wrong), words)) << words << "\n" << fault_with(wrong);
  };
  expect([](auto& map) { map.type = 1; }, "has elements of type 1");
  expect([](auto& map) { map.rank = 3; }, "has 3 dimensions");
  expect([](auto& map) { map.interleave = 1; }, "interleaves");
  expect([](auto& map) { map.swizzle = 4; }, "has swizzle 4");
  expect([](auto& map) { map.promotion = 4; }, "has L2 promotion 4");
  expect([](auto& map) { map.fill = 1; }, "fills with NaN");
  expect([](auto& map) { map.address += 8; }, "not aligned to 16");
  expect([](auto& map) { map.address = 0; }, "has its matrix at 0x0");
  expect([](auto& map) { map.extents[1] = 0; }, "has an extent of 0");
  expect([](auto& map) { map.extents[1] = (u64{1} << 32) + 1; }, "not between 1 and 2^32");
  expect([](auto& map) { map.stride_bytes = 328; }, "has rows 328 bytes apart");
  expect([](auto& map) { map.stride_bytes = 304; }, "has rows of 320 bytes only 304 apart");
  expect([](auto& map) { map.box[1] = 257; }, "has a box with an extent of 257");
  expect([](auto& map) { map.box[1] = 0; }, "has a box with an extent of 0");
  expect([](auto& map) { map.box[0] = 120; }, "has a box with rows of 120 bytes, no multiple");
  expect([](auto& map) { map.swizzle = 2; }, "has a box with rows of 128 bytes, and swizzles 64");
  expect([](auto& map) { map.steps[1] = 2; }, "steps by 1 and 2 elements");
}

TEST_F(Boxes, LieWhereTheSwizzleWantsThem) {
  const auto at = [&](const TensorMap& map, u32 offset) {
    return fault_of(options(), [&map, offset] {
      if (hw::thread_index() != 0) return;
      hw::barrier_init(barrier(), 1);
      hw::barrier_init_fence();
      hw::copy_box_to_shared<1>(hw::shared_base() + offset, &map, 0, 0, barrier());
    });
  };
  const TensorMap swizzled = hw::tensor_map(fields());
  EXPECT_TRUE(contains(at(swizzled, 512), "not aligned to 1024 bytes"));
  const TensorMap plain = hw::tensor_map(fields(hw::Swizzle::kNone));
  EXPECT_TRUE(contains(at(plain, 64), "not aligned to 128 bytes"));
  EXPECT_TRUE(contains(at(plain, 39936), "outside shared memory"));
}

// The matrix is what there is of memory, whatever the map says.
TEST_F(Boxes, StayInsideMemory) {
  TensorMapFields told = fields();
  told.extents[1] = kRows + 8;
  const TensorMap map = hw::tensor_map(told);
  EXPECT_FAULT(options(), copies(map, 0, kRows, 2048, [] {}), "from the start of matrix");
}

TEST_F(Boxes, MapsAreAligned) {
#ifdef THRESHER_SANITIZES_UNDEFINED
  GTEST_SKIP() << "the sanitizer ends whoever refers to what is not aligned";
#endif
  alignas(64) std::byte bytes[256] = {};
  const TensorMap map = hw::tensor_map(fields());
  std::memcpy(bytes + 16, &map, sizeof map);
  const auto* const misplaced = reinterpret_cast<const TensorMap*>(bytes + 16);
  EXPECT_FAULT(options(), copies(*misplaced, 0, 0, 2048, [] {}), "not aligned to 64");
}

// A map in global memory, which the host has copied there.
TEST_F(Boxes, MapsInGlobalMemoryAreFenced) {
  auto* const map = static_cast<TensorMap*>(memory_.allocate(sizeof(TensorMap), "map"));
  *map = hw::tensor_map(fields());
  const auto kernel = [&](bool fences) {
    return [=, this] {
      if (hw::thread_index() == 0 && fences) hw::tensor_map_fence(map);
      copies(*map, 0, 0, 2048, [] {})();
    };
  };
  EXPECT_EQ(fault_of(options(), kernel(true)), "");
  EXPECT_FAULT(options(), kernel(false), "and has not said tensor_map_fence");
  const TensorMap parameter = hw::tensor_map(fields());
  EXPECT_FAULT(
      options(), [&] { hw::tensor_map_fence(&parameter); }, "which is not in global memory");
}

// Each block of a pair copies a box; both count at the first's barrier, which tells the second.
struct BoxChanges {
  u32 expected = 2 * 2048;
  bool leader_learns = true;  // that what the other brought is there
  bool peer_learns = true;    // before it ends
  bool leader_fences = true;  // its barriers
};

class BoxesOfPairs : public Boxes {
 protected:
  auto kernel(const TensorMap& map, const BoxChanges& changes) const {
    return [&map, changes] {
      const bool leads = hw::cluster_rank() == 0;
      const bool acts = hw::thread_index() == 0;
      if (acts) {
        hw::barrier_init(barrier(), 1);
        hw::barrier_init(barrier() + 8, 1);
        if (!leads || changes.leader_fences) hw::barrier_init_fence();
      }
      hw::sync_block<2>();
      if (acts && leads) hw::barrier_arrive_expect(barrier(), changes.expected);
      if (acts) hw::copy_box_to_shared<2>(hw::shared_base(), &map, 0, leads ? 0 : 8, barrier());
      if (acts && leads) {
        if (changes.leader_learns) {
          hw::barrier_wait<2>(barrier(), 0);
        } else {
          hw::barrier_wait(barrier(), 0);
        }
        hw::load_shared<u8>(hw::shared_base());
        if (changes.peer_learns) {
          hw::barrier_arrive_cluster(hw::cluster_address(barrier() + 8, 1));
        }
      }
      if (acts && !leads && changes.peer_learns) {
        hw::barrier_wait<2>(barrier() + 8, 0);
        hw::load_shared<u8>(hw::shared_base());
      }
      hw::sync_warp();
      if (changes.peer_learns && changes.leader_learns) hw::sync_block<2>();
    };
  }
  std::string run(const BoxChanges& changes, std::uint64_t seed = 0) const {
    const TensorMap map = hw::tensor_map(fields());
    return fault_of(options(seed, 2), kernel(map, changes));
  }
};

TEST_F(BoxesOfPairs, CountAtTheLeadersBarrier) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) EXPECT_EQ(run({}, seed), "");
  EXPECT_TRUE(contains(run({.expected = 2048}), "which completed without expecting them"));
  EXPECT_TRUE(contains(run({.expected = 3 * 2048}), "(phase 0 lacks 2048 bytes)"));
}

TEST_F(BoxesOfPairs, NeedAPair) {
  const TensorMap map = hw::tensor_map(fields());
  const auto alone = [&] { hw::copy_box_to_shared<2>(hw::shared_base(), &map, 0, 0, barrier()); };
  EXPECT_FAULT(options(), alone, "for a pair of blocks, and its cluster has one block");
}

TEST_F(BoxesOfPairs, TheLeadersBarrierIsFenced) {
  EXPECT_TRUE(contains(run({.leader_fences = false}), "which had no barrier_init_fence"));
}

// Only a wait of the cluster's scope tells of the other block's copy.
TEST_F(BoxesOfPairs, WaitsMustBeOfTheClustersScope) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = run({.leader_learns = false}, seed);
    EXPECT_TRUE(contains(text, "a bulk copy that another block issued may still be writing") ||
                contains(text, "a copy or a commit of another block belongs") ||
                contains(text, "nothing tells it that copies to its shared memory"))
        << text;
  }
}

TEST_F(BoxesOfPairs, NeitherEndsBeforeItsBoxIsThere) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = run({.peer_learns = false}, seed);
    EXPECT_TRUE(contains(text, "block 1 ends, and nothing tells it that copies to its shared") ||
                contains(text, "starts a copy to block"))
        << text;
  }
}

// Both blocks bring a box to both. Each counts at its own barrier, or, for pairs, the first does
// for both, and tells the second.
struct SharedBoxChanges {
  u32 blocks = 3;
  u32 expected = 0;  // 0: what comes
  bool waits_in_cluster = true;
  bool fences = true;       // barriers
  bool peer_learns = true;  // of a pair
  u32 offset = 0;
};

class BoxesToSeveralBlocks : public Boxes {
 protected:
  static constexpr u32 kBoxBytes = 2048;

  template <int kBlocks>
  auto kernel(const TensorMap& map, const SharedBoxChanges& changes) const {
    return [this, &map, changes] {
      const auto rank = static_cast<u32>(hw::cluster_rank());
      if (hw::thread_index() == 0) {
        hw::barrier_init(barrier(), 1);
        hw::barrier_init(barrier() + 8, 1);
        if (changes.fences) hw::barrier_init_fence();
      }
      hw::sync_block<2>();
      if (hw::thread_index() == 0) {
        const u32 comes = 2 * kBlocks * kBoxBytes;
        if (rank == 0 || kBlocks == 1) {
          hw::barrier_arrive_expect(barrier(), changes.expected != 0 ? changes.expected : comes);
        }
        hw::copy_box_to_blocks<kBlocks>(hw::shared_base() + rank * kBoxBytes + changes.offset, &map,
                                        0, 16 * rank, barrier(), changes.blocks);
        learn<kBlocks>(rank, changes);
        if (changes.expected == 0 && changes.peer_learns) look();
      }
      hw::sync_warp();
      if (changes.peer_learns) hw::sync_block<2>();
    };
  }

  template <int kBlocks>
  std::string run(const SharedBoxChanges& changes, std::uint64_t seed = 0) const {
    const TensorMap map = hw::tensor_map(fields());
    return fault_of(options(seed, 2), kernel<kBlocks>(map, changes));
  }

  template <int kBlocks>
  void expect_fault(const SharedBoxChanges& changes, const char* words) const {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const std::string text = run<kBlocks>(changes, seed);
      EXPECT_TRUE(contains(text, words)) << "wanted: " << words << "\nreported: " << text;
    }
  }

 private:
  template <int kBlocks>
  static void learn(u32 rank, const SharedBoxChanges& changes) {
    if (kBlocks == 2 && rank == 1) {
      if (changes.peer_learns) hw::barrier_wait<2>(barrier() + 8, 0);
      return;
    }
    if (changes.waits_in_cluster) {
      hw::barrier_wait<2>(barrier(), 0);
    } else {
      hw::barrier_wait(barrier(), 0);
    }
    if (kBlocks == 2 && changes.peer_learns) {
      hw::barrier_arrive_cluster(hw::cluster_address(barrier() + 8, 1));
    }
  }

  void look() const {
    for (u32 i = 0; i < 2 * kBoxBytes; i += 16) {
      const u32 chunk = i % 128 / 16 ^ i / 128 % 8;
      ASSERT_EQ(hw::load_shared<u8>(hw::shared_base() + i),
                matrix_[i / 128 * kRowBytes + 16 * chunk])
          << i;
    }
  }
};

TEST_F(BoxesToSeveralBlocks, BringTheSameToAll) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_EQ(run<1>({}, seed), "");
    EXPECT_EQ(run<2>({}, seed), "");
  }
}

TEST_F(BoxesToSeveralBlocks, NameBlocksThatAreThere) {
  expect_fault<1>({.blocks = 0}, "says copy_box_to_blocks to blocks 0b0 of a cluster of 2");
  expect_fault<2>({.blocks = 6}, "says copy_box_to_blocks to blocks 0b110 of a cluster of 2");
}

TEST_F(BoxesToSeveralBlocks, AreHeldToPlaces) {
  expect_fault<1>({.offset = 512}, "not aligned to 1024 bytes");
  expect_fault<2>({.offset = 39936}, "outside shared memory");
}

// One block alone gets a box from each; the first of a pair counts all four.
TEST_F(BoxesToSeveralBlocks, CountWhereTheyShould) {
  expect_fault<1>({.expected = 3 * kBoxBytes}, "(phase 0 lacks 2048 bytes)");
  expect_fault<2>({.expected = 5 * kBoxBytes}, "(phase 0 lacks 2048 bytes)");
  EXPECT_TRUE(contains(run<2>({.expected = 2 * kBoxBytes}), "which completed without expecting") ||
              contains(run<2>({.expected = 2 * kBoxBytes}), "bytes more than phase 0"));
}

TEST_F(BoxesToSeveralBlocks, BarriersAreFenced) {
  expect_fault<1>({.fences = false}, "which had no barrier_init_fence");
  expect_fault<2>({.fences = false}, "which had no barrier_init_fence");
}

TEST_F(BoxesToSeveralBlocks, WaitsMustBeOfTheClustersScope) {
  expect_fault<1>({.waits_in_cluster = false},
                  "a bulk copy that another block issued may still be writing");
  expect_fault<2>({.waits_in_cluster = false},
                  "a bulk copy that another block issued may still be writing");
}

TEST_F(BoxesToSeveralBlocks, NeitherEndsBeforeTheyAreThere) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = run<2>({.peer_learns = false}, seed);
    EXPECT_TRUE(
        contains(text, "nothing tells it that copies to its shared memory, which another") ||
        contains(text, "starts a copy to block"))
        << text;
  }
}

}  // namespace
}  // namespace thresher::emulator
