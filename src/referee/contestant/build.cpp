// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/build.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "embedded_file.hpp"
#include "referee/contestant/program.hpp"
#include "referee/contestant/sources.hpp"
#include "referee/protocol.hpp"
#include "referee/sandbox/child.hpp"
#include "referee/sandbox/scratch.hpp"
#include "referee/venue.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMessageLength = 4000;
constexpr std::size_t kMessageLines = 24;
// Less than what any step of a match writes: whoever fails then was not to blame.
constexpr std::uintmax_t kRoomMin = std::uintmax_t{1} << 20;

// A compiler needs more of everything than a contestant.
constexpr SandboxLimits kCompilerLimits{.cpu_seconds = 120,
                                        .memory_bytes = std::int64_t{4} << 30,
                                        .file_bytes = std::int64_t{512} << 20,
                                        .open_files = 256,
                                        .processes = 64};

void write_header(const fs::path& folder) {
  constexpr std::string_view kHeader = "thresher/contestant.h";
  const fs::path path = folder / kHeader;
  std::error_code ignored;  // the stream below fails if the folder is missing
  fs::create_directories(path.parent_path(), ignored);
  std::ofstream stream(path, std::ios::binary);
  if (!(stream << embedded_text(kContestantHeaders, kHeader)) || !stream.flush()) {
    throw Error(fmt::format("cannot write {}", path.string()));
  }
}

struct Paths {
  fs::path source;   // a copy that contestants can read
  fs::path copies;   // the folder of that and of all it includes
  fs::path known;    // where the source comes from
  fs::path root;     // what `copies` stands for
  fs::path library;  // to be made
};

std::vector<std::string> compiler_command(const Paths& paths, const fs::path& include_folder,
                                          const fs::path& built) {
  const bool is_c = paths.source.extension() == ".c";
  return {is_c ? "cc" : "c++",
          is_c ? "-std=gnu17" : "-std=gnu++20",
          "-O3",
          "-march=native",
          "-fPIC",
          "-shared",
          "-pthread",
          "-I" + include_folder.string(),
          "-iquote" + paths.source.parent_path().string(),
          paths.source.string(),
          "-o",
          built.string(),
          "-lm"};
}

std::optional<Fault> compile(const Paths& paths, const BuildOptions& options) {
  const ScratchFolder include_folder(FolderOwner::kReferee, options.folder);
  const ScratchFolder scratch(FolderOwner::kContestant, options.folder);
  write_header(include_folder.path());
  const fs::path built = scratch.path() / paths.library.filename();
  const Job job{.kind = JobKind::kCommand,
                .command = compiler_command(paths, include_folder.path(), built),
                .folder = scratch.path()};
  const SourceNames names{.shown = shown_path(paths.known),
                          .replaced = {{paths.source.string(), shown_path(paths.known)},
                                       {paths.copies.string(), shown_path(paths.root)},
                                       {include_folder.path().string() + "/", ""},
                                       {scratch.path().string() + "/", ""},
                                       {options.folder.string() + "/", ""}}};
  std::optional<Fault> fault =
      run_compiler(job, names, scratch.path(), {paths.copies, include_folder.path()}, options);
  if (fault) return fault;
  // Out of the contestant's reach: what was built is what every heat runs.
  copy_readable(built, paths.library);
  return std::nullopt;
}

BuildResult build_library(const Contestant& contestant, const std::vector<SourceFile>& sources,
                          const BuildOptions& options) {
  const fs::path source = source_path(contestant);
  const std::string extension = source.extension().string();
  const fs::path library = options.folder / (source.stem().string() + "-contestant.so");
  BuildResult result{.side = {.job = {.kind = JobKind::kLibrary, .library = library}}};
  if (extension == ".so") {
    fs::path ignored;
    const fs::path copied = copy_sources(sources, options.folder / "copied", ignored);
    copy_readable(copied, library);
  } else if (extension == ".c" || extension == ".cpp" || extension == ".cc") {
    Paths paths{.copies = options.folder / "sources", .known = source, .library = library};
    paths.source = copy_sources(sources, paths.copies, paths.root);
    result.fault = compile(paths, options);
  } else if (extension == ".cu") {
    result.fault =
        invalid(check::kBuild, "a CUDA source enters by a pitch that says how it is launched");
  } else {
    result.fault = invalid(
        check::kBuild, fmt::format("{} is neither .c, .cpp nor .so", source.filename().string()));
  }
  return result;
}

}  // namespace

fs::path source_path(const Contestant& contestant) {
  return fs::absolute(contestant.folder / contestant.source);
}

void check_room(const fs::path& folder) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= kRoomMin) return;
  throw Error(
      fmt::format("{} has {} KiB left, too little to referee with; make room, or set TMPDIR to a "
                  "folder on another disk",
                  folder.string(), space.available >> 10));
}

void copy_readable(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (!error) {
    fs::permissions(to, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read,
                    error);
  }
  if (error) {
    throw Error(
        fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), error.message()));
  }
}

std::string shown_path(const fs::path& source) {
  std::error_code error;
  const fs::path near = fs::proximate(source, error);
  return error || near.string().starts_with("..") ? source.string() : near.string();
}

std::string compiler_lines(std::string_view messages, const SourceNames& names) {
  std::string text(messages);
  for (const auto& [ours, known] : names.replaced) {
    std::size_t at = 0;
    while ((at = text.find(ours, at)) != std::string::npos) {
      text.replace(at, ours.size(), known);
      at += known.size();
    }
  }
  return printable_lines(text, kMessageLines, kMessageLength);
}

std::optional<Fault> run_compiler(const Job& job, const SourceNames& names, const fs::path& scratch,
                                  const std::vector<fs::path>& readable,
                                  const BuildOptions& options) {
  Child compiler({.program = options.program,
                  .order = {.job = job,
                            .limits = kCompilerLimits,
                            .scratch = scratch,
                            .leaves_files = true,
                            .readable = readable,
                            .confinement = options.confinement}});
  const auto timeout = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(options.timeout_seconds));
  if (!compiler.wait_for_end(Clock::now() + timeout)) {
    return invalid(check::kBuild, fmt::format("{} took more than {} s to compile", names.shown,
                                              options.timeout_seconds));
  }
  if (compiler.succeeded()) return std::nullopt;
  check_room(scratch);
  const std::string text = compiler.errors().empty() ? compiler.describe_end() : compiler.errors();
  return invalid(check::kBuild,
                 fmt::format("{} does not compile:\n{}", names.shown, compiler_lines(text, names)));
}

BuildResult build_for_cpu(const Contestant& contestant, const std::vector<SourceFile>& sources,
                          const BuildOptions& options) {
  if (contestant.kind == ContestantKind::kLibrary) {
    return build_library(contestant, sources, options);
  }
  if (contestant.kind == ContestantKind::kVariant) {
    return {.side = {.job = {.kind = JobKind::kVariant, .variant = contestant.variant}}};
  }
  BuildResult result{.side = {.job = {.kind = JobKind::kCommand,
                                      .command = contestant.command,
                                      .folder = fs::absolute(contestant.folder)}}};
  std::string& program = result.side.job.command.front();
  program = found_program(program, std::getenv("PATH"));
  return result;
}

BuildResult build(const Contestant& contestant, const std::vector<SourceFile>& sources,
                  const BuildOptions& options) {
  if (contestant.kind == ContestantKind::kCommand && contestant.command.empty()) {
    throw Error(fmt::format("contestant '{}': the command is empty", contestant.name));
  }
  if (std::string why = why_no_program(contestant, std::getenv("PATH")); !why.empty()) {
    return {.fault = invalid(check::kBuild, std::move(why))};
  }
  return venue_of(backend_of(contestant).name).build(contestant, sources, options);
}

}  // namespace thresher::referee
