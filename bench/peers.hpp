// SPDX-License-Identifier: Apache-2.0
// The peers of an engine's device as entrants: OpenBLAS and torch on the CPU, cuBLAS, torch and
// Humming on a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gemm/inputs.hpp"
#include "measure/clock.hpp"
#include "thresher/engine.hpp"
#include "thresher/error.hpp"

namespace thresher::bench {

struct PeerEntrants {
  std::vector<measure::Entrant> entrants;
  std::vector<std::string> notes;           // of peers that cannot take part: name and why
  std::vector<std::shared_ptr<void>> kept;  // what the entrants point at
};

// A peer that was timed and can go on no more.
class PeerEnded : public Error {
 public:
  PeerEnded(std::string peer, const std::string& why)
      : Error(peer + ": " + why), peer_(std::move(peer)) {}
  const std::string& peer() const { return peer_; }

 private:
  std::string peer_;
};

class Peers {
 public:
  virtual ~Peers() = default;
  // Their calls go to `stream` where the device has streams. Entrants are good until the next call.
  virtual PeerEntrants make(const Problem& problem, const Inputs& inputs, std::size_t copy_count,
                            void* stream) = 0;
  // The names of those that have ended with it; the next make() may bring them again.
  virtual std::vector<std::string> end(const PeerEnded& ended) = 0;
};

struct PeerOptions {
  std::vector<Problem> problems;  // that they will be made for
  bool programs = true;           // those in processes of their own, too
};

// Of an engine that outlives them. Some that are not installed are notes of the first make().
std::unique_ptr<Peers> find_peers(const Engine& engine, const PeerOptions& options);

}  // namespace thresher::bench
