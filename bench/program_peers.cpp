// SPDX-License-Identifier: Apache-2.0
#include "bench/program_peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "embedded_file.hpp"
#include "gemm/speed_of_light.hpp"
#include "referee/contestant/program.hpp"

namespace thresher::bench {
namespace {

constexpr std::string_view kSaidAtHello = "said at 'hello': ";

PeerProgram python_program(const std::string& name, const std::vector<std::string>& packages,
                           const std::string& how_to_install, std::vector<ProgramPeer> peers) {
  std::vector<std::string> command = {"python3", "-B", "peer.py", name + "_peer.py"};
  command.insert(command.end(), packages.begin(), packages.end());
  return {.name = name,
          .command = std::move(command),
          .how_to_install = how_to_install,
          .peers = std::move(peers)};
}

constexpr const char* kInstallTorch =
    "'pip install torch' for it, or put a Python that has it first in PATH";
constexpr const char* kInstallHumming =
    "'pip install humming-kernels[cu13]' (or [cu12]) for it, or put a Python that has it first in "
    "PATH";

double bytes_per_weight(Output output) { return output == Output::kFp32 ? 4 : 2; }

std::size_t bytes_of_weights(const Problem& problem, Output output) {
  return static_cast<std::size_t>(weight_bytes(problem) / kNvfp4BytesPerElement *
                                  bytes_per_weight(output));
}

Output output_of(const ProgramPeer& peer, const Problem& problem) {
  if (peer.is_wide) return Output::kFp32;
  return problem.activations == Activations::kFp16 ? Output::kFp16 : Output::kBf16;
}

}  // namespace

std::vector<PeerProgram> host_programs() {
  return {python_program(
      "torch", {"torch"}, kInstallTorch,
      {{.name = "torch_fp32", .is_wide = true}, {.name = "torch_16bit", .rounds_dual = true}})};
}

std::vector<PeerProgram> device_programs() {
  return {python_program("torch", {"torch"}, kInstallTorch,
                         {{.name = "torch_grouped", .rounds_gemm = true, .rounds_dual = true}}),
          python_program("humming", {"torch", "humming"}, kInstallHumming,
                         {{.name = "humming", .rounds_gemm = true, .rounds_dual = true},
                          {.name = "humming_best", .rounds_gemm = true, .rounds_dual = true}})};
}

void write_programs(const std::filesystem::path& folder) {
  for (const EmbeddedFile& file : kPeerPrograms) {
    const std::filesystem::path path = folder / std::filesystem::path(file.name).filename();
    std::ofstream stream(path, std::ios::binary);
    if (!(stream << file.text) || !stream.flush()) {
      throw Error(fmt::format("cannot write {}", path.string()));
    }
  }
}

struct ProgramPeers::Member {
  PeerProgram program;
  std::unique_ptr<Program> process;
  bool is_missing = false;
};

ProgramPeers::ProgramPeers(std::vector<PeerProgram> programs, ProgramSetting setting)
    : setting_(std::move(setting)) {
  for (PeerProgram& program : programs) {
    members_.push_back(std::make_unique<Member>(Member{.program = std::move(program)}));
  }
}

ProgramPeers::~ProgramPeers() = default;

void ProgramPeers::add(const Problem& problem, const Inputs& inputs, std::size_t copy_count,
                       PeerEntrants& peers) {
  for (const std::unique_ptr<Member>& member : members_) {
    if (member->is_missing) continue;
    const std::string& name = member->program.name;
    try {
      start(*member);
    } catch (const ProgramFault& fault) {
      member->is_missing = true;
      const std::string_view why = fault.what();
      peers.notes.push_back(why.starts_with(kSaidAtHello)
                                ? fmt::format("{}: {}; {}", name, why.substr(kSaidAtHello.size()),
                                              member->program.how_to_install)
                                : fmt::format("{}: {}", name, why));
      continue;
    }
    try {
      enter(*member, problem, inputs, copy_count, peers);
    } catch (const ProgramFault& fault) {
      member->process.reset();
      peers.notes.push_back(fmt::format("{}: {}", name, fault.what()));
    }
  }
}

void ProgramPeers::start(Member& member) {
  if (member.process) return;
  ProgramOptions options = setting_.options;
  options.command = member.program.command;
  const std::string& name = options.command.front();
  const std::string found = referee::operators_program(name, std::getenv("PATH"));
  if (found.find('/') == std::string::npos) {
    throw ProgramFault(fmt::format("there is no program '{}' in PATH", name));
  }
  options.command.front() = found;
  member.process = std::make_unique<Program>(
      options,
      setting_.make_memory(Program::room_for(setting_.problems, member.program.peers.size())));
}

void ProgramPeers::enter(Member& member, const Problem& problem, const Inputs& inputs,
                         std::size_t copy_count, PeerEntrants& peers) {
  const std::vector<ProgramPeer>& those = member.program.peers;
  std::vector<ProgramCall> calls;
  for (const ProgramPeer& peer : those) {
    const Output output = output_of(peer, problem);
    const std::size_t bytes = bytes_of_weights(problem, output);
    calls.push_back({.output = output, .copy_count = setting_.copy_count(bytes, copy_count)});
  }
  member.process->put(problem, inputs, calls);
  Program& process = *member.process;
  for (std::size_t i = 0; i < those.size(); ++i) {
    const std::string name(those[i].name);
    const bool rounds = problem.op == Op::kDual ? those[i].rounds_dual : those[i].rounds_gemm;
    Problem computed = problem;
    computed.output = calls[i].output;
    peers.entrants.push_back(
        {.name = name,
         .problem = computed,
         .ask_us =
             [&process, i, name](const std::vector<std::size_t>& copies) {
               try {
                 return process.ask_us(i, copies);
               } catch (const ProgramFault& fault) {
                 throw PeerEnded(name, fault.what());
               }
             },
         .rigour = rounds ? Rigour::kTogether : Rigour::kTypical,
         .poison = [&process, i](std::size_t, std::uint64_t seed) { process.poison(i, seed); },
         .fetch = [&process, i](std::size_t) { return process.fetch(i); },
         .find_trespass = [&process, i] { return process.find_trespass(i); }});
  }
}

std::vector<std::string> ProgramPeers::end(const std::string& peer) {
  for (const std::unique_ptr<Member>& member : members_) {
    std::vector<std::string> names;
    for (const ProgramPeer& one : member->program.peers) names.emplace_back(one.name);
    if (std::find(names.begin(), names.end(), peer) == names.end()) continue;
    member->process.reset();
    return names;
  }
  return {};
}

}  // namespace thresher::bench
