// SPDX-License-Identifier: Apache-2.0
// cuBLAS, opened at run time: a plain struct of its functions, or a sentence saying why there is
// none. Nothing of it is needed to build, or to run without it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gpu/runtime/cuda_abi.hpp"

namespace thresher::bench {

// cublas_api.h's and library_types.h's values, as far as we use them.
namespace cublas {

using Handle = struct HandleObject*;
using Status = int;
inline constexpr Status kSuccess = 0;
enum Property : int { kMajorVersion = 0, kMinorVersion = 1, kPatchLevel = 2 };
enum Operation : int { kPlain = 0, kTransposed = 1 };
enum DataType : int { kFloat = 0, kFp16 = 2, kBf16 = 14 };
enum ComputeType : int { kComputeFloat = 68 };
enum Algorithm : int { kDefaultAlgorithm = -1 };
// Split sums are added in FP32 and not in the output's type.
enum MathMode : int { kNoReducedPrecisionReduction = 16 };

}  // namespace cublas

// Members are called as NVIDIA calls the functions; which version of a symbol is bound stands in
// cublas.cpp.
struct Cublas {
  std::string file;  // where the loader found it
  int major = 0;
  int minor = 0;
  int patch = 0;

  cublas::Status (*cublasGetProperty)(cublas::Property, int* value) = nullptr;
  const char* (*cublasGetStatusString)(cublas::Status) = nullptr;
  cublas::Status (*cublasCreate)(cublas::Handle*) = nullptr;
  cublas::Status (*cublasDestroy)(cublas::Handle) = nullptr;
  cublas::Status (*cublasSetStream)(cublas::Handle, gpu::cuda::Stream) = nullptr;
  cublas::Status (*cublasSetWorkspace)(cublas::Handle, void* workspace,
                                       std::size_t bytes) = nullptr;
  cublas::Status (*cublasSetMathMode)(cublas::Handle, cublas::MathMode) = nullptr;
  cublas::Status (*cublasGemmEx)(cublas::Handle, cublas::Operation op_a, cublas::Operation op_b,
                                 int m, int n, int k, const void* alpha, const void* a,
                                 cublas::DataType a_type, int lda, const void* b,
                                 cublas::DataType b_type, int ldb, const void* beta, void* c,
                                 cublas::DataType c_type, int ldc, cublas::ComputeType,
                                 cublas::Algorithm) = nullptr;
  // Since CUDA 12.5; null in older libraries. a, b and c lie in device memory, the rest here.
  cublas::Status (*cublasGemmGroupedBatchedEx)(
      cublas::Handle, const cublas::Operation op_a[], const cublas::Operation op_b[], const int m[],
      const int n[], const int k[], const void* alpha, const void* const a[], cublas::DataType,
      const int lda[], const void* const b[], cublas::DataType, const int ldb[], const void* beta,
      void* const c[], cublas::DataType, const int ldc[], int group_count, const int group_size[],
      cublas::ComputeType) = nullptr;
};

struct CublasSearch {
  bool system = true;                // the loader's own path, then /usr/local/cuda
  std::vector<std::string> folders;  // looked at afterwards, in this order
  // The driver's CUDA version (13000), whose major number the library must not exceed. 0: any.
  int driver_version = 0;
};

struct CublasLookup {
  std::optional<Cublas> cublas;
  std::string why_not;  // one sentence that also says what to do
};

// Libraries stay open for the life of the process. Looks on the disk every time it is called.
CublasLookup find_cublas(const CublasSearch& search = {});

// Binds `library` to the functions of a shared library. Returns why not, or nothing.
std::string open_cublas(const std::string& file, Cublas& library);

// Where pip puts cuBLAS if it was pip that put NVRTC at `nvrtc_file`; nothing if it was not.
std::vector<std::string> pip_folders_beside(const std::string& nvrtc_file);

std::string description(const Cublas& library);  // "cuBLAS 13.0.2 (/usr/local/...)"

}  // namespace thresher::bench
