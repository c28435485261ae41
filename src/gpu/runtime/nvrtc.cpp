// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "gpu/runtime/driver.hpp"
#include "gpu/runtime/library.hpp"

namespace thresher::gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"};
constexpr const char* kSystemFolders[] = {"/usr/local/cuda/lib64", "/usr/local/cuda-13/lib64",
                                          "/usr/local/cuda-12/lib64"};
// The first that compiles C++20 for sm_90a.
constexpr int kMajorMin = 12;

// NVRTC opens its built-in headers by a bare name when it compiles, and relies on the loader to
// look beside itself. Where somebody else's dlopen stands between them, a sanitizer's for one, the
// loader does not; a library that is open already is found by that name whoever asks.
void open_builtins(const Nvrtc& nvrtc) {
  const fs::path beside = fs::path(nvrtc.file).parent_path() /
                          fmt::format("libnvrtc-builtins.so.{}.{}", nvrtc.major, nvrtc.minor);
  const Library opened(beside.string());  // should it not be there, NVRTC will say so
}

std::vector<std::string> candidates(const NvrtcSearch& search) {
  std::vector<std::string> files;
  const auto add_folder = [&](const fs::path& folder) {
    for (const char* file : kFiles) {
      std::error_code ignored;
      if (fs::exists(folder / file, ignored)) files.push_back((folder / file).string());
    }
  };
  for (const std::string& folder : search.folders) add_folder(folder);
  if (!search.system) return files;
  for (const char* file : kFiles) files.emplace_back(file);  // the loader's own path
  for (const char* folder : kSystemFolders) add_folder(folder);
  return files;
}

// Empty, or why a library that opened is of no use.
std::string why_not_version(const Nvrtc& nvrtc, int driver_version) {
  if (nvrtc.major < kMajorMin) {
    return fmt::format("{} is NVRTC {}.{}, and {}.0 or newer is needed", nvrtc.file, nvrtc.major,
                       nvrtc.minor, kMajorMin);
  }
  if (driver_version != 0 && nvrtc.major > driver_version / 1000) {
    return fmt::format(
        "{} is NVRTC {}.{}, newer than the driver's CUDA {}; update the driver, or install that "
        "version's NVRTC",
        nvrtc.file, nvrtc.major, nvrtc.minor, cuda_version_text(driver_version));
  }
  return {};
}

std::vector<fs::path> subfolders(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) found.push_back(entry->path());
  }
  // "cu13" before "cu12", and before the "cuda_nvrtc" of older packages.
  const auto newer = [](const fs::path& a, const fs::path& b) {
    const std::string left = a.filename().string();
    const std::string right = b.filename().string();
    const bool left_old = left.starts_with("cuda_");
    const bool right_old = right.starts_with("cuda_");
    return left_old != right_old ? right_old : left > right;
  };
  std::sort(found.begin(), found.end(), newer);
  return found;
}

}  // namespace

std::string open_nvrtc(const std::string& file, Nvrtc& nvrtc) {
  Library library(file);
  if (!library.is_open()) return library.why_not();
  library.required(nvrtc.nvrtcVersion, "nvrtcVersion");
  library.required(nvrtc.nvrtcGetErrorString, "nvrtcGetErrorString");
  library.required(nvrtc.nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs");
  library.required(nvrtc.nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs");
  library.required(nvrtc.nvrtcCreateProgram, "nvrtcCreateProgram");
  library.required(nvrtc.nvrtcDestroyProgram, "nvrtcDestroyProgram");
  library.required(nvrtc.nvrtcCompileProgram, "nvrtcCompileProgram");
  library.required(nvrtc.nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize");
  library.required(nvrtc.nvrtcGetProgramLog, "nvrtcGetProgramLog");
  library.required(nvrtc.nvrtcGetCUBINSize, "nvrtcGetCUBINSize");
  library.required(nvrtc.nvrtcGetCUBIN, "nvrtcGetCUBIN");
  library.required(nvrtc.nvrtcGetPTXSize, "nvrtcGetPTXSize");
  library.required(nvrtc.nvrtcGetPTX, "nvrtcGetPTX");
  if (!library.missing().empty()) return fmt::format("{} has no {}", file, library.missing());
  nvrtc.file = Library::file_of(nvrtc.nvrtcVersion, file);
  std::error_code unknown_size;
  const std::uintmax_t bytes = fs::file_size(nvrtc.file, unknown_size);
  nvrtc.file_bytes = unknown_size ? 0 : static_cast<std::size_t>(bytes);
  const NvrtcResult result = nvrtc.nvrtcVersion(&nvrtc.major, &nvrtc.minor);
  if (result != kNvrtcSuccess) {
    return fmt::format("{}: nvrtcVersion failed: {}", file, nvrtc.nvrtcGetErrorString(result));
  }
  open_builtins(nvrtc);
  return {};
}

NvrtcLookup find_nvrtc(const NvrtcSearch& search) {
  std::string unusable;
  for (const std::string& file : candidates(search)) {
    Nvrtc nvrtc;
    std::string why_not = open_nvrtc(file, nvrtc);
    const bool opened = nvrtc.nvrtcVersion != nullptr;
    if (why_not.empty()) why_not = why_not_version(nvrtc, search.driver_version);
    if (why_not.empty()) return {.nvrtc = std::move(nvrtc), .why_not = {}};
    // A name the loader does not know is no news; a library that is there and fails is.
    if ((opened || file.find('/') != std::string::npos) && unusable.empty()) unusable = why_not;
  }
  if (!unusable.empty()) {
    return {.nvrtc = {}, .why_not = fmt::format("no usable CUDA compiler: {}", unusable)};
  }
  return {.nvrtc = {},
          .why_not =
              "no CUDA compiler: libnvrtc.so not found; install the CUDA toolkit, or "
              "'pip install nvidia-cuda-nvrtc' (nvidia-cuda-nvrtc-cu12 for a driver of "
              "CUDA 12)"};
}

std::vector<std::string> pip_library_folders(const std::string& folder) {
  std::vector<fs::path> roots{folder};
  for (const fs::path& python : subfolders(fs::path(folder) / "lib")) {
    roots.push_back(python / "site-packages");
  }
  std::vector<std::string> folders;
  for (const fs::path& root : roots) {
    for (const fs::path& package : subfolders(root / "nvidia")) {
      std::error_code ignored;
      if (fs::is_directory(package / "lib", ignored)) folders.push_back((package / "lib").string());
    }
  }
  return folders;
}

}  // namespace thresher::gpu
