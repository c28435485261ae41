// SPDX-License-Identifier: Apache-2.0
// OpenBLAS, opened at run time: nothing of it is needed to build, or to run without it.
#pragma once

#include <cstdint>
#include <string>

namespace thresher::bench {

// C = alpha * A * B^T: A is m x k, B is n x k, C is m x n, all row-major, rows of C c_stride apart.
struct SgemmArgs {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  float alpha = 1.0f;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  std::int64_t c_stride_elements = 0;
};

class Openblas {
 public:
  // The library if this machine has one, opened once and kept open (its threads outlive any call);
  // nullptr if not.
  static const Openblas* find();
  static std::string how_to_install();

  // Build options, the core it chose its kernels for and the file, in one line.
  std::string description() const;

  // For all calls that follow, from any thread.
  void set_thread_count(int thread_count) const;

  // SGEMM, or SGEMV where A is a single row: OpenBLAS does not take that step by itself.
  void multiply(const SgemmArgs& args) const;

 private:
  Openblas() = default;
  bool open(const char* file);

  using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                         const float* a, int lda, const float* b, int ldb, float beta, float* c,
                         int ldc);
  using Sgemv = void (*)(int order, int trans, int m, int n, float alpha, const float* a, int lda,
                         const float* x, int incx, float beta, float* y, int incy);
  std::string file_;
  Sgemm sgemm_ = nullptr;
  Sgemv sgemv_ = nullptr;
  void (*set_num_threads_)(int) = nullptr;
  char* (*get_config_)() = nullptr;
  char* (*get_corename_)() = nullptr;
};

}  // namespace thresher::bench
