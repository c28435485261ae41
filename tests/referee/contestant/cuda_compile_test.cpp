// SPDX-License-Identifier: Apache-2.0
// The example and the cheats compile for the GPU they are meant for. Needs NVRTC, but no GPU.
#include "referee/contestant/cuda_compile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "referee/contestant/build.hpp"
#include "referee/fault.hpp"
#include "referee/sandbox/scratch.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = THRESHER_SOURCE_DIR;

gpu::NvrtcLookup find_compiler() {
  return gpu::find_nvrtc({.folders = gpu::pip_library_folders(kRoot / "build" / "venv")});
}

std::vector<fs::path> sources() {
  std::vector<fs::path> paths = {kRoot / "examples" / "cuda" / "plain_gemm.cu"};
  for (const auto& entry : fs::directory_iterator(kRoot / "tests" / "cheats_gpu")) {
    if (entry.path().extension() == ".cu") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(CudaSources, CompileForHopper) {
  gpu::NvrtcLookup found = find_compiler();
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const gpu::Compiler compiler(std::move(*found.nvrtc));
  for (const fs::path& path : sources()) {
    SCOPED_TRACE(path.string());
    const gpu::CompileRequest request =
        contestant_request(path, path.parent_path(), compiler, "sm_90a");
    if (path.stem() == "does_not_compile") {
      EXPECT_THROW(compiler.compile(request), gpu::CompileError);
      continue;
    }
    const gpu::Compilation compiled = compiler.compile(request);
    EXPECT_TRUE(std::any_of(compiled.kernels.begin(), compiled.kernels.end(),
                            [](const auto& kernel) { return kernel.kernel == "gemm"; }));
  }
}

class CompileJob : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const gpu::NvrtcLookup found = find_compiler(); !found.nvrtc) GTEST_SKIP() << found.why_not;
  }

  Job job(const fs::path& source, const std::string& kernel) const {
    Job result{.kind = JobKind::kCompile, .library = kRoot / source, .folder = folder_.path()};
    result.cuda.architecture = "sm_90a";
    result.cuda.origin = result.library.parent_path();
    result.cuda.compiler_folders = gpu::pip_library_folders(kRoot / "build" / "venv");
    result.cuda.launches.launches = {{.kernel = kernel, .grid = {"1"}, .block = {"1"}}};
    return result;
  }

  // As the build gate has it done: with the system's files, the sources and the compiler to read.
  std::optional<Fault> build_in_sandbox(const fs::path& source, const fs::path& scratch) const {
    Job compile = job(source, "gemm");
    compile.folder = scratch;
    std::vector<fs::path> readable{folder_.path()};
    for (const std::string& folder : compile.cuda.compiler_folders) {
      readable.emplace_back(fs::path(folder).parent_path());
    }
    return run_compiler(compile, {.shown = source.filename()}, scratch, readable,
                        {.program = THRESHER_BINARY_DIR "/thresher"});
  }

  const ScratchFolder folder_{FolderOwner::kReferee};
};

TEST_F(CompileJob, WritesTheCubin) {
  EXPECT_EQ(compile_cuda(job("examples/cuda/plain_gemm.cu", "gemm")), 0);
  EXPECT_GT(fs::file_size(folder_.path() / kCubinName), 1000u);
}

TEST_F(CompileJob, NeedsNoMoreThanItMayRead) {
  const ScratchFolder scratch(FolderOwner::kContestant);
  fs::copy_file(kRoot / "examples/cuda/plain_gemm.cu", folder_.path() / "k.cu");
  const std::optional<Fault> fault = build_in_sandbox(folder_.path() / "k.cu", scratch.path());
  EXPECT_FALSE(fault) << fault->reason;
  EXPECT_TRUE(fs::exists(scratch.path() / kCubinName));
}

// What the hash does not cover: it would compile, and be another program the next time.
TEST_F(CompileJob, TakesNothingInThatTheKernelMakesUp) {
  const ScratchFolder scratch(FolderOwner::kContestant);
  for (const char* file : {"examples/cuda/plain_gemm.cu", "tests/cheats_gpu/honest.cuh",
                           "tests/cheats_gpu/compiles_in_the_time.cu"}) {
    fs::create_directories((folder_.path() / file).parent_path());
    fs::copy_file(kRoot / file, folder_.path() / file);
  }
  const fs::path source = folder_.path() / "tests/cheats_gpu/compiles_in_the_time.cu";
  EXPECT_EQ(compile_cuda(job(source, "gemm")), 0);
  const std::optional<Fault> fault = build_in_sandbox(source, scratch.path());
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->check, check::kBuild);
  EXPECT_NE(fault->reason.find("entropy_avail"), std::string::npos) << fault->reason;
}

TEST_F(CompileJob, QuotesTheCompiler) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(compile_cuda(job("tests/cheats_gpu/does_not_compile.cu", "gemm")), 1);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("comptue_tile"), std::string::npos) << text;
}

TEST_F(CompileJob, MissesAKernelThatIsToBeLaunched) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(compile_cuda(job("examples/cuda/plain_gemm.cu", "gemv")), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "there is no kernel 'gemv' to launch; kernels are extern \"C\"\n");
}

}  // namespace
}  // namespace thresher::referee
