// SPDX-License-Identifier: Apache-2.0
// A peer that is a program: a process of its own, spoken to by the protocol of contestants
// (docs/contestants.md), timed by the clock around its answers as the referee times a command. It
// is the operator's own program, so there is no sandbox around it; it is stopped between requests.
//
// Kind to it wherever there was a choice: activations lie ready in 16 bits, whatever the problem
// says (NVFP4 is exact in bf16 and fp16; its global scales go into alpha), and stay where they are;
// it writes the type it likes best. One program may have several peers. It is asked to prepare each
// problem once per peer and copy of the weights, by the number of the peer times 2^16 plus that of
// the copy; single calls go round a peer's own copies, batches round those they are told. A problem
// without groups is none: the empty call, or on a device a small kernel of somebody else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/program_memory.hpp"
#include "gemm/inputs.hpp"
#include "measure/guarded_region.hpp"
#include "referee/timing/contestant_process.hpp"
#include "thresher/error.hpp"
#include "thresher/problem.hpp"

namespace thresher::bench {

// What ended a program, or it said itself.
class ProgramFault : public Error {
 public:
  using Error::Error;
};

// What one of a program's peers writes, and how many copies of the weights it goes round.
struct ProgramCall {
  Output output = Output::kFp32;
  std::size_t copy_count = 1;
};

struct ProgramOptions {
  std::vector<std::string> command;
  std::filesystem::path folder;  // where it runs
  std::string backend = "cpu";   // whose contestants it is like
  int thread_count = 1;
  double timeout_seconds = 900;    // of a request: preparing may compile
  std::filesystem::path thresher;  // the binary that starts it; empty means the running one
};

class Program {
 public:
  // Room for any one of these problems with so many peers.
  static ProgramRoom room_for(std::span<const Problem> problems, std::size_t peer_count);

  // Starts it. Throws ProgramFault, as all below.
  Program(const ProgramOptions& options, std::unique_ptr<ProgramMemory> memory);
  ~Program();

  // What it is to compute from now on, in the place of anything before.
  void put(const Problem& problem, const Inputs& inputs, const std::vector<ProgramCall>& calls);

  // A call on each of these copies (measure::kForeignCall: none); how long until it had answered.
  double ask_us(std::size_t peer, const std::vector<std::size_t>& copies);
  void poison(std::size_t peer, std::uint64_t seed);
  std::vector<OutputView> fetch(std::size_t peer);
  std::string find_trespass(std::size_t peer);  // in what was fetched last

 private:
  // Where a peer's outputs lie, and the table of its calls.
  struct Place {
    ProgramCall call;
    Problem problem;
    std::int64_t table_offset = 0;
    std::int64_t outputs_offset = 0;
    std::vector<std::int64_t> group_offsets;  // from there
    std::size_t bytes = 0;
    std::size_t next_copy = 0;
    // Guards around them, where the host sees every byte that is written.
    std::unique_ptr<measure::GuardedRegion> region;
  };

  void release_all();
  void put_inputs(const Problem& problem, const Inputs& inputs);
  void lay_out(Place& place, std::int64_t outputs_offset) const;
  void put_calls(const Inputs& activations, std::int64_t offset);
  void prepare(const Place& place, std::int64_t id);
  double batch_us(const std::vector<referee::BatchRecord>& list);
  double ask(referee::Request request);
  std::span<std::byte> outputs_of(const Place& place);

  const std::unique_ptr<ProgramMemory> memory_;
  std::vector<Place> places_;
  std::vector<std::int64_t> prepared_;  // ids
  std::int64_t weights_table_ = 0;
  std::int64_t list_offset_ = 0;
  std::vector<referee::BatchRecord> bound_;
  std::uint64_t token_ = 0;
  referee::ContestantProcess process_;
};

}  // namespace thresher::bench
