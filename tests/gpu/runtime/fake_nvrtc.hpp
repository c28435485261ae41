// SPDX-License-Identifier: Apache-2.0
// A compiler made of our own functions. Its "cubin" is the architecture and the source, its PTX the
// same behind that word; a source with the word "error" does not compile; the log has a resource
// report in ptxas's words, unless it made PTX.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "gpu/runtime/nvrtc.hpp"

namespace thresher::gpu::testing {

class FakeNvrtc {
 public:
  // How many programs were compiled, and how many exist now.
  inline static int compile_count = 0;
  inline static int program_count = 0;

  static Nvrtc make() {
    Nvrtc nvrtc{.file = "the fake compiler", .file_bytes = 1, .major = 13, .minor = 0};
    nvrtc.nvrtcGetErrorString = [](NvrtcResult result) {
      return result == kCompilationError ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INTERNAL_ERROR";
    };
    nvrtc.nvrtcGetNumSupportedArchs = [](int* count) {
      *count = 3;
      return kNvrtcSuccess;
    };
    nvrtc.nvrtcGetSupportedArchs = [](int* architectures) {
      architectures[0] = 80;
      architectures[1] = 90;
      architectures[2] = 100;
      return kNvrtcSuccess;
    };
    nvrtc.nvrtcCreateProgram = [](NvrtcProgram* program, const char* source, const char*, int,
                                  const char* const*, const char* const*) {
      ++program_count;
      *program = reinterpret_cast<NvrtcProgram>(new Program{.source = source});
      return kNvrtcSuccess;
    };
    nvrtc.nvrtcDestroyProgram = [](NvrtcProgram* program) {
      --program_count;
      delete &of(*program);
      *program = nullptr;
      return kNvrtcSuccess;
    };
    nvrtc.nvrtcCompileProgram = [](NvrtcProgram program, int option_count,
                                   const char* const* options) {
      ++compile_count;
      for (int i = 0; i < option_count; ++i) of(program).cubin += std::string(options[i]) + "\n";
      of(program).cubin += of(program).source;
      const bool broken = of(program).source.find("error") != std::string::npos;
      of(program).log = broken ? "line 1: this is an error\n"
                               : "ptxas info    : Compiling entry function 'entry' for 'sm_90a'\n"
                                 "ptxas info    : Function properties for entry\n"
                                 "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 "
                                 "bytes spill loads\n"
                                 "ptxas info    : Used 40 registers, used 1 barriers, 64 bytes "
                                 "smem\n";
      if (of(program).cubin.find("=compute_") != std::string::npos) of(program).log.clear();
      return broken ? kCompilationError : kNvrtcSuccess;
    };
    nvrtc.nvrtcGetProgramLogSize = [](NvrtcProgram program, std::size_t* bytes) {
      *bytes = of(program).log.size() + 1;
      return kNvrtcSuccess;
    };
    nvrtc.nvrtcGetProgramLog = [](NvrtcProgram program, char* log) {
      std::memcpy(log, of(program).log.c_str(), of(program).log.size() + 1);
      return kNvrtcSuccess;
    };
    nvrtc.nvrtcGetCUBINSize = [](NvrtcProgram program, std::size_t* bytes) {
      *bytes = of(program).cubin.size();
      return kNvrtcSuccess;
    };
    nvrtc.nvrtcGetCUBIN = [](NvrtcProgram program, char* cubin) {
      std::memcpy(cubin, of(program).cubin.data(), of(program).cubin.size());
      return kNvrtcSuccess;
    };
    nvrtc.nvrtcGetPTXSize = [](NvrtcProgram program, std::size_t* bytes) {
      *bytes = ptx_of(program).size() + 1;
      return kNvrtcSuccess;
    };
    nvrtc.nvrtcGetPTX = [](NvrtcProgram program, char* ptx) {
      std::memcpy(ptx, ptx_of(program).c_str(), ptx_of(program).size() + 1);
      return kNvrtcSuccess;
    };
    return nvrtc;
  }

 private:
  struct Program {
    std::string source;
    std::string cubin;
    std::string log;
  };
  static constexpr NvrtcResult kCompilationError = 6;
  static std::string ptx_of(NvrtcProgram program) { return "PTX " + of(program).cubin; }
  static Program& of(NvrtcProgram program) { return *reinterpret_cast<Program*>(program); }
};

}  // namespace thresher::gpu::testing
