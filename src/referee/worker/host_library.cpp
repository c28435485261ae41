// SPDX-License-Identifier: Apache-2.0
// A contestant in a shared library, behind the C interface of thresher/contestant.h.
#include <dlfcn.h>
#include <fmt/format.h>

#include "referee/worker/host.hpp"
#include "thresher/contestant.h"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

struct Functions {
  decltype(&thresher_contestant_abi_version) abi_version = nullptr;
  decltype(&thresher_contestant_prepare) prepare = nullptr;
  decltype(&thresher_contestant_run) run = nullptr;
  decltype(&thresher_contestant_destroy) destroy = nullptr;  // optional
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

// The library stays loaded for as long as the process lives: its threads may still run.
Functions load(const std::filesystem::path& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(fmt::format("cannot load the library: {}", dlerror()));
  Functions functions;
  find(library, "thresher_contestant_abi_version", functions.abi_version);
  find(library, "thresher_contestant_prepare", functions.prepare);
  find(library, "thresher_contestant_run", functions.run);
  find(library, "thresher_contestant_destroy", functions.destroy);
  if (functions.abi_version == nullptr || functions.prepare == nullptr ||
      functions.run == nullptr) {
    throw Error(
        "the library must export thresher_contestant_abi_version, thresher_contestant_prepare and "
        "thresher_contestant_run with C linkage (thresher/contestant.h)");
  }
  const int version = functions.abi_version();
  if (version != THRESHER_CONTESTANT_ABI_VERSION) {
    throw Error(
        fmt::format("the library was built for version {} of the contestant interface, "
                    "this is version {}",
                    version, THRESHER_CONTESTANT_ABI_VERSION));
  }
  return functions;
}

thresher_contestant_matrix to_c(const Nvfp4View& view) {
  return {.codes = view.codes, .scales = view.scales, .global_scale = view.global_scale};
}

class PreparedLibrary : public Prepared {
 public:
  PreparedLibrary(const Functions& functions, const Problem& problem, int thread_count,
                  std::span<const HostedWeights> weights)
      : functions_(functions) {
    for (std::size_t g = 0; g < weights.size(); ++g) {
      const Group& group = problem.groups[g];
      groups_.push_back({.m = group.m,
                         .n = group.n,
                         .k = group.k,
                         .b = to_c(weights[g].b),
                         .b_up = to_c(weights[g].b_up)});
    }
    calls_.resize(groups_.size());
    problem_ = {.op = problem.op == Op::kDual ? THRESHER_CONTESTANT_DUAL : THRESHER_CONTESTANT_GEMM,
                .activations = contestant_code(problem.activations),
                .output = contestant_code(problem.output),
                .thread_count = thread_count,
                .group_count = static_cast<std::int64_t>(groups_.size()),
                .groups = groups_.data()};
    const char* message = nullptr;
    const int status = functions_.prepare(&problem_, &state_, &message);
    const std::string why = message != nullptr ? message : "prepare gave no reason";
    if (status == THRESHER_CONTESTANT_UNSUPPORTED) throw Unsupported{why};
    if (status != THRESHER_CONTESTANT_OK)
      throw Error(fmt::format("prepare returned {}: {}", status, why));
  }

  ~PreparedLibrary() override {
    if (functions_.destroy != nullptr) functions_.destroy(state_);
  }

  void run(std::span<const HostedCall> calls) override {
    for (std::size_t g = 0; g < calls.size(); ++g) {
      calls_[g] = {.a = to_c(calls[g].a),
                   .a16 = calls[g].a16,
                   .alpha = calls[g].alpha,
                   .alpha_up = calls[g].alpha_up,
                   .c = calls[g].c,
                   .c_stride_elements = calls[g].c_stride_elements};
    }
    const int status = functions_.run(state_, calls_.data());
    if (status != THRESHER_CONTESTANT_OK) throw Error(fmt::format("run returned {}", status));
  }

 private:
  const Functions functions_;
  std::vector<thresher_contestant_group> groups_;
  std::vector<thresher_contestant_call> calls_;
  thresher_contestant_problem problem_ = {};
  void* state_ = nullptr;
};

class LibraryHost : public Host {
 public:
  LibraryHost(const std::filesystem::path& library, int thread_count)
      : functions_(load(library)), thread_count_(thread_count) {}

  std::unique_ptr<Prepared> prepare(const Problem& problem,
                                    std::span<const HostedWeights> weights) override {
    return std::make_unique<PreparedLibrary>(functions_, problem, thread_count_, weights);
  }

 private:
  const Functions functions_;
  const int thread_count_;
};

}  // namespace

int contestant_code(Activations activations) {
  switch (activations) {
    case Activations::kNvfp4:
      return THRESHER_CONTESTANT_NVFP4;
    case Activations::kFp16:
      return THRESHER_CONTESTANT_FP16;
    case Activations::kBf16:
      break;
  }
  return THRESHER_CONTESTANT_BF16;
}

int contestant_code(Output output) {
  switch (output) {
    case Output::kFp16:
      return THRESHER_CONTESTANT_FP16;
    case Output::kBf16:
      return THRESHER_CONTESTANT_BF16;
    case Output::kFp32:
      break;
  }
  return THRESHER_CONTESTANT_FP32;
}

std::unique_ptr<Host> make_library_host(const std::filesystem::path& library, int thread_count) {
  return std::make_unique<LibraryHost>(library, thread_count);
}

}  // namespace thresher::referee
