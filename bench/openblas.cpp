// SPDX-License-Identifier: Apache-2.0
#include "bench/openblas.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "gpu/runtime/library.hpp"

namespace thresher::bench {
namespace {

// cblas.h's values; its header is not needed to build.
constexpr int kRowMajor = 101;
constexpr int kNoTrans = 111;
constexpr int kTrans = 112;

// Builds with 64-bit integers (libopenblas64_) are not among them: their calls look different.
constexpr const char* kFiles[] = {"libopenblas.so.0", "libopenblas.so", "libopenblasp.so.0",
                                  "libopenblaso.so.0", "libopenblas.dylib"};

// OpenBLAS's workers spin for 2^26 cycles after a call unless told otherwise, which would slow down
// whoever is timed next. 2^16 cycles still bridge the gap between two products of one call.
void shorten_spinning() { setenv("OPENBLAS_THREAD_TIMEOUT", "16", 0); }

}  // namespace

bool Openblas::open(const char* file) {
  gpu::Library library(file);
  if (!library.is_open()) return false;
  file_ = file;
  library.required(sgemm_, "cblas_sgemm");
  library.required(sgemv_, "cblas_sgemv");
  library.required(set_num_threads_, "openblas_set_num_threads");
  library.optional(get_config_, "openblas_get_config");
  library.optional(get_corename_, "openblas_get_corename");
  return library.missing().empty();
}

const Openblas* Openblas::find() {
  static Openblas library;
  static const bool found = [] {
    shorten_spinning();
    for (const char* file : kFiles) {
      if (library.open(file)) return true;
    }
    return false;
  }();
  return found ? &library : nullptr;
}

std::string Openblas::how_to_install() {
  return "OpenBLAS is not installed; get it with 'apt install libopenblas0-pthread' (Debian, "
         "Ubuntu) "
         "or 'dnf install openblas-threads' (Fedora)";
}

std::string Openblas::description() const {
  const char* config = get_config_ != nullptr ? get_config_() : "OpenBLAS";
  const char* core = get_corename_ != nullptr ? get_corename_() : "unknown";
  return fmt::format("{} (kernels for {}, {})", config, core, file_);
}

void Openblas::set_thread_count(int thread_count) const { set_num_threads_(thread_count); }

void Openblas::multiply(const SgemmArgs& args) const {
  const int m = static_cast<int>(args.m);
  const int n = static_cast<int>(args.n);
  const int k = static_cast<int>(args.k);
  if (m == 1) {
    sgemv_(kRowMajor, kNoTrans, n, k, args.alpha, args.b, k, args.a, 1, 0.0f, args.c, 1);
    return;
  }
  sgemm_(kRowMajor, kNoTrans, kTrans, m, n, k, args.alpha, args.a, k, args.b, k, 0.0f, args.c,
         static_cast<int>(args.c_stride_elements));
}

}  // namespace thresher::bench
