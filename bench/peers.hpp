// SPDX-License-Identifier: Apache-2.0
// The peers of an engine's device as entrants: OpenBLAS on the CPU, cuBLAS on a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measure/clock.hpp"
#include "thresher/engine.hpp"

namespace thresher::bench {

struct PeerEntrants {
  std::vector<measure::Entrant> entrants;
  std::vector<std::string> notes;           // of peers that cannot take part: name and why
  std::vector<std::shared_ptr<void>> kept;  // what the entrants point at
};

class Peers {
 public:
  virtual ~Peers() = default;
  // Their calls go to `stream` where the device has streams.
  virtual PeerEntrants make(const Problem& problem, const Inputs& inputs, std::size_t copy_count,
                            void* stream) const = 0;
};

// Throws Error saying what to install where there are none.
std::unique_ptr<Peers> find_peers(const Engine& engine);

}  // namespace thresher::bench
