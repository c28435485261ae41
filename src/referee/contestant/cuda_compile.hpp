// SPDX-License-Identifier: Apache-2.0
// The compiler's side of a CUDA source: from text to kernels for the device, in the sandbox,
// because a compiler reads whatever a source includes. No GPU is needed for it.
#pragma once

#include <filesystem>
#include <string>

#include "gpu/runtime/compiler.hpp"
#include "referee/sandbox/job.hpp"

namespace thresher::referee {

inline constexpr const char* kCubinName = "contestant.cubin";

// What the compiler is asked. The source may include thresher/contestant.cuh, files of
// `origin`, and CUDA's own headers where they lie beside the compiler.
gpu::CompileRequest contestant_request(const std::filesystem::path& source,
                                       const std::filesystem::path& origin,
                                       const gpu::Compiler& compiler,
                                       const std::string& architecture);

// The work of JobKind::kCompile: writes kCubinName into the job's folder. Returns the exit code;
// what is wrong goes to stderr.
int compile_cuda(const Job& job);

}  // namespace thresher::referee
