// SPDX-License-Identifier: Apache-2.0
// The machine under a launch: decides which thread runs next and when work in flight completes.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "emulator/block.hpp"
#include "emulator/global_history.hpp"
#include "emulator/launch.hpp"
#include "gemm/random.hpp"

namespace thresher::emulator {

class Grid {
 public:
  Grid(const LaunchOptions& options, const std::function<void()>& kernel);
  void run();

  // Called by the running thread: waits until woken.
  void wait(Thread& thread, const Wait& wait);
  void wake(Thread& thread);
  // Called by the running thread: now and then lets others run first.
  void pause(Thread& thread);
  // As pause, but always, and gives up on a grid in which nothing else happens any more.
  void spin(Thread& thread);

  void start(std::shared_ptr<Operation> operation);
  void complete_phase_if_due(Barrier& barrier);

  const LaunchOptions& options() const { return options_; }
  Random& random() { return random_; }
  GlobalHistory& history() { return *history_; }
  const GlobalHistory::Start& known_at_start() const { return start_; }
  // For how many blocks the kernel's words of tcgen05 are; 0: it has said none.
  int& tensor_blocks() { return tensor_blocks_; }

 private:
  void make_resident();
  void begin_block(const std::shared_ptr<Cluster>& cluster);
  void run_thread(Thread& thread);
  void advance_some_operation();
  void end_thread(Thread& thread);
  void end_block(Block& block);
  void end_operations(const Block& block);
  Thread& next_thread();

  LaunchOptions options_;
  const std::function<void()>& kernel_;
  Random random_;
  GlobalHistory own_history_;  // of a launch that is alone
  GlobalHistory* history_;
  GlobalHistory::Start start_;
  std::uint64_t completion_odds_;  // one operation per so many steps; 0: only when all threads wait
  int slow_warp_;                  // a warp that is mostly passed over; -1: none
  int next_block_index_ = 0;
  int tensor_blocks_ = 0;
  std::list<Block> blocks_;
  std::vector<Thread*> ready_;
  std::vector<std::shared_ptr<Operation>> operations_;
  std::uint64_t spin_count_ = 0;
};

// The thread whose fibre is running.
Thread& self();

}  // namespace thresher::emulator
