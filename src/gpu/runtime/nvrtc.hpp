// SPDX-License-Identifier: Apache-2.0
// NVRTC, NVIDIA's run-time compiler, opened at run time: a plain struct of its functions, or a
// sentence saying why there is none. It needs no GPU.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace thresher::gpu {

using NvrtcResult = int;
using NvrtcProgram = struct NvrtcProgramObject*;
inline constexpr NvrtcResult kNvrtcSuccess = 0;

// Members are called as NVIDIA calls the functions.
struct Nvrtc {
  std::string file;            // where the loader found it
  std::size_t file_bytes = 0;  // tells patch releases apart, which the version does not
  int major = 0;
  int minor = 0;

  NvrtcResult (*nvrtcVersion)(int* major, int* minor) = nullptr;
  const char* (*nvrtcGetErrorString)(NvrtcResult) = nullptr;
  NvrtcResult (*nvrtcGetNumSupportedArchs)(int* count) = nullptr;
  NvrtcResult (*nvrtcGetSupportedArchs)(int* architectures) = nullptr;
  NvrtcResult (*nvrtcCreateProgram)(NvrtcProgram*, const char* source, const char* name,
                                    int header_count, const char* const* headers,
                                    const char* const* header_names) = nullptr;
  NvrtcResult (*nvrtcDestroyProgram)(NvrtcProgram*) = nullptr;
  NvrtcResult (*nvrtcCompileProgram)(NvrtcProgram, int option_count,
                                     const char* const* options) = nullptr;
  NvrtcResult (*nvrtcGetProgramLogSize)(NvrtcProgram, std::size_t* bytes) = nullptr;
  NvrtcResult (*nvrtcGetProgramLog)(NvrtcProgram, char* log) = nullptr;
  NvrtcResult (*nvrtcGetCUBINSize)(NvrtcProgram, std::size_t* bytes) = nullptr;
  NvrtcResult (*nvrtcGetCUBIN)(NvrtcProgram, char* cubin) = nullptr;
  NvrtcResult (*nvrtcGetPTXSize)(NvrtcProgram, std::size_t* bytes) = nullptr;  // with its last zero
  NvrtcResult (*nvrtcGetPTX)(NvrtcProgram, char* ptx) = nullptr;
};

struct NvrtcSearch {
  std::vector<std::string> folders;  // looked at first, in this order
  bool system = true;                // then the loader's own path, then /usr/local/cuda
  // The driver's CUDA version (13000), whose major number the compiler must not exceed: the driver
  // would refuse its cubins. 0: no driver, any compiler will do.
  int driver_version = 0;
};

struct NvrtcLookup {
  std::optional<Nvrtc> nvrtc;
  std::string why_not;  // one sentence that also says what to do
};

// Libraries stay open for the life of the process. Looks on the disk every time it is called.
NvrtcLookup find_nvrtc(const NvrtcSearch& search = {});

// Binds `nvrtc` to the functions of a shared library. Returns why not, or nothing.
std::string open_nvrtc(const std::string& file, Nvrtc& nvrtc);

// Where pip's nvidia-cuda-nvrtc packages put their libraries, newest CUDA first: the folders
// nvidia/*/lib below `folder`, which is a virtual environment or a site-packages folder.
std::vector<std::string> pip_library_folders(const std::string& folder);

}  // namespace thresher::gpu
