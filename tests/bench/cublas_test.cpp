// SPDX-License-Identifier: Apache-2.0
#include "bench/cublas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "bench/cublas_handle.hpp"
#include "bench/fake_cublas.hpp"
#include "gpu/runtime/error_of.hpp"
#include "gpu/runtime/fake_driver.hpp"
#include "gpu/runtime/temporary_folder.hpp"

namespace thresher::bench {
namespace {

namespace fs = std::filesystem;
using gpu::testing::error_of;
using gpu::testing::FakeDriver;
using gpu::testing::TemporaryFolder;
using testing::FakeCublas;
using testing::FakeProduct;

TEST(OpenCublas, SaysWhatIsWrong) {
  Cublas library;
  EXPECT_EQ(open_cublas("libm.so.6", library), "libm.so.6 has no cublasGetProperty");
  EXPECT_NE(open_cublas("libthresher_no_such.so", library).find("libthresher_no_such.so"),
            std::string::npos);
}

// With or without cuBLAS on this machine: one of the two.
TEST(FindCublas, GivesALibraryOrASentence) {
  const CublasLookup lookup = find_cublas();
  ASSERT_NE(lookup.cublas.has_value(), !lookup.why_not.empty());
  if (!lookup.cublas.has_value()) GTEST_SKIP() << lookup.why_not;
  EXPECT_GE(lookup.cublas->major, 12);
  EXPECT_EQ(description(*lookup.cublas).rfind("cuBLAS 1", 0), 0U);
}

TEST(FindCublas, SaysWhyALibraryIsOfNoUse) {
  const TemporaryFolder folder;
  const CublasSearch search{.system = false, .folders = {folder.path()}};
  EXPECT_EQ(find_cublas(search).why_not,
            "no cuBLAS: libcublas.so.13 not found; install the CUDA toolkit, or 'pip install "
            "nvidia-cublas' (nvidia-cublas-cu12 for a driver of CUDA 12)");
  std::ofstream(folder.path() + "/libcublas.so.12") << "not a library";
  const std::string why_not = find_cublas(search).why_not;
  EXPECT_EQ(why_not.rfind("no usable cuBLAS: " + folder.path() + "/libcublas.so.12: ", 0), 0U)
      << why_not;
}

TEST(FindCublas, RefusesALibraryNewerThanTheDriver) {
  const CublasLookup any = find_cublas();
  if (!any.cublas.has_value()) GTEST_SKIP() << any.why_not;
  CublasSearch search{.system = false,
                      .folders = {fs::path(any.cublas->file).parent_path().string()},
                      .driver_version = 11080};
  EXPECT_NE(find_cublas(search).why_not.find("newer than the driver's CUDA 11.8; update the "
                                             "driver, or install that version's cuBLAS"),
            std::string::npos);
  search.driver_version = any.cublas->major * 1000;
  EXPECT_TRUE(find_cublas(search).cublas.has_value());
}

TEST(PipFoldersBeside, KnowsWherePipPutsThings) {
  const TemporaryFolder folder;
  const fs::path nvidia = fs::path(folder.path()) / "nvidia";
  fs::create_directories(nvidia / "cuda_nvrtc/lib");
  fs::create_directories(nvidia / "cublas/lib");
  const std::vector<std::string> found =
      pip_folders_beside((nvidia / "cuda_nvrtc/lib/libnvrtc.so.12").string());
  EXPECT_EQ(std::count(found.begin(), found.end(), (nvidia / "cublas/lib").string()), 1);
  EXPECT_TRUE(pip_folders_beside("/usr/local/cuda/lib64/libnvrtc.so.13").empty());
  EXPECT_TRUE(pip_folders_beside("").empty());
}

class CublasHandleTest : public ::testing::Test {
 protected:
  FakeDriver driver;
  FakeCublas fake;
  gpu::Device device{driver.driver};
  gpu::Stream stream{device};
};

TEST_F(CublasHandleTest, IsMadeInTheContextWithItsOwnWorkspace) {
  static bool context_was_current;
  static decltype(Cublas::cublasCreate) create;
  create = fake.library.cublasCreate;
  fake.library.cublasCreate = [](cublas::Handle* handle) {
    context_was_current = FakeDriver::current_context() != nullptr;
    return create(handle);
  };
  driver.driver.cuCtxSetCurrent(nullptr);
  {
    const CublasHandle handle(fake.library, device, stream);
    EXPECT_TRUE(context_was_current);
    EXPECT_EQ(fake.calls, (std::vector<std::string>{"cublasCreate", "cublasSetMathMode",
                                                    "cublasSetStream", "cublasSetWorkspace"}));
    ASSERT_EQ(fake.workspace_bytes.size(), 1U);
    EXPECT_EQ(fake.workspace_bytes.begin()->second, std::size_t{32} << 20);
    EXPECT_EQ(fake.streams.begin()->second, stream.handle());
  }
  EXPECT_EQ(fake.handles_out, 0);
}

TEST_F(CublasHandleTest, SaysWhatFailed) {
  fake.failures["cublasSetWorkspace"] = 15;
  EXPECT_EQ(error_of([&] { CublasHandle(fake.library, device, stream); }),
            "cublasSetWorkspace failed: not supported");
  EXPECT_EQ(fake.handles_out, 0);
  fake.failures = {{"cublasGemmEx", 15}};
  const CublasHandle handle(fake.library, device, stream);
  EXPECT_EQ(error_of([&] { handle.multiply({.m = 1, .n = 2, .k = 3}, {}, {}); }),
            "cublasGemmEx(m = 1, n = 2, k = 3, bf16 into bf16) failed: not supported");
  fake.library.cublasGemmGroupedBatchedEx = nullptr;
  EXPECT_EQ(error_of([&] { handle.multiply_grouped({}, {}, {}); }),
            "the fake cuBLAS has no cublasGemmGroupedBatchedEx: it needs cuBLAS 12.5 or newer");
}

// C (2 x 3) = 0.5 * A (2 x 2) * B^T (3 x 2), all by rows.
struct SmallProduct {
  const std::vector<float> a{1, 2, 3, 4};
  const std::vector<float> b{1, 0, 0, 1, 2, 3};
  std::vector<float> c = std::vector<float>(6, -1.0f);
  const std::vector<float> right{0.5f, 1.0f, 4.0f, 1.5f, 2.0f, 9.0f};
  const ProductShape shape{.m = 2, .n = 3, .k = 2, .alpha = 0.5f};
  const ProductTypes types{.operands = cublas::kFloat, .c = cublas::kFloat};
};

void expect_row_major_arguments(const FakeProduct& call, const SmallProduct& product) {
  EXPECT_EQ(call.op_a, cublas::kTransposed);
  EXPECT_EQ(call.op_b, cublas::kPlain);
  EXPECT_EQ((std::vector<int>{call.m, call.n, call.k}), (std::vector<int>{3, 2, 2}));
  EXPECT_EQ((std::vector<int>{call.lda, call.ldb, call.ldc}), (std::vector<int>{2, 2, 3}));
  EXPECT_EQ(call.a, product.b.data());
  EXPECT_EQ(call.b, product.a.data());
  EXPECT_EQ(call.alpha, 0.5f);
  EXPECT_EQ(call.beta, 0.0f);
}

TEST_F(CublasHandleTest, MultipliesByRows) {
  SmallProduct product;
  const CublasHandle handle(fake.library, device, stream);
  handle.multiply(product.shape, product.types,
                  {.a = product.a.data(), .b = product.b.data(), .c = product.c.data()});
  EXPECT_EQ(product.c, product.right);
  ASSERT_EQ(fake.products.size(), 1U);
  expect_row_major_arguments(fake.products.front(), product);
}

TEST_F(CublasHandleTest, MultipliesGroupsByRows) {
  SmallProduct first;
  SmallProduct second;
  const ProductShape row{.m = 1, .n = 3, .k = 2, .alpha = 2.0f};
  const void* const a[] = {first.a.data(), second.a.data() + 2};
  const void* const b[] = {first.b.data(), second.b.data()};
  void* const c[] = {first.c.data(), second.c.data()};
  const CublasHandle handle(fake.library, device, stream);
  GroupedShapes shapes;
  shapes.add(first.shape);
  shapes.add(row);
  handle.multiply_grouped(shapes, first.types, {.a = a, .b = b, .c = c});
  EXPECT_EQ(first.c, first.right);
  EXPECT_EQ(second.c, (std::vector<float>{6.0f, 8.0f, 36.0f, -1.0f, -1.0f, -1.0f}));
  ASSERT_EQ(fake.products.size(), 2U);
  expect_row_major_arguments(fake.products.front(), first);
}

}  // namespace
}  // namespace thresher::bench
