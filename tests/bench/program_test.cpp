// SPDX-License-Identifier: Apache-2.0
// Peers that are programs: right, wrong, and ending on the way; on the CPU, and up to what they
// compute on a GPU that is none.
#include "bench/program.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "bench/program_memory.hpp"
#include "gemm/conformance.hpp"
#include "gpu/runtime/fake_driver.hpp"
#include "measure/clock.hpp"
#include "referee/contestant/program.hpp"
#include "referee/sandbox/scratch.hpp"

namespace thresher::bench {
namespace {

const Problem kProblem{
    .name = "peer",
    .op = Op::kDual,
    .activations = Activations::kNvfp4,
    .output = Output::kFp16,
    .groups = {{.m = 3, .n = 20, .k = 48}, {.m = 0, .n = 8, .k = 32}, {.m = 1, .n = 16, .k = 16}}};

std::string python() { return referee::operators_program("python3", std::getenv("PATH")); }

ProgramOptions options_of(std::vector<std::string> command) {
  return {.command = std::move(command),
          .folder = THRESHER_SOURCE_DIR,
          .timeout_seconds = 60,
          .thresher = THRESHER_BINARY_DIR "/thresher"};
}

std::string fault_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const ProgramFault& fault) {
    return fault.what();
  }
  return "no fault";
}

class HostProgram : public ::testing::Test {
 protected:
  Program start(std::vector<std::string> command) {
    return Program(options_of(std::move(command)),
                   make_host_memory(Program::room_for(std::span(&kProblem, 1), 2)));
  }

  const Inputs inputs_ = make_inputs(kProblem, InputFamily::kNatural, 5);
};

// Its results are the contract's, whatever of its peers writes what type, with any copy.
TEST_F(HostProgram, ComputesWhatItIsPut) {
  Program program = start({python(), "examples/contestants/plain.py"});
  for (int round = 0; round < 2; ++round) {
    program.put(kProblem, inputs_,
                {{.output = Output::kFp32, .copy_count = 2}, {.output = Output::kBf16}});
    for (const std::size_t peer : {0, 1, 0, 0}) {
      program.poison(peer, 7);
      EXPECT_GT(program.ask_us(peer, {0}), 0);
      Problem computed = kProblem;
      computed.output = peer == 0 ? Output::kFp32 : Output::kBf16;
      const Conformance found =
          check_outputs(computed, inputs_, program.fetch(peer), Rigour::kTypical);
      EXPECT_TRUE(found.ok) << found.first_failure;
      EXPECT_EQ(program.find_trespass(peer), "");
    }
    program.poison(1, 8);
    program.ask_us(1, {measure::kForeignCall});
    Problem computed = kProblem;
    computed.output = Output::kBf16;
    EXPECT_FALSE(check_outputs(computed, inputs_, program.fetch(1), Rigour::kBound).ok)
        << "an empty call computes nothing";
  }
}

TEST_F(HostProgram, SaysWhyItEnded) {
  EXPECT_EQ(fault_of([&] {
              start({"/bin/sh", "-c", "read hello; echo error no such thing"});
            }),
            "said at 'hello': no such thing");
  const std::string dies =
      "read hello; echo hello 1; while read line; do set -- $line;"
      "case $1 in prepare) for token; do :; done; echo done $token;; *) exit 3;; esac; done";
  Program program = start({"/bin/sh", "-c", dies});
  program.put(kProblem, inputs_, {{.output = Output::kFp32}});
  EXPECT_NE(fault_of([&] { program.ask_us(0, {0}); }).find("ended during 'run'"),
            std::string::npos);
}

// Answers every request, and writes down those that say what is to be computed.
class DeviceProgram : public ::testing::Test {
 protected:
  std::vector<std::string> heard() const {
    std::ifstream file(log_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  const referee::ScratchFolder folder_{referee::FolderOwner::kReferee};
  const std::string log_ = folder_.path() / "heard";
  const std::string script_ =
      "read hello; echo hello 1; while read line; do set -- $line;"
      "case $1 in quit) exit;; release) echo $1 $2 >> " +
      log_ +
      "; continue;; esac;"
      "case $1 in prepare) echo $1 $2 $3 $4 $5 $6 >> " +
      log_ + ";; *) echo $1 >> " + log_ + ";; esac; for token; do :; done; echo done $token; done";
  gpu::testing::FakeDriver fake_;
  gpu::Device device_{fake_.driver};
};

TEST_F(DeviceProgram, BindsAListOnceForAsLongAsItStaysTheSame) {
  const Inputs inputs = make_inputs(kProblem, InputFamily::kNatural, 5);
  ProgramOptions options = options_of({"/bin/sh", "-c", script_});
  options.backend = "gpu";
  Program program(options,
                  make_device_memory(device_, 3, Program::room_for(std::span(&kProblem, 1), 2)));
  program.put(kProblem, inputs, {{.output = Output::kBf16, .copy_count = 2}});
  EXPECT_EQ(heard(), (std::vector<std::string>{"device", "prepare 0 dual bf16 bf16 3",
                                               "prepare 1 dual bf16 bf16 3",
                                               "prepare 4294967296 dual bf16 bf16 0"}))
      << "activations lie ready in 16 bits";
  for (int i = 0; i < 2; ++i) EXPECT_GT(program.ask_us(0, {measure::kForeignCall, 0, 1}), 0);
  program.ask_us(0, {0});
  program.poison(0, 1);
  const std::vector<OutputView> outputs = program.fetch(0);
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[1].c, nullptr);
  // Groups follow each other without a gap.
  EXPECT_EQ(
      static_cast<const std::byte*>(outputs[2].c) - static_cast<const std::byte*>(outputs[0].c),
      3 * 20 * 2);
  Problem computed = kProblem;
  computed.output = Output::kBf16;
  EXPECT_EQ(check_outputs(computed, inputs, outputs, Rigour::kTogether).max_error_over_bound,
            std::numeric_limits<double>::infinity())
      << "nobody has written";
  program.put(kProblem, inputs, {{.output = Output::kBf16}});
  const std::vector<std::string> lines = heard();
  EXPECT_EQ(std::vector<std::string>(lines.begin() + 4, lines.begin() + 12),
            (std::vector<std::string>{"batch", "go", "go", "batch", "go", "release 0", "release 1",
                                      "release 4294967296"}));
}

}  // namespace
}  // namespace thresher::bench
