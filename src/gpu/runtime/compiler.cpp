// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace thresher::gpu {
namespace {

constexpr int kMajorWithCache = 13;

void check(const Nvrtc& nvrtc, NvrtcResult result, const char* call, const std::string& name) {
  if (result == kNvrtcSuccess) return;
  throw Error(fmt::format("{}: {} failed: {}", name, call, nvrtc.nvrtcGetErrorString(result)));
}

std::vector<const char*> c_strings(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

// NVRTC's object for one compilation.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const CompileRequest& request) : nvrtc_(nvrtc), name_(request.name) {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const NamedSource& header : request.headers) {
      names.push_back(header.name.c_str());
      texts.push_back(header.text.c_str());
    }
    check(nvrtc,
          nvrtc.nvrtcCreateProgram(&program_, request.source.c_str(), name_.c_str(),
                                   static_cast<int>(names.size()), texts.data(), names.data()),
          "nvrtcCreateProgram", name_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { nvrtc_.nvrtcDestroyProgram(&program_); }

  NvrtcResult compile(const std::vector<std::string>& options) {
    return nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(options.size()),
                                      c_strings(options).data());
  }

  std::string log() const {
    std::size_t bytes = 0;
    check(nvrtc_, nvrtc_.nvrtcGetProgramLogSize(program_, &bytes), "nvrtcGetProgramLogSize", name_);
    std::string text(bytes, '\0');
    if (bytes != 0) {
      check(nvrtc_, nvrtc_.nvrtcGetProgramLog(program_, text.data()), "nvrtcGetProgramLog", name_);
    }
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

  std::vector<std::byte> cubin() const {
    return image(nvrtc_.nvrtcGetCUBINSize, nvrtc_.nvrtcGetCUBIN, "nvrtcGetCUBIN");
  }
  std::vector<std::byte> ptx() const {
    return image(nvrtc_.nvrtcGetPTXSize, nvrtc_.nvrtcGetPTX, "nvrtcGetPTX");
  }

 private:
  std::vector<std::byte> image(NvrtcResult (*size)(NvrtcProgram, std::size_t*),
                               NvrtcResult (*get)(NvrtcProgram, char*), const char* call) const {
    std::size_t bytes = 0;
    check(nvrtc_, size(program_, &bytes), call, name_);
    std::vector<std::byte> bytes_of_image(bytes);
    check(nvrtc_, get(program_, reinterpret_cast<char*>(bytes_of_image.data())), call, name_);
    return bytes_of_image;
  }

  const Nvrtc& nvrtc_;
  std::string name_;
  NvrtcProgram program_ = nullptr;
};

std::vector<int> supported_architectures(const Nvrtc& nvrtc) {
  int count = 0;
  check(nvrtc, nvrtc.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs", nvrtc.file);
  std::vector<int> architectures(static_cast<std::size_t>(count));
  check(nvrtc, nvrtc.nvrtcGetSupportedArchs(architectures.data()), "nvrtcGetSupportedArchs",
        nvrtc.file);
  return architectures;
}

bool is_ptx(const std::string& architecture) { return architecture.starts_with("compute_"); }

}  // namespace

Compiler::Compiler(Nvrtc nvrtc)
    : nvrtc_(std::move(nvrtc)), architectures_(supported_architectures(nvrtc_)) {}

std::string Compiler::version() const {
  return fmt::format("NVRTC {}.{}", nvrtc_.major, nvrtc_.minor);
}

bool Compiler::compiles_for(const std::string& architecture) const {
  return std::any_of(architectures_.begin(), architectures_.end(), [&](int known) {
    const std::string plain = fmt::format("sm_{}", known);
    return architecture == plain || architecture == plain + "a" || architecture == plain + "f" ||
           architecture == fmt::format("compute_{}", known);
  });
}

std::vector<std::string> Compiler::all_options(const CompileRequest& request) {
  std::vector<std::string> options = request.options;
  options.push_back(fmt::format("--gpu-architecture={}", request.architecture));
  // The resource report, of what is assembled.
  if (!is_ptx(request.architecture)) options.emplace_back("--ptxas-options=-v");
  return options;
}

Compilation Compiler::compile(const CompileRequest& request) const {
  if (!compiles_for(request.architecture)) {
    throw Error(fmt::format("{}: {} does not compile for '{}'; it knows sm_{}", request.name,
                            version(), request.architecture, fmt::join(architectures_, ", sm_")));
  }
  const auto start = std::chrono::steady_clock::now();
  Program program(nvrtc_, request);
  std::vector<std::string> options = all_options(request);
  // From its own cache the compiler answers without a log, and so without the resource report.
  if (nvrtc_.major >= kMajorWithCache) options.emplace_back("--no-cache");
  const NvrtcResult result = program.compile(options);
  std::string log = program.log();
  if (result != kNvrtcSuccess) {
    throw CompileError(
        fmt::format("{}: {} could not compile it for {}: {}\n{}", request.name, version(),
                    request.architecture, nvrtc_.nvrtcGetErrorString(result), log),
        log);
  }
  Compilation compilation{.cubin = is_ptx(request.architecture) ? program.ptx() : program.cubin(),
                          .log = std::move(log)};
  PtxasReport report = parse_ptxas_log(compilation.log);
  compilation.kernels = std::move(report.kernels);
  compilation.notes = std::move(report.notes);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  compilation.seconds = elapsed.count();
  return compilation;
}

}  // namespace thresher::gpu
