// SPDX-License-Identifier: Apache-2.0
// The tensor core of a block as tcgen05 sees it: each thread's MMAs and copies of scales in flight,
// and the loads of warps that nobody has waited for.
//
// What a thread has issued is done in the order of issue, at random moments, from the shared and
// tensor memory of that moment. Whether that order may be relied on is checked at issue
// (tensor_memory.hpp): real hardware keeps it for some pairs only.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "emulator/descriptor.hpp"
#include "emulator/knowledge.hpp"
#include "emulator/launch.hpp"
#include "emulator/operation.hpp"
#include "emulator/shared_memory.hpp"
#include "emulator/tensor_memory.hpp"

namespace thresher::emulator {

// One word in flight.
struct TensorStep {
  std::function<void()> run;
  u32 event = 0;
};

// A thread's side.
struct TensorThread {
  Knowledge fenced;  // what the thread knew at its last tensor_fence_after
  // What others had done when it last issued something: whoever sees that complete knows as much.
  // The thread's own stores are no part of it, for a commit does not release them.
  Knowledge issued;
  Actor actor = 0;  // of its MMAs and copies, from the first on
  u32 event_count = 0;
  std::deque<TensorStep> in_flight;
};

// A warp's side: its loads and stores.
struct TensorWarp {
  struct Load {
    int lane = 0;
    float* values = nullptr;
    u32 first_column = 0;
    u32 columns = 0;
    std::vector<float> complete;  // once waited for: what goes to `values` when a wait names them
  };
  Actor actor = 0;
  u32 load_count = 0;    // events
  u32 waited_count = 0;  // of them complete
  std::vector<Load> loads;
  std::vector<Load> arriving;  // of the word that the warp is about to say
  std::array<const float*, gpu::hw::kWarpThreads> named{};  // by lane: of the wait it says

  struct Store {
    u32 lane = 0;  // of tensor memory
    u32 first_column = 0;
    std::vector<float> values;
  };
  Actor store_actor = 0;
  u32 store_count = 0;   // events
  u32 stored_count = 0;  // of them complete
  std::vector<Store> stores;
};

struct TensorCore {
  TensorMemory memory;
  bool allocates_no_more = false;
};

// One token per word for the grid's random choice; a thread's are done in order.
class TensorOperation final : public Operation {
 public:
  TensorOperation(Block& block, TensorThread& thread) : Operation(block), thread_(thread) {}
  void advance() override;
  bool done() const override { return done_; }

 private:
  TensorThread& thread_;
  bool done_ = false;
};

// An MMA taken apart.
struct TensorMma {
  MatrixView a;
  MatrixView b;
  u32 rows = 0;  // of a block
  u32 columns = 0;
  bool negate = false;
  u32 sums = 0;  // columns of tensor memory
  u32 a_scales = 0;
  u32 b_scales = 0;
  bool add = false;
  TensorSums model = TensorSums::kInOrder;
};
// A block that takes part: its rows of A, of the sums and of their scales, an equal share of B's
// rows, and the scales of all of them.
struct TensorSide {
  SharedMemory* shared = nullptr;
  TensorMemory* memory = nullptr;
};
void multiply(const TensorMma& mma, std::span<const TensorSide> sides);

// One sum: four blocks of 16, each an exact dot product in quarters and the product of its two
// scales, added to what is there.
struct ScaledBlocks {
  int dot[4] = {};     // of twice the values, so a quarter each
  u8 a_scale[4] = {};  // UE4M3
  u8 b_scale[4] = {};
};
float add_blocks(TensorSums model, float sum, const ScaledBlocks& blocks);

}  // namespace thresher::emulator
