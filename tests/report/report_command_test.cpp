// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "cli/command_line.hpp"
#include "report/report.hpp"
#include "report/sample_ledger.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher::cli {
namespace {

class ReportCommand : public ::testing::Test {
 protected:
  ReportCommand() { testing::write_sample(ledger_); }

  int run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"thresher", "report", "--ledger", ledger_.path().string()});
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int exit_code = run_command_line(static_cast<int>(argv.size()), argv.data());
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return exit_code;
  }

  testing::ScratchFolder folder_;
  Ledger ledger_{folder_ / "ledger.db"};
  const std::string page_ = (folder_ / "new/page.html").string();
  std::string out_;
  std::string err_;
};

TEST_F(ReportCommand, WritesThePage) {
  EXPECT_EQ(run({"--season", "spring", "--output", page_}), kExitOk) << err_;
  EXPECT_EQ(out_, "wrote " + page_ + "; open it in any browser\n");
  std::ifstream file(page_);
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(written, report_page(ledger_, "spring"));
}

TEST_F(ReportCommand, DrawsTheSearchesOfAFile) {
  const std::string searches = (folder_ / "search.json").string();
  std::ofstream(searches) << R"({"spaces": [{"space": "convolution", "runs": 100,
      "search": {"median_so_far": [0.5, 0.9, 1]}, "random": {"median_so_far": [0.5, 0.6, 0.7]}}]})";
  EXPECT_EQ(run({"--search", searches, "--output", page_}), kExitOk) << err_;
  std::ifstream file(page_);
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(written.find("convolution, 100 runs"), std::string::npos);
}

TEST_F(ReportCommand, NamesTheSeasonsThereAre) {
  EXPECT_EQ(run({"--season", "sprung", "--output", page_}), kExitUsage);
  EXPECT_EQ(err_, "thresher: ledger '" + ledger_.path().string() +
                      "' has no season 'sprung'; it has: seeds, spring; did you mean 'spring'?\n");
}

TEST_F(ReportCommand, DoesNotOverwriteTheLedger) {
  EXPECT_EQ(run({"--output", ledger_.path().string()}), kExitUsage);
  EXPECT_TRUE(ledger_.audit().ok);
}

TEST_F(ReportCommand, SaysWhenItCannotWrite) {
  EXPECT_EQ(run({"--output", "/proc/no/page.html"}), kExitFailure);
  EXPECT_EQ(
      err_,
      "thresher: cannot write '/proc/no/page.html' (--output); is the folder writable, and the "
      "disk not full?\n");
}

TEST_F(ReportCommand, FollowsLinksAndReplacesNothingThatIsNoFile) {
  const std::filesystem::path real = folder_ / "real.html";
  const std::filesystem::path link = folder_ / "link.html";
  std::filesystem::create_symlink(real, link);
  EXPECT_EQ(run({"--output", link.string()}), kExitOk) << err_;
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_GT(std::filesystem::file_size(real), 1000u);
  EXPECT_EQ(run({"--output", "/dev/null"}), kExitOk) << err_;
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace thresher::cli
