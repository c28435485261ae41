// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/compile_step.hpp"

#include <fmt/format.h>

#include "referee/protocol.hpp"
#include "referee/sandbox/child.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMessageLength = 600;

// A compiler needs more of everything than a contestant.
constexpr SandboxLimits kCompilerLimits{.cpu_seconds = 120,
                                        .address_space_bytes = std::int64_t{4} << 30,
                                        .file_bytes = std::int64_t{512} << 20,
                                        .open_files = 256,
                                        .processes = 64};

}  // namespace

fs::path source_path(const Contestant& contestant) {
  const fs::path path = contestant.folder / contestant.source;
  if (!fs::is_regular_file(path)) {
    throw Error(
        fmt::format("contestant '{}': there is no file {}", contestant.name, path.string()));
  }
  return fs::absolute(path);
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

std::optional<Fault> run_compiler(const Job& job, const std::string& name, const fs::path& scratch,
                                  const BuildOptions& options) {
  Child compiler({.program = options.program,
                  .order = {.job = job, .limits = kCompilerLimits, .scratch = scratch}});
  const auto timeout = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(options.timeout_seconds));
  if (!compiler.wait_for_end(Clock::now() + timeout)) {
    return invalid(check::kBuild,
                   fmt::format("{} took more than {} s to compile", name, options.timeout_seconds));
  }
  if (compiler.succeeded()) return std::nullopt;
  const std::string text = compiler.errors().empty() ? compiler.describe_end() : compiler.errors();
  return invalid(check::kBuild,
                 fmt::format("{} does not compile: {}", name, printable(text, kMessageLength)));
}

}  // namespace thresher::referee
