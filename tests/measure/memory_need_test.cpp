// SPDX-License-Identifier: Apache-2.0
#include "measure/memory_need.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "nvfp4/error_message.hpp"

namespace thresher::measure {
namespace {

namespace fs = std::filesystem;

// A machine made of files.
class Files {
 public:
  Files() {
    std::string name = (fs::temp_directory_path() / "thresher_root_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

TEST(UsableMemory, IsWhatTheMachineHas) {
  const Files files;
  EXPECT_EQ(usable_memory_bytes(files.root()), std::numeric_limits<double>::infinity());
  files.put("proc/meminfo", "MemTotal:  8000 kB\nMemFree: 10 kB\nMemAvailable:   4000 kB\n");
  EXPECT_EQ(usable_memory_bytes(files.root()), 4000 * 1024);
  EXPECT_GT(usable_memory_bytes(), 0);
}

TEST(UsableMemory, IsWhatTheControlGroupsLeave) {
  const Files files;
  files.put("proc/meminfo", "MemAvailable:   4000 kB\n");
  files.put("proc/self/cgroup", "0::/job/step\n");
  files.put("sys/fs/cgroup/job/step/memory.max", "max\n");
  files.put("sys/fs/cgroup/job/step/memory.current", "5000\n");
  EXPECT_EQ(usable_memory_bytes(files.root()), 4000 * 1024);
  files.put("sys/fs/cgroup/job/memory.max", "100000\n");
  files.put("sys/fs/cgroup/job/memory.current", "60000\n");
  files.put("sys/fs/cgroup/job/memory.stat", "anon 40000\ninactive_file 15000\nactive_file 5000\n");
  EXPECT_EQ(usable_memory_bytes(files.root()), 60000) << "the group above is the one that binds";
}

TEST(UsableMemory, KnowsTheOlderControlGroups) {
  const Files files;
  files.put("proc/meminfo", "MemAvailable:   4000 kB\n");
  files.put("proc/self/cgroup", "7:cpu,cpuacct:/job\n5:memory:/job\n");
  files.put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "100000\n");
  files.put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "30000\n");
  EXPECT_EQ(usable_memory_bytes(files.root()), 70000);
}

TEST(MemoryNeed, CountsEveryMatrix) {
  Problem problem{.name = "p", .groups = {{.m = 0, .n = 32, .k = 64}, {.m = 8, .n = 32, .k = 64}}};
  EXPECT_EQ(packed_bytes(problem), 2 * 32 * 64 * 0.5625);
  EXPECT_EQ(input_bytes(problem), packed_bytes(problem) + 8 * 64 * 0.5625);
  EXPECT_EQ(output_bytes(problem), 8 * 32 * 2);
  problem.op = Op::kDual;
  problem.activations = Activations::kBf16;
  problem.output = Output::kFp32;
  EXPECT_EQ(packed_bytes(problem), 4 * 32 * 64 * 0.5625);
  EXPECT_EQ(input_bytes(problem), packed_bytes(problem) + 8 * 64 * 2);
  EXPECT_EQ(output_bytes(problem), 8 * 32 * 4);
}

TEST(MemoryNeed, NamesProblemAndSize) {
  const Problem problem{.name = "huge", .groups = {{.m = 1, .n = 4096, .k = 8192}}};
  const double gib = 1024.0 * 1024 * 1024;
  EXPECT_EQ(nvfp4::error_message([&] { check_fits(problem, 12.5 * gib, 12.5 * gib); }), "no error");
  EXPECT_EQ(nvfp4::error_message([&] { check_fits(problem, 12.5 * gib, 0.05 * gib); }),
            "not enough memory for problem 'huge' (gemm, 1 group with 1 rows, n = 4096, k = 8192): "
            "it takes at least 12.5 GiB, and 51 MiB are free; choose a smaller one, or stop what "
            "else is running");
  EXPECT_EQ(nvfp4::error_message([&] { check_fits(problem, 1e6, 0); }), "no error");
}

}  // namespace
}  // namespace thresher::measure
