// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "referee/sandbox/launcher.hpp"
#include "referee/sandbox/sandbox.hpp"
#include "spelling.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

// What an interpreter is told to run.
constexpr std::array<std::string_view, 6> kScriptEndings = {".py", ".sh", ".pl",
                                                            ".rb", ".js", ".lua"};

bool has_folder(const std::string& program) { return program.find('/') != std::string::npos; }

bool can_run(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
}

bool has_all(const fs::path& path, fs::perms wanted) {
  std::error_code error;
  return (fs::status(path, error).permissions() & wanted) == wanted && !error;
}

// By the rights of everybody, who may enter every folder above and read and run the file.
bool others_can_run(const fs::path& file) {
  if (!has_all(file, fs::perms::others_read | fs::perms::others_exec)) return false;
  for (fs::path folder = file.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (!has_all(folder, fs::perms::others_exec)) return false;
  }
  return true;
}

// As whom contestants run: the operator, or under root somebody who owns nothing. A link leads to
// folders that must let them in as well.
bool contestant_can_run(const fs::path& file) {
  if (!can_run(file)) return false;
  if (geteuid() != 0) return true;
  std::error_code error;
  const fs::path target = fs::canonical(file, error);
  return !error && others_can_run(fs::absolute(file)) && others_can_run(target);
}

// An empty entry would mean the current folder, and whatever lies about there.
std::vector<fs::path> folders_of(const char* path) {
  std::vector<fs::path> folders;
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    if (!folder.empty()) folders.emplace_back(folder);
  }
  return folders;
}

std::vector<std::string> programs_in(const std::vector<fs::path>& folders) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::path& folder : folders) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      names.push_back(entry.path().filename().string());
    }
  }
  return names;
}

std::string fault_of_file(const std::string& program, const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    return fmt::format("there is no program '{}' in {}", program,
                       fs::absolute(file).lexically_normal().parent_path().string());
  }
  if (can_run(file)) return {};
  return fmt::format("'{}' is not executable; chmod +x makes it so, or name its interpreter first",
                     program);
}

std::string fault_of_script(const std::string& word, const fs::path& folder) {
  const std::string ending = fs::path(word).extension().string();
  const bool is_script =
      std::find(kScriptEndings.begin(), kScriptEndings.end(), ending) != kScriptEndings.end();
  std::error_code ignored;
  if (!is_script || fs::is_regular_file(folder / word, ignored)) return {};
  return fmt::format("there is no file '{}' in {}{}", word, fs::absolute(folder).string(),
                     did_you_mean(word, programs_in({folder})));
}

}  // namespace

std::string found_program(const std::string& program, const char* path) {
  if (has_folder(program)) return program;
  for (const fs::path& folder : folders_of(path)) {
    if (contestant_can_run(folder / program)) return (folder / program).string();
  }
  return program;
}

std::string operators_program(const std::string& program, const char* path) {
  for (const fs::path& folder : folders_of(path)) {
    if (can_run(folder / program)) return (folder / program).string();
  }
  return program;
}

std::string passed_over_program(const Contestant& contestant, const char* path) {
  if (contestant.kind != ContestantKind::kCommand || contestant.command.empty()) return {};
  const std::string& program = contestant.command.front();
  if (has_folder(program)) return {};
  for (const fs::path& folder : folders_of(path)) {
    if (!can_run(folder / program)) continue;
    if (contestant_can_run(folder / program)) return {};
    return fmt::format(
        "{} is passed over: under root contestants run as user {}, who may not run "
        "it; {} is taken",
        (folder / program).string(), kUnprivilegedId, found_program(program, path));
  }
  return {};
}

std::string why_no_program(const Contestant& contestant, const char* path) {
  if (contestant.kind != ContestantKind::kCommand || contestant.command.empty()) return {};
  const std::string& program = contestant.command.front();
  if (has_folder(program)) {
    if (std::string fault = fault_of_file(program, contestant.folder / program); !fault.empty()) {
      return fault;
    }
  } else if (!has_folder(found_program(program, path)) &&
             !has_folder(found_program(program, kSandboxPath))) {
    return fmt::format("program '{}' is not found in PATH{}", program,
                       did_you_mean(program, programs_in(folders_of(path))));
  }
  return contestant.command.size() > 1 ? fault_of_script(contestant.command[1], contestant.folder)
                                       : std::string();
}

}  // namespace thresher::referee
