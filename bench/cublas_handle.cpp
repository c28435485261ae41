// SPDX-License-Identifier: Apache-2.0
// cuBLAS stores matrices by columns, so a row-major matrix is its own transpose there. It is asked
// for C^T (n x m) = B * A^T: B, which it sees as k x n, is transposed, A it sees as the k x m it
// needs. All leading dimensions are row lengths: k, k and n.
#include "bench/cublas_handle.hpp"

#include <fmt/format.h>

#include "thresher/error.hpp"

namespace thresher::bench {
namespace {

// What NVIDIA advises for Hopper.
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;
constexpr float kBeta = 0.0f;

const char* to_string(cublas::DataType type) {
  return type == cublas::kFloat ? "float" : type == cublas::kFp16 ? "fp16" : "bf16";
}

// Which types a function takes depends on the library.
std::string to_string(const ProductTypes& types) {
  return fmt::format("{} into {}", to_string(types.operands), to_string(types.c));
}

}  // namespace

template <typename Describe>
void CublasHandle::check(cublas::Status status, const Describe& describe) const {
  if (status == cublas::kSuccess) return;
  throw Error(fmt::format("{} failed: {}", describe(), library_.cublasGetStatusString(status)));
}

CublasHandle::CublasHandle(const Cublas& library, const gpu::Device& device,
                           const gpu::Stream& stream)
    : library_(library), context_(device.context()), workspace_(device, kWorkspaceBytes) {
  const auto call = [](const char* name) { return [name] { return std::string(name); }; };
  // A handle belongs to the context that is current when it is made.
  context_->make_current();
  check(library.cublasCreate(&handle_), call("cublasCreate"));
  try {
    check(library.cublasSetMathMode(handle_, cublas::kNoReducedPrecisionReduction),
          call("cublasSetMathMode"));
    // In this order: setting the stream forgets the workspace.
    check(library.cublasSetStream(handle_, stream.handle()), call("cublasSetStream"));
    check(library.cublasSetWorkspace(handle_, workspace_.pointer<void>(), workspace_.bytes()),
          call("cublasSetWorkspace"));
  } catch (...) {
    library.cublasDestroy(handle_);
    throw;
  }
}

CublasHandle::~CublasHandle() {
  // Not make_current(), which throws.
  context_->driver().cuCtxSetCurrent(context_->handle());
  library_.cublasDestroy(handle_);
}

void CublasHandle::multiply(const ProductShape& shape, const ProductTypes& types,
                            const ProductAddresses& addresses) const {
  const int m = static_cast<int>(shape.m);
  const int n = static_cast<int>(shape.n);
  const int k = static_cast<int>(shape.k);
  context_->make_current();
  check(library_.cublasGemmEx(handle_, cublas::kTransposed, cublas::kPlain, n, m, k, &shape.alpha,
                              addresses.b, types.operands, k, addresses.a, types.operands, k,
                              &kBeta, addresses.c, types.c, n, cublas::kComputeFloat,
                              cublas::kDefaultAlgorithm),
        [&] {
          return fmt::format("cublasGemmEx(m = {}, n = {}, k = {}, {})", m, n, k, to_string(types));
        });
}

void GroupedShapes::add(const ProductShape& shape) {
  m_.push_back(static_cast<int>(shape.m));
  n_.push_back(static_cast<int>(shape.n));
  k_.push_back(static_cast<int>(shape.k));
  alpha_.push_back(shape.alpha);
  beta_.push_back(kBeta);
  product_counts_.push_back(1);
  a_operations_.push_back(cublas::kPlain);
  b_operations_.push_back(cublas::kTransposed);
}

void CublasHandle::multiply_grouped(const GroupedShapes& shapes, const ProductTypes& types,
                                    const ProductArrays& arrays) const {
  if (library_.cublasGemmGroupedBatchedEx == nullptr) {
    throw Error(fmt::format("{} has no cublasGemmGroupedBatchedEx: it needs cuBLAS 12.5 or newer",
                            library_.file));
  }
  context_->make_current();
  check(library_.cublasGemmGroupedBatchedEx(
            handle_, shapes.b_operations_.data(), shapes.a_operations_.data(), shapes.n_.data(),
            shapes.m_.data(), shapes.k_.data(), shapes.alpha_.data(), arrays.b, types.operands,
            shapes.k_.data(), arrays.a, types.operands, shapes.k_.data(), shapes.beta_.data(),
            arrays.c, types.c, shapes.n_.data(), static_cast<int>(shapes.count()),
            shapes.product_counts_.data(), cublas::kComputeFloat),
        [&] {
          return fmt::format("cublasGemmGroupedBatchedEx({} groups, {})", shapes.count(),
                             to_string(types));
        });
}

}  // namespace thresher::bench
