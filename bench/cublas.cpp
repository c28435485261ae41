// SPDX-License-Identifier: Apache-2.0
#include "bench/cublas.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "gpu/runtime/driver.hpp"
#include "gpu/runtime/library.hpp"
#include "gpu/runtime/nvrtc.hpp"

namespace thresher::bench {
namespace {

namespace fs = std::filesystem;

// Newest first. The major number is CUDA's.
constexpr int kMajors[] = {13, 12};
constexpr const char* kSystemFolder = "/usr/local/cuda/lib64";

std::string file_name(int major) { return fmt::format("libcublas.so.{}", major); }

// libcublas needs libcublasLt, which the loader does not always look for beside it; once loaded it
// is known by its name.
gpu::Library open_library(const std::string& file) {
  const fs::path path(file);
  if (path.has_parent_path()) {
    std::string companion = path.filename().string();
    if (companion.starts_with("libcublas.")) companion.replace(0, 9, "libcublasLt");
    const gpu::Library opened_first((path.parent_path() / companion).string());
  }
  return gpu::Library(file);
}

std::string read_version(Cublas& library) {
  for (const auto& [property, value] : {std::pair{cublas::kMajorVersion, &library.major},
                                        std::pair{cublas::kMinorVersion, &library.minor},
                                        std::pair{cublas::kPatchLevel, &library.patch}}) {
    const cublas::Status status = library.cublasGetProperty(property, value);
    if (status != cublas::kSuccess) {
      return fmt::format("{}: cublasGetProperty failed: {}", library.file,
                         library.cublasGetStatusString(status));
    }
  }
  return {};
}

std::vector<std::string> candidates(const CublasSearch& search) {
  std::vector<std::string> files;
  const auto add_folder = [&](const fs::path& folder) {
    for (const int major : kMajors) {
      const fs::path file = folder / file_name(major);
      std::error_code ignored;
      if (fs::exists(file, ignored)) files.push_back(file.string());
    }
  };
  if (search.system) {
    for (const int major : kMajors) files.push_back(file_name(major));
    add_folder(kSystemFolder);
  }
  for (const std::string& folder : search.folders) add_folder(folder);
  return files;
}

// Empty, or why a library that opened is of no use.
std::string why_not_version(const Cublas& library, int driver_version) {
  if (driver_version == 0 || library.major <= driver_version / 1000) return {};
  return fmt::format(
      "{} is for CUDA {}, newer than the driver's CUDA {}; update the driver, or install that "
      "version's cuBLAS",
      library.file, library.major, gpu::cuda_version_text(driver_version));
}

}  // namespace

std::string open_cublas(const std::string& file, Cublas& library) {
  gpu::Library opened = open_library(file);
  if (!opened.is_open()) return opened.why_not();
  opened.required(library.cublasGetProperty, "cublasGetProperty");
  opened.required(library.cublasGetStatusString, "cublasGetStatusString");
  opened.required(library.cublasCreate, "cublasCreate_v2");
  opened.required(library.cublasDestroy, "cublasDestroy_v2");
  opened.required(library.cublasSetStream, "cublasSetStream_v2");
  opened.required(library.cublasSetWorkspace, "cublasSetWorkspace_v2");
  opened.required(library.cublasSetMathMode, "cublasSetMathMode");
  opened.required(library.cublasGemmEx, "cublasGemmEx");
  if (!opened.missing().empty()) return fmt::format("{} has no {}", file, opened.missing());
  opened.optional(library.cublasGemmGroupedBatchedEx, "cublasGemmGroupedBatchedEx");
  library.file = gpu::Library::file_of(library.cublasCreate, file);
  return read_version(library);
}

CublasLookup find_cublas(const CublasSearch& search) {
  std::string unusable;
  for (const std::string& file : candidates(search)) {
    Cublas library;
    std::string why_not = open_cublas(file, library);
    const bool opened = library.cublasGetProperty != nullptr;
    if (why_not.empty()) why_not = why_not_version(library, search.driver_version);
    if (why_not.empty()) return {.cublas = std::move(library), .why_not = {}};
    // A name the loader does not know is no news; a library that is there and fails is.
    if ((opened || file.find('/') != std::string::npos) && unusable.empty()) unusable = why_not;
  }
  if (!unusable.empty()) {
    return {.cublas = {}, .why_not = fmt::format("no usable cuBLAS: {}", unusable)};
  }
  return {.cublas = {},
          .why_not = fmt::format("no cuBLAS: {} not found; install the CUDA toolkit, or 'pip "
                                 "install nvidia-cublas' (nvidia-cublas-cu12 for a driver of CUDA "
                                 "12)",
                                 file_name(kMajors[0]))};
}

std::vector<std::string> pip_folders_beside(const std::string& nvrtc_file) {
  // .../site-packages/nvidia/cu13/lib/libnvrtc.so.13
  const fs::path nvidia = fs::path(nvrtc_file).parent_path().parent_path().parent_path();
  if (nvidia.filename() != "nvidia") return {};
  return gpu::pip_library_folders(nvidia.parent_path().string());
}

std::string description(const Cublas& library) {
  return fmt::format("cuBLAS {}.{}.{} ({})", library.major, library.minor, library.patch,
                     library.file);
}

}  // namespace thresher::bench
