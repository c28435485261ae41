// SPDX-License-Identifier: Apache-2.0
// A sandboxed process as the referee holds it: start it, talk to it with a clock in hand, stop it,
// let it go on, kill it with everything it has started.
//
// All its processes live in a cage (cage.hpp), which freezes, counts and kills them together. Where
// the kernel has none, signals to the process group stop and kill, and a look at every task
// (census.hpp) says whether they have.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "referee/protocol.hpp"
#include "referee/sandbox/cage.hpp"
#include "referee/sandbox/job.hpp"
#include "referee/sandbox/scratch.hpp"

namespace thresher::referee {

using Clock = std::chrono::steady_clock;

enum class Heard : std::uint8_t {
  kLine,
  kTimeout,
  kEnded,     // describe_end() says how
  kOverlong,  // more than kLineBytesMax without a line break
  kFlood,     // more than kErrorBytesMax on stderr
};

struct Answer {
  Heard heard = Heard::kTimeout;
  std::string line;
  Clock::time_point when;  // it could be read at this time
};

inline constexpr std::size_t kErrorBytesMax = std::size_t{1} << 20;

// What all processes of a contestant have used so far.
struct ChildUse {
  std::int64_t cpu_ns = 0;
  std::int64_t memory_bytes = 0;   // 0 where the kernel holds the limit itself
  std::int64_t written_bytes = 0;  // to files; 0 where nobody counts
  bool bound = true;               // to the cores it was given
};

struct ChildOptions {
  std::filesystem::path program;  // the thresher binary; empty means the running one
  WorkOrder order;
  int input_fd = -1;  // arenas to inherit, or none
  int output_fd = -1;
  std::vector<int> cores;  // it and all it starts stay on these; empty: where they like
};

class Child {
 public:
  // Throws Error when no process can be started: the operator's trouble, not the contestant's.
  explicit Child(ChildOptions options);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  // Waits until the sandbox stands and foreign code is about to run; false if it never does.
  bool wait_until_started(Clock::time_point deadline);

  // False when nobody reads any more.
  bool send(const std::string& line);
  Answer await_line(Clock::time_point deadline);
  // Something was said that await_line() has not returned.
  bool has_spoken();
  // That, or its beginning.
  std::string unasked();

  // All processes of the contestant at once.
  void stop();
  // Waits until nothing of it runs any more, in user or kernel mode; false: something still does.
  bool settle(Clock::time_point deadline) const;
  void resume();
  // To be asked when it has settled.
  ChildUse use() const;
  void kill();

  // Waits for the process to end by itself. False: it did not.
  bool wait_for_end(Clock::time_point deadline);
  // Exit code 0, and no signal.
  bool succeeded() const { return ending_ == "exit 0"; }
  // "was ended by signal 11 (Segmentation fault: ...); stderr: ..."
  std::string describe_end() const;
  // The kernel has ended some of its processes for that.
  bool went_over_memory() const { return cage_->memory_kill_count() > 0; }
  // Its processes together; 0: no limit.
  std::int64_t memory_bytes_max() const { return memory_bytes_max_; }
  // The beginning of what it wrote to stderr.
  const std::string& errors() const { return errors_; }

  // Layers that the kernel refused, complete once started.
  const std::vector<std::string>& refusals() const { return refusals_; }

 private:
  void spawn(const ChildOptions& options);
  // Waits for any news and takes it in; false when the deadline has passed.
  bool listen(Clock::time_point deadline);
  void read_output();
  void read_errors();
  void read_control();
  bool has_ended() const { return !ending_.empty() || !failure_.empty(); }
  void signal_group(int signal) const;
  bool freezes() const { return caged_ && cage_->can_freeze(); }
  bool has_settled() const;

  const std::vector<int> cores_;
  const std::int64_t memory_bytes_max_;
  std::unique_ptr<Cage> cage_;  // outlives all that is in it
  bool caged_ = true;           // everybody has entered it
  pid_t pid_ = -1;
  UniqueFd stdin_;
  UniqueFd stdout_;
  UniqueFd stderr_;
  UniqueFd control_;
  LineReader lines_;
  LineReader control_lines_;
  Clock::time_point last_read_;
  std::size_t error_bytes_ = 0;
  std::string errors_;
  std::vector<std::string> refusals_;
  bool started_ = false;
  std::string failure_;  // why it could not start
  std::string ending_;   // "exit 3", "signal 11"
};

}  // namespace thresher::referee
