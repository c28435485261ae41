// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "checkpoint/sample.hpp"
#include "child.hpp"

namespace thresher::cli {
namespace {

TEST(ExportCommand, WritesAnEntryOnce) {
  const checkpoint::Folder folder;
  const std::string to = folder.path() / "submission.py";
  const Outcome made = run_thresher({"export", "arena", "nvfp4_dual_gemm", "-o", to});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("never run on a Blackwell"), std::string::npos) << made.out;
  std::ifstream file(to);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("def custom_kernel(data: input_t)"), std::string::npos);

  const Outcome again = run_thresher({"export", "arena", "nvfp4_dual_gemm", "-o", to});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_NE(again.err.find("is there already"), std::string::npos) << again.err;
}

TEST(ExportCommand, SaysWhatItCannotWrite) {
  const auto refused = [](std::vector<std::string> words, int exit_code, const char* text) {
    words.insert(words.begin(), {"export", "arena"});
    const Outcome outcome = run_thresher(words);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  };
  refused({"nvfp4_gemm", "-o", "x.py"}, 2, "'nvfp4_gemm' is none of nvfp4_group_gemm, nvfp4_dual");
  refused({"nvfp4_group_gemm"}, 2, "--output is required");
  refused({"nvfp4_group_gemm", "-o", "x.py", "--variant", "gpu_sm90"}, 1, "is not for a B200");
  refused({"nvfp4_group_gemm", "-o", "/nowhere/x.py"}, 1, "cannot write '/nowhere/x.py'");
}

}  // namespace
}  // namespace thresher::cli
