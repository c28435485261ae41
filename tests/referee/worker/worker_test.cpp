// SPDX-License-Identifier: Apache-2.0
// Our own worker as a contestant sees it: asked by lines, answering by lines.
#include <gtest/gtest.h>

#include "referee/sandbox/child.hpp"
#include "referee/sandbox/scratch.hpp"
#include "referee/stage/arena.hpp"
#include "thresher/engine.hpp"

namespace thresher::referee {
namespace {

using namespace std::chrono_literals;

class WorkerTest : public ::testing::Test {
 protected:
  std::string answer_to(const Job& job, std::initializer_list<const char*> lines) {
    Child child({.program = THRESHER_BINARY_DIR "/thresher",
                 .order = {.job = job, .scratch = scratch_.path()},
                 .input_fd = input_.child_fd(),
                 .output_fd = output_.child_fd()});
    EXPECT_TRUE(child.wait_until_started(Clock::now() + 10s)) << child.describe_end();
    Answer answer;
    for (const char* line : lines) {
      child.send(line);
      answer = child.await_line(Clock::now() + 20s);
    }
    return answer.heard == Heard::kLine ? answer.line : child.describe_end();
  }

  const ScratchFolder scratch_{FolderOwner::kContestant};
  const Arena input_{ChildAccess::kRead, 4096};
  const Arena output_{ChildAccess::kReadWrite, 4096};
};

constexpr const char* kHello = "hello 1 4096 4096 1\n";

TEST_F(WorkerTest, SaysWhyThereIsNoGpu) {
  const std::string why = why_no_device({.device = "gpu"});
  if (why.empty()) GTEST_SKIP() << "there is a GPU";
  for (const JobKind kind : {JobKind::kVariant, JobKind::kCuda}) {
    const std::string answer = answer_to({.kind = kind, .backend = "gpu"}, {kHello});
    EXPECT_EQ(answer, "error " + printable(why));
  }
}

TEST_F(WorkerTest, OnTheCpuTakesNoBatches) {
  EXPECT_EQ(answer_to({.kind = JobKind::kVariant}, {kHello}), "hello 1");
  EXPECT_EQ(answer_to({.kind = JobKind::kVariant}, {kHello, "batch 1 0 a\n"}),
            "error a worker for the CPU takes no batches");
  EXPECT_EQ(answer_to({.kind = JobKind::kVariant}, {kHello, "go 0 0 a\n"}),
            "error a worker for the CPU takes no batches");
}

TEST_F(WorkerTest, ChecksOffsets) {
  EXPECT_EQ(answer_to({.kind = JobKind::kVariant}, {kHello, "run 5 0 a\n"}), "error no problem 5");
  EXPECT_EQ(
      answer_to({.kind = JobKind::kVariant}, {kHello, "prepare 0 gemm nvfp4 fp16 1 9999 a\n"}),
      "error offset 9999 lies outside the arena of 4096 bytes");
}

}  // namespace
}  // namespace thresher::referee
