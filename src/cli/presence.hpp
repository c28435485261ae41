// SPDX-License-Identifier: Apache-2.0
// Whoever measures says so, and hears who else does: two on one machine measure each other's noise.
//
// Each takes one of a few names among the machine's abstract sockets, which need no file and vanish
// with their process. A newcomer calls at all of them and leaves its own name there, so that the
// one who was first can say at its end who came.
#pragma once

#include <string>
#include <vector>

namespace thresher::cli {

class Presence {
 public:
  // `what` is the command: "bench". Warns on stderr of everybody who is measuring already. `house`
  // tells machines apart; empty: THRESHER_MACHINE, or the one that this is.
  explicit Presence(std::string what, std::string house = {});
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
  // Warns of everybody who has begun to measure since.
  ~Presence();

  // "pid 4711 (bench)", of those who were there first.
  const std::vector<std::string>& neighbours() const { return neighbours_; }
  // Of those who have come since the last question.
  std::vector<std::string> newcomers() const;

 private:
  void take_a_name();
  void call_at(int slot);

  const std::string what_;
  const std::string house_;
  int fd_ = -1;
  std::vector<std::string> neighbours_;
};

}  // namespace thresher::cli
