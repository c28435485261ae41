// SPDX-License-Identifier: Apache-2.0
// Runs the command, as a child process of the real binary or in this process, and keeps what it
// says.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/selection.hpp"

namespace thresher::cli {

// One small problem, "ragged".
inline constexpr const char* kTinySuite = R"(
name = "tiny"
[[problem]]
name = "ragged"
m = [3, 0, 9]
n = 64
k = 128
)";

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "thresher_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path_ / name).rdbuf();
    return text.str();
  }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// Tests run side by side and would warn each other.
inline const int kOwnMachine =
    setenv("THRESHER_MACHINE", ("test-" + std::to_string(getpid())).c_str(), 0);

// A command line for the shell; "thresher" at its beginning is the binary of this build.
inline Outcome run_shell(const std::string& command) {
  const TemporaryFolder folder;
  const std::string redirected =
      fmt::format("({}{}) >{} 2>{}", shell_quoted(THRESHER_BINARY_DIR "/"), command,
                  shell_quoted(folder.path("out")), shell_quoted(folder.path("err")));
  const int status = std::system(redirected.c_str());
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .out = folder.read("out"),
          .err = folder.read("err")};
}

inline Outcome run_thresher(const std::vector<std::string>& arguments) {
  std::string command = "thresher";
  for (const std::string& argument : arguments) {
    command += fmt::format(" {}", shell_quoted(argument));
  }
  return run_shell(command);
}

// Without commands: ours.
inline Outcome run_here(std::vector<std::string> arguments,
                        const std::vector<Command>& commands = {}) {
  arguments.insert(arguments.begin(), "thresher");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int argc = static_cast<int>(argv.size());
  const int exit_code = commands.empty() ? run_command_line(argc, argv.data())
                                         : run_command_line(commands, argc, argv.data());
  return {.exit_code = exit_code,
          .out = ::testing::internal::GetCapturedStdout(),
          .err = ::testing::internal::GetCapturedStderr()};
}

}  // namespace thresher::cli
