// SPDX-License-Identifier: Apache-2.0
// The programs in bench/programs/ as peers, where what they need is installed: torch, and Humming
// on a GPU. What is missing is a note that says what to install.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/peers.hpp"
#include "bench/program.hpp"

namespace thresher::bench {

// How a peer of a program computes.
struct ProgramPeer {
  std::string_view name;
  bool is_wide = false;  // writes FP32; otherwise 16 bits
  // Rounds on the way to its result, of a gemm, or only between the two products of a dual and
  // their gate: all its errors are judged together (Rigour::kTogether).
  bool rounds_gemm = false;
  bool rounds_dual = false;
};

// Who speaks, with what it needs.
struct PeerProgram {
  std::string name;
  std::vector<std::string> command;
  std::string how_to_install;
  std::vector<ProgramPeer> peers;
};

// Of those that the binary brings: `folder` is where write_programs() has put them.
std::vector<PeerProgram> host_programs();
std::vector<PeerProgram> device_programs();
void write_programs(const std::filesystem::path& folder);

// What all programs of an engine's device have in common.
struct ProgramSetting {
  ProgramOptions options;         // without the command
  std::vector<Problem> problems;  // that they will be asked
  std::function<std::unique_ptr<ProgramMemory>(const ProgramRoom&)> make_memory;
  // How many copies of so many bytes of weights it goes round, of its own or with everybody else.
  std::function<std::size_t(std::size_t weight_bytes, std::size_t everybodys)> copy_count;
};

// Started when they are first asked. A program that cannot is a note, once.
class ProgramPeers {
 public:
  ProgramPeers(std::vector<PeerProgram> programs, ProgramSetting setting);
  ~ProgramPeers();

  // Adds entrants and notes. Entrants throw PeerEnded.
  void add(const Problem& problem, const Inputs& inputs, std::size_t copy_count,
           PeerEntrants& peers);
  // That a peer has ended: all of its program, which is started again for the next problem.
  std::vector<std::string> end(const std::string& peer);

 private:
  struct Member;

  void start(Member& member);
  void enter(Member& member, const Problem& problem, const Inputs& inputs, std::size_t copy_count,
             PeerEntrants& peers);

  const ProgramSetting setting_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace thresher::bench
