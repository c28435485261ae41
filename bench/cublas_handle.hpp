// SPDX-License-Identifier: Apache-2.0
// A cuBLAS handle on one stream, and the products we ask of it. Everything is in row-major terms;
// what cuBLAS makes of columns stays inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/cublas.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/stream.hpp"

namespace thresher::bench {

// C = alpha * A * B^T: A is m x k, B is n x k, C is m x n, all row-major without gaps.
struct ProductShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  float alpha = 1.0f;
};

struct ProductTypes {
  cublas::DataType operands = cublas::kBf16;
  cublas::DataType c = cublas::kBf16;  // the operands' type or float
};

struct ProductAddresses {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};

// The shapes of a grouped call, as cuBLAS takes them: an array per extent. A captured call may read
// them again, so they must outlive the graph.
class GroupedShapes {
 public:
  void add(const ProductShape& shape);
  std::size_t count() const { return m_.size(); }

 private:
  friend class CublasHandle;
  std::vector<int> m_;
  std::vector<int> n_;
  std::vector<int> k_;
  std::vector<float> alpha_;
  std::vector<float> beta_;
  std::vector<int> product_counts_;  // always 1
  std::vector<cublas::Operation> a_operations_;
  std::vector<cublas::Operation> b_operations_;
};

// Arrays of addresses, in device memory.
struct ProductArrays {
  const void* const* a = nullptr;
  const void* const* b = nullptr;
  void* const* c = nullptr;
};

// May be captured in a graph: it has a workspace of its own and allocates nothing once made. Keeps
// the context, but refers to the library and the stream, which must outlive it. Failures are thrown
// as Error.
class CublasHandle {
 public:
  CublasHandle(const Cublas& library, const gpu::Device& device, const gpu::Stream& stream);
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;
  ~CublasHandle();

  // Queued on the handle's stream.
  void multiply(const ProductShape& shape, const ProductTypes& types,
                const ProductAddresses& addresses) const;
  // All at once. Throws if the library is too old for it.
  void multiply_grouped(const GroupedShapes& shapes, const ProductTypes& types,
                        const ProductArrays& arrays) const;

 private:
  template <typename Describe>
  void check(cublas::Status status, const Describe& describe) const;

  const Cublas& library_;
  std::shared_ptr<gpu::Context> context_;
  gpu::DeviceBuffer workspace_;
  cublas::Handle handle_ = nullptr;
};

}  // namespace thresher::bench
