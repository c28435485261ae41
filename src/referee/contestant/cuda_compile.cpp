// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/cuda_compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "embedded_file.hpp"
#include "referee/contestant/build.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "thresher/contestant.cuh";

std::string read_text(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(fmt::format("cannot read {}", path.string()));
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A toolkit and pip's packages both have "include" beside the folder of the library.
fs::path cuda_headers(const gpu::Compiler& compiler) {
  std::error_code ignored;
  const fs::path library = fs::canonical(compiler.file(), ignored);
  for (fs::path folder = library.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::is_regular_file(folder / "include" / "cuda_fp16.h", ignored)) return folder / "include";
  }
  return {};
}

// Launches of kernels that are not there would be found when they are loaded, on the GPU.
void check_kernels(const CudaLaunches& launches, const gpu::Compilation& compiled) {
  for (const auto* list : {&launches.launches, &launches.prepare}) {
    for (const CudaLaunch& launch : *list) {
      const bool found =
          std::any_of(compiled.kernels.begin(), compiled.kernels.end(),
                      [&](const gpu::KernelResources& one) { return one.kernel == launch.kernel; });
      if (found) continue;
      throw Error(fmt::format("there is no kernel '{}' to launch; kernels are extern \"C\"",
                              launch.kernel));
    }
  }
}

void write_cubin(const fs::path& path, const std::vector<std::byte>& cubin) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(cubin.data()),
               static_cast<std::streamsize>(cubin.size()));
  if (!stream.flush()) throw Error(fmt::format("cannot write {}", path.string()));
}

gpu::Compiler open_compiler(const std::vector<std::string>& folders) {
  gpu::NvrtcLookup found = gpu::find_nvrtc({.folders = folders});
  if (!found.nvrtc) throw Error(found.why_not);
  return gpu::Compiler(std::move(*found.nvrtc));
}

}  // namespace

gpu::CompileRequest contestant_request(const fs::path& source, const fs::path& origin,
                                       const gpu::Compiler& compiler,
                                       const std::string& architecture) {
  gpu::CompileRequest request{
      .name = source.filename().string(),
      .source = read_text(source),
      .headers = {{.name = std::string(kHeader),
                   .text = std::string(embedded_text(kContestantHeaders, kHeader))}},
      .options = {"-std=c++20", "-I" + origin.string()},
      .architecture = architecture};
  const fs::path headers = cuda_headers(compiler);
  if (!headers.empty()) request.options.push_back("-I" + headers.string());
  return request;
}

int compile_cuda(const Job& job) {
  try {
    const gpu::Compiler compiler = open_compiler(job.cuda.compiler_folders);
    const gpu::Compilation compiled = compiler.compile(
        contestant_request(job.library, job.cuda.origin, compiler, job.cuda.architecture));
    check_kernels(job.cuda.launches, compiled);
    write_cubin(job.folder / kCubinName, compiled.cubin);
    return 0;
  } catch (const gpu::CompileError& error) {
    fmt::print(stderr, "{}\n", error.log);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return 1;
}

}  // namespace thresher::referee
