// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/job.hpp"

#include <gtest/gtest.h>

#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

TEST(WorkOrder, ReadsBack) {
  const WorkOrder order{
      .job = {.kind = JobKind::kCommand,
              .command = {"python3", "a \"quoted\" word", "\n"},
              .folder = "/some where"},
      .limits = {.cpu_seconds = 1,
                 .memory_bytes = std::int64_t{1} << 40,
                 .file_bytes = 3,
                 .open_files = 4,
                 .processes = 5},
      .scratch = "/tmp/x",
      .referee_pid = 1234,
      .memory_is_counted = true,
      .processes_are_caged = true,
      .confinement = {.hidden = {"/home"}, .without = {"freezer"}, .is_operators = true}};
  const WorkOrder read = work_order_from_text(to_text(order));
  EXPECT_EQ(read.job.kind, JobKind::kCommand);
  EXPECT_EQ(read.job.command, order.job.command);
  EXPECT_EQ(read.job.folder, order.job.folder);
  EXPECT_EQ(read.limits.memory_bytes, std::int64_t{1} << 40);
  EXPECT_EQ(read.limits.processes, 5);
  EXPECT_EQ(read.scratch, order.scratch);
  EXPECT_EQ(read.referee_pid, 1234);
  EXPECT_TRUE(read.memory_is_counted);
  EXPECT_TRUE(read.processes_are_caged);
  EXPECT_EQ(read.confinement.hidden, order.confinement.hidden);
  EXPECT_EQ(read.confinement.without, order.confinement.without);
  EXPECT_TRUE(read.confinement.is_operators);
  EXPECT_FALSE(work_order_from_text(to_text(WorkOrder{})).confinement.is_operators);
}

TEST(WorkOrder, KeepsWhatCudaNeeds) {
  const WorkOrder order{
      .job = {.kind = JobKind::kCuda,
              .library = "/tmp/x.cubin",
              .backend = "gpu",
              .cuda = {.device_index = 3,
                       .kernel_folder = "/tmp/kernels",
                       .compiler_folders = {"/a", "/b"},
                       .architecture = "sm_90a",
                       .origin = "/home",
                       .launches = {.launches = {{.kernel = "gemm",
                                                  .grid = {"ceil_div(n, 64)", "groups"},
                                                  .block = {"256"}}},
                                    .packed_bytes = "n * k"}}}};
  const WorkOrder read = work_order_from_text(to_text(order));
  EXPECT_EQ(read.job.kind, JobKind::kCuda);
  EXPECT_EQ(read.job.backend, "gpu");
  EXPECT_EQ(read.job.cuda.device_index, 3);
  EXPECT_EQ(read.job.cuda.kernel_folder, order.job.cuda.kernel_folder);
  EXPECT_EQ(read.job.cuda.compiler_folders, order.job.cuda.compiler_folders);
  EXPECT_EQ(read.job.cuda.architecture, "sm_90a");
  EXPECT_EQ(read.job.cuda.origin, order.job.cuda.origin);
  EXPECT_EQ(read.job.cuda.launches, order.job.cuda.launches);
}

TEST(WorkOrder, RefusesOtherText) {
  for (const char* text : {"", "{}", "[]", "null", R"({"kind": "x"})"}) {
    EXPECT_THROW(work_order_from_text(text), Error) << text;
  }
}

}  // namespace
}  // namespace thresher::referee
