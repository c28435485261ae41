// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>

#include "assert.hpp"
#include "gpu/runtime/compiler.hpp"
#include "referee/contestant/build.hpp"
#include "referee/contestant/cuda_compile.hpp"
#include "referee/contestant/program.hpp"
#include "referee/contestant/sources.hpp"
#include "referee/protocol.hpp"
#include "referee/sandbox/scratch.hpp"
#include "referee/timing/referee_gpu.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

Job job_of(const Contestant& contestant, JobKind kind, const BuildOptions& options) {
  return {.kind = kind,
          .backend = std::string(backend_of(contestant).name),
          .cuda = options.gpu->setting()};
}

BuildResult build_variant(const Contestant& contestant, const BuildOptions& options) {
  BuildResult result{.side = {.job = job_of(contestant, JobKind::kVariant, options)}};
  result.side.job.variant = contestant.variant;
  try {
    result.side.launches = options.gpu->compile_variant(contestant.variant, options.problems);
  } catch (const gpu::CompileError& error) {
    result.fault = invalid(check::kBuild, printable(error.what()));
  }
  return result;
}

// The pitch's expressions with the numbers of the suite: what fails here would fail in the match.
std::optional<Fault> count_launches(const CudaLaunches& launches, const BuildOptions& options,
                                    std::vector<gpu::LaunchCounts>& counts) {
  const int sm_count = options.gpu->device().properties().sm_count;
  for (const Problem& problem : options.problems) {
    try {
      const CudaLaunchPlan plan = plan_launches(launches, problem, sm_count);
      counts.push_back({.kernels = static_cast<std::int64_t>(plan.launches.size())});
    } catch (const Error& error) {
      return invalid(check::kBuild, fmt::format("problem '{}': {}", problem.name, error.what()));
    }
  }
  return std::nullopt;
}

BuildResult build_cuda(const Contestant& contestant, const std::vector<SourceFile>& sources,
                       const BuildOptions& options) {
  const fs::path source = source_path(contestant);
  const fs::path copies = options.folder / "sources";
  fs::path root;
  const fs::path copied = copy_sources(sources, copies, root);
  const ScratchFolder scratch(FolderOwner::kContestant, options.folder);
  Job compile{.kind = JobKind::kCompile,
              .library = copied,
              .folder = scratch.path(),
              .cuda = options.gpu->setting()};
  compile.cuda.origin = copied.parent_path();
  compile.cuda.launches = contestant.launches;

  BuildResult result{.side = {.job = job_of(contestant, JobKind::kCuda, options)}};
  result.fault = count_launches(contestant.launches, options, result.side.launches);
  if (!result.fault) {
    std::vector<fs::path> readable{copies, options.gpu->setting().kernel_folder};
    for (const std::string& folder : compile.cuda.compiler_folders) {
      readable.emplace_back(fs::path(folder).parent_path());
    }
    result.fault = run_compiler(
        compile, {.shown = shown_path(source), .replaced = {{copies.string(), shown_path(root)}}},
        scratch.path(), readable, options);
  }
  if (result.fault) return result;
  // Out of the contestant's reach: what was built is what every heat runs.
  result.side.job.library = options.folder / (source.stem().string() + ".cubin");
  result.side.job.cuda.launches = contestant.launches;
  copy_readable(scratch.path() / kCubinName, result.side.job.library);
  return result;
}

BuildResult build_command(const Contestant& contestant, const BuildOptions& options) {
  BuildResult result{.side = {.job = job_of(contestant, JobKind::kCommand, options)}};
  result.side.job.command = contestant.command;
  result.side.job.command.front() = found_program(contestant.command.front(), std::getenv("PATH"));
  result.side.job.folder = fs::absolute(contestant.folder);
  return result;
}

}  // namespace

BuildResult build_for_gpu(const Contestant& contestant, const std::vector<SourceFile>& sources,
                          const BuildOptions& options) {
  THRESHER_ASSERT(options.gpu != nullptr);
  switch (contestant.kind) {
    case ContestantKind::kVariant:
      return build_variant(contestant, options);
    case ContestantKind::kCuda:
      return build_cuda(contestant, sources, options);
    case ContestantKind::kCommand:
      return build_command(contestant, options);
    case ContestantKind::kLibrary:
      break;
  }
  return {.fault = invalid(check::kBuild,
                           "a shared library is called with host memory: on a GPU enter a .cu "
                           "source or a command")};
}

}  // namespace thresher::referee
