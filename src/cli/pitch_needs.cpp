// SPDX-License-Identifier: Apache-2.0
#include "cli/pitch_needs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "cli/backend_option.hpp"
#include "engine/backends.hpp"
#include "referee/contestant/build.hpp"
#include "referee/contestant/program.hpp"

extern char** environ;

namespace thresher::cli {
namespace {

constexpr std::string_view kPackagePrefix = "python:";
constexpr const char* kFindPackage =
    "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)";

// The file that a contestant in `folder` would run; one that need not be there.
std::string file_of(const std::string& program, const std::filesystem::path& folder = {}) {
  const std::string found = referee::found_program(program, std::getenv("PATH"));
  return found.find('/') == std::string::npos ? found : (folder / found).string();
}

bool is_installed(const std::string& program, const std::filesystem::path& folder = {}) {
  return access(file_of(program, folder).c_str(), X_OK) == 0;
}

// Whether the program ends with exit code 0; it says nothing to anybody.
bool succeeds(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string missing_package(const Pitch& pitch, const std::string& package) {
  const std::vector<std::string>& command = pitch.contestant.command;
  const std::string python = command.empty() ? "python3" : command.front();
  const std::filesystem::path& folder = pitch.contestant.folder;
  if (!is_installed(python, folder)) return fmt::format("there is no program '{}'", python);
  if (succeeds({file_of(python, folder), "-c", kFindPackage, package})) return "";
  return fmt::format("{} has no package '{}'", python, package);
}

std::string missing_word(const Pitch& pitch, const std::string& word) {
  if (word.starts_with(kPackagePrefix)) {
    return missing_package(pitch, word.substr(kPackagePrefix.size()));
  }
  if (const Backend* backend = find_backend(word)) {
    const bool usable = backend->why_not(engine_options(*backend)).empty();
    return usable ? "" : fmt::format("there is no usable {}", backend->title);
  }
  return is_installed(word) ? "" : fmt::format("there is no program '{}'", word);
}

// A source is compiled here; a shared library is not.
std::string missing_compiler(const Contestant& contestant) {
  if (contestant.kind != ContestantKind::kLibrary) return "";
  const std::string ending = contestant.source.extension().string();
  if (ending == ".so") return "";
  const std::string compiler = ending == ".c" ? "cc" : "c++";
  return is_installed(compiler) ? "" : fmt::format("there is no compiler '{}'", compiler);
}

}  // namespace

std::string missing_need(const Pitch& pitch) {
  std::istringstream words(pitch.needs);
  for (std::string word; words >> word;) {
    const std::string missing = missing_word(pitch, word);
    if (!missing.empty()) return missing;
  }
  return missing_compiler(pitch.contestant);
}

}  // namespace thresher::cli
