// SPDX-License-Identifier: Apache-2.0
// The contestants of bench: variants of the engine and peers, each with outputs and cold weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/peer.hpp"
#include "cli/bench_match.hpp"
#include "cli/packed_problem.hpp"
#include "thresher/engine.hpp"

namespace thresher::cli {

// Copies of the packed weights, handed out in turn, so that no call finds its weights in a cache.
class ColdWeights {
 public:
  ColdWeights(const Engine& engine, const Problem& problem, const Inputs& inputs);

  std::size_t copy_count() const { return copies_.size(); }
  const PackedProblem& copy(std::size_t index) const { return copies_[index]; }
  // Shared by all variants: whoever comes next must not find what another one has just read.
  std::size_t next_index() { return next_++ % copies_.size(); }

 private:
  std::vector<PackedProblem> copies_;
  std::size_t next_ = 0;
};

class VariantEntry {
 public:
  // An empty variant is the engine's choice. Refers to `engine` and `weights`.
  VariantEntry(const Engine& engine, const Problem& problem, const std::string& variant,
               ColdWeights& weights);

  const std::string& variant() const { return plan_.variant(); }
  Contestant contestant();

 private:
  const Engine& engine_;
  ColdWeights& weights_;
  Plan plan_;
  Workspace workspace_;
  GuardedOutputs outputs_;
  std::vector<std::vector<GroupOperands>> operands_;  // one per copy of the weights
};

class PeerEntry {
 public:
  using Make = std::unique_ptr<bench::Peer> (*)(const bench::Openblas&, const bench::PeerSetup&);

  PeerEntry(Make make, const Problem& problem, const Inputs& inputs, int thread_count);

  Contestant contestant();

 private:
  Problem problem_;  // with FP32 outputs, see bench/peer.hpp
  GuardedOutputs outputs_;
  std::unique_ptr<bench::Peer> peer_;
};

}  // namespace thresher::cli
