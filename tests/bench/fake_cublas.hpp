// SPDX-License-Identifier: Apache-2.0
// A cuBLAS made of our own functions: it multiplies by columns as BLAS does, on host memory, which
// is what the fake driver hands out as device memory. It writes its calls down and fails where a
// test tells it to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/cublas.hpp"
#include "nvfp4/half.hpp"

namespace thresher::bench::testing {

struct FakeProduct {
  cublas::Handle handle = nullptr;
  cublas::Operation op_a = cublas::kPlain;
  cublas::Operation op_b = cublas::kPlain;
  int m = 0;
  int n = 0;
  int k = 0;
  float alpha = 0;
  float beta = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  int lda = 0;
  int ldb = 0;
  int ldc = 0;
  cublas::DataType ab_type = cublas::kFloat;
  cublas::DataType c_type = cublas::kFloat;
};

// One object at a time; its functions are what `library` points to.
class FakeCublas {
 public:
  FakeCublas() {
    self_ = this;
    bind_handles();
    bind_products();
  }
  FakeCublas(const FakeCublas&) = delete;
  FakeCublas& operator=(const FakeCublas&) = delete;
  ~FakeCublas() { self_ = nullptr; }

  Cublas library;

  std::map<std::string, cublas::Status> failures;  // by call
  std::vector<std::string> calls;
  std::vector<FakeProduct> products;
  std::map<cublas::Handle, gpu::cuda::Stream> streams;
  // A handle's, since its stream was last set.
  std::map<cublas::Handle, std::size_t> workspace_bytes;
  int handles_out = 0;

 private:
  static cublas::Status enter(const char* call) {
    self_->calls.emplace_back(call);
    const auto failure = self_->failures.find(call);
    return failure == self_->failures.end() ? cublas::kSuccess : failure->second;
  }

  static float load(const void* matrix, std::int64_t index, cublas::DataType type) {
    if (type == cublas::kFloat) return static_cast<const float*>(matrix)[index];
    const std::uint16_t bits = static_cast<const std::uint16_t*>(matrix)[index];
    return type == cublas::kFp16 ? nvfp4::fp16_to_float(bits) : nvfp4::bf16_to_float(bits);
  }
  static void store(void* matrix, std::int64_t index, cublas::DataType type, float value) {
    if (type == cublas::kFloat) {
      static_cast<float*>(matrix)[index] = value;
    } else {
      static_cast<std::uint16_t*>(matrix)[index] =
          type == cublas::kFp16 ? nvfp4::float_to_fp16(value) : nvfp4::float_to_bf16(value);
    }
  }
  // Element (row, column) of op(matrix).
  static std::int64_t at(cublas::Operation op, std::int64_t row, std::int64_t column, int ld) {
    return op == cublas::kPlain ? column * ld + row : row * ld + column;
  }
  static void multiply(const FakeProduct& x) {
    for (int row = 0; row < x.m; ++row) {
      for (int column = 0; column < x.n; ++column) {
        float sum = 0;
        for (int i = 0; i < x.k; ++i) {
          sum += load(x.a, at(x.op_a, row, i, x.lda), x.ab_type) *
                 load(x.b, at(x.op_b, i, column, x.ldb), x.ab_type);
        }
        store(x.c, at(cublas::kPlain, row, column, x.ldc), x.c_type, x.alpha * sum);
      }
    }
    self_->products.push_back(x);
  }

  void bind_handles();
  void bind_products();

  inline static FakeCublas* self_ = nullptr;
  std::uintptr_t last_handle_ = 0;
};

inline void FakeCublas::bind_handles() {
  library.file = "the fake cuBLAS";
  library.cublasGetStatusString = [](cublas::Status status) {
    return status == 15 ? "not supported" : "some status";
  };
  library.cublasCreate = [](cublas::Handle* handle) {
    const cublas::Status status = enter("cublasCreate");
    if (status != cublas::kSuccess) return status;
    ++self_->handles_out;
    *handle = reinterpret_cast<cublas::Handle>(++self_->last_handle_);
    return status;
  };
  library.cublasDestroy = [](cublas::Handle) {
    --self_->handles_out;
    return enter("cublasDestroy");
  };
  library.cublasSetMathMode = [](cublas::Handle, cublas::MathMode) {
    return enter("cublasSetMathMode");
  };
  library.cublasSetStream = [](cublas::Handle handle, gpu::cuda::Stream stream) {
    self_->streams[handle] = stream;
    self_->workspace_bytes.erase(handle);
    return enter("cublasSetStream");
  };
  library.cublasSetWorkspace = [](cublas::Handle handle, void* workspace, std::size_t bytes) {
    self_->workspace_bytes[handle] = workspace != nullptr ? bytes : 0;
    return enter("cublasSetWorkspace");
  };
}

inline void FakeCublas::bind_products() {
  library.cublasGemmEx = [](cublas::Handle handle, cublas::Operation op_a, cublas::Operation op_b,
                            int m, int n, int k, const void* alpha, const void* a,
                            cublas::DataType a_type, int lda, const void* b, cublas::DataType,
                            int ldb, const void* beta, void* c, cublas::DataType c_type, int ldc,
                            cublas::ComputeType, cublas::Algorithm) {
    const cublas::Status status = enter("cublasGemmEx");
    if (status != cublas::kSuccess) return status;
    multiply({.handle = handle,
              .op_a = op_a,
              .op_b = op_b,
              .m = m,
              .n = n,
              .k = k,
              .alpha = *static_cast<const float*>(alpha),
              .beta = *static_cast<const float*>(beta),
              .a = a,
              .b = b,
              .c = c,
              .lda = lda,
              .ldb = ldb,
              .ldc = ldc,
              .ab_type = a_type,
              .c_type = c_type});
    return status;
  };
  library.cublasGemmGroupedBatchedEx =
      [](cublas::Handle handle, const cublas::Operation op_a[], const cublas::Operation op_b[],
         const int m[], const int n[], const int k[], const void* alpha, const void* const a[],
         cublas::DataType a_type, const int lda[], const void* const b[], cublas::DataType,
         const int ldb[], const void* beta, void* const c[], cublas::DataType c_type,
         const int ldc[], int group_count, const int group_size[], cublas::ComputeType) {
        const cublas::Status status = enter("cublasGemmGroupedBatchedEx");
        if (status != cublas::kSuccess) return status;
        int product = 0;
        for (int g = 0; g < group_count; ++g) {
          for (int i = 0; i < group_size[g]; ++i, ++product) {
            multiply({.handle = handle,
                      .op_a = op_a[g],
                      .op_b = op_b[g],
                      .m = m[g],
                      .n = n[g],
                      .k = k[g],
                      .alpha = static_cast<const float*>(alpha)[g],
                      .beta = static_cast<const float*>(beta)[g],
                      .a = a[product],
                      .b = b[product],
                      .c = c[product],
                      .lda = lda[g],
                      .ldb = ldb[g],
                      .ldc = ldc[g],
                      .ab_type = a_type,
                      .c_type = c_type});
          }
        }
        return status;
      };
}

}  // namespace thresher::bench::testing
