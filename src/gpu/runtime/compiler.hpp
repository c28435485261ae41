// SPDX-License-Identifier: Apache-2.0
// CUDA C++ to machine code, at run time and without any CUDA header: source and headers in, cubin,
// log and resource report out. Whether a GPU is there does not matter.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/runtime/kernel_source.hpp"
#include "gpu/runtime/nvrtc.hpp"
#include "gpu/runtime/resources.hpp"
#include "thresher/error.hpp"

namespace thresher::gpu {

struct CompileRequest {
  std::string name;  // what messages call the source
  std::string source;
  std::vector<NamedSource> headers;
  // Fused multiply-adds only where the source says so: the emulator must get the same bits.
  std::vector<std::string> options = {"-std=c++20", "-fmad=false"};
  // "sm_90a"; "compute_80" is PTX, which a driver translates for any GPU from there on.
  std::string architecture;
};

struct Compilation {
  std::vector<std::byte> cubin;  // or PTX, with a zero at its end
  std::string log;
  std::vector<KernelResources> kernels;  // none of PTX, of which no registers are known yet
  // What the log says besides that, warnings and lost performance among it.
  std::vector<std::string> notes;
  double seconds = 0;  // the compiler took, when it last ran
  bool from_cache = false;
};

// The source does not compile: for a contestant an outcome, for our own kernels a bug. The message
// holds the log.
struct CompileError : Error {
  CompileError(const std::string& message, std::string compiler_log)
      : Error(message), log(std::move(compiler_log)) {}
  std::string log;
};

// May be used from many threads at a time.
class Compiler {
 public:
  explicit Compiler(Nvrtc nvrtc);

  std::string version() const;  // "NVRTC 13.0"
  const std::string& file() const { return nvrtc_.file; }
  std::size_t file_bytes() const { return nvrtc_.file_bytes; }
  // Compute capabilities it compiles for, such as 90.
  const std::vector<int>& architectures() const { return architectures_; }
  bool compiles_for(const std::string& architecture) const;

  // Throws CompileError, or Error if the compiler does not know the architecture.
  Compilation compile(const CompileRequest& request) const;

  // The options as the compiler gets them: the request's, the architecture, the resource report.
  static std::vector<std::string> all_options(const CompileRequest& request);

 private:
  Nvrtc nvrtc_;
  std::vector<int> architectures_;
};

}  // namespace thresher::gpu
