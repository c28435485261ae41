// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/memory.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "gpu/runtime/error_of.hpp"
#include "gpu/runtime/fake_driver.hpp"

namespace thresher::gpu {
namespace {

using testing::error_of;
using testing::FakeDriver;

TEST(DeviceBuffer, CopiesInAndOut) {
  FakeDriver fake;
  const Device device(fake.driver);
  std::vector<float> values(100);
  std::iota(values.begin(), values.end(), 0.0f);
  const DeviceBuffer buffer(device, 400);
  EXPECT_EQ(buffer.bytes(), 400U);
  buffer.copy_in(bytes_of(std::as_const(values)));
  std::vector<float> back(100, -1.0f);
  buffer.copy_out(bytes_of(back));
  EXPECT_EQ(back, values);

  std::vector<float> two(2);
  buffer.copy_out(bytes_of(two), 40);
  EXPECT_EQ(two, (std::vector<float>{10.0f, 11.0f}));
  buffer.fill(std::byte{0});
  buffer.copy_in(bytes_of(std::as_const(two)), 392);
  buffer.copy_out(bytes_of(back));
  EXPECT_EQ(back[97], 0.0f);
  EXPECT_EQ(back[98], 10.0f);
  EXPECT_EQ(buffer.pointer<float>(4) - buffer.pointer<float>(), 1);
}

// A copy that is done waits for the whole device before and after: pageable memory and streams that
// do not wait for the default stream leave no other way.
TEST(DeviceBuffer, FinishedCopiesWaitForTheDevice) {
  FakeDriver fake;
  const Device device(fake.driver);
  const DeviceBuffer buffer(device, 4);
  const std::vector<std::byte> bytes(4);
  fake.calls.clear();
  buffer.copy_in(bytes);
  EXPECT_EQ(fake.calls,
            (std::vector<std::string>{"cuCtxSetCurrent", "cuCtxSynchronize", "cuCtxSetCurrent",
                                      "cuMemcpyHtoDAsync", "cuCtxSetCurrent", "cuCtxSynchronize"}));
}

TEST(DeviceBuffer, QueuesOnAStream) {
  FakeDriver fake;
  const Device device(fake.driver);
  const Stream stream(device);
  const DeviceBuffer from(device, 8);
  const DeviceBuffer to(device, 8);
  const std::vector<std::byte> threes(8, std::byte{3});
  from.enqueue_copy_in(stream, threes);
  to.enqueue_copy_from(stream, from);
  EXPECT_EQ(fake.calls_of("cuCtxSynchronize"), 0);
  std::vector<std::byte> bytes(8);
  to.copy_out(bytes);
  EXPECT_EQ(bytes, threes);
}

TEST(DeviceBuffer, RefusesRangesBeyondItsEnd) {
  FakeDriver fake;
  const Device device(fake.driver);
  const Stream stream(device);
  const DeviceBuffer buffer(device, 16);
  const DeviceBuffer larger(device, 17);
  std::vector<std::byte> bytes(8);
  EXPECT_EQ(error_of([&] { buffer.copy_in(bytes, 9); }),
            "a copy in of 8 bytes at offset 9 does not fit a device buffer of 16 bytes");
  EXPECT_EQ(error_of([&] { buffer.copy_out(bytes, ~std::size_t{0}); }),
            "a copy out of 8 bytes at offset 18446744073709551615 does not fit a device buffer of "
            "16 bytes");
  EXPECT_EQ(error_of([&] { buffer.enqueue_copy_from(stream, larger); }),
            "a copy on the device of 17 bytes at offset 0 does not fit a device buffer of 16 "
            "bytes");
  EXPECT_EQ(error_of([&] { buffer.copy_out(bytes, 8); }), "no error");
}

TEST(DeviceBuffer, MayBeEmpty) {
  FakeDriver fake;
  const Device device(fake.driver);
  const DeviceBuffer none;
  const DeviceBuffer empty(device, 0);
  EXPECT_EQ(none.address(), 0U);
  EXPECT_EQ(empty.address(), 0U);
  empty.fill(std::byte{1});
  empty.copy_in({});
  EXPECT_EQ(fake.calls_of("cuMemAlloc"), 0);
  EXPECT_EQ(error_of([&] { empty.share(); }), "a device buffer of 0 bytes cannot be shared");
}

TEST(DeviceBuffer, SaysHowMuchIsFree) {
  FakeDriver fake;
  const Device device(fake.driver);
  EXPECT_EQ(error_of([&] { DeviceBuffer(device, std::size_t{200} << 20); }),
            "GPU 0: cuMemAlloc(209715200 bytes) failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory); "
            "100 of 143771 MiB are free: end other processes on this GPU, or choose a smaller "
            "problem");
  fake.failures["cuMemAlloc"] = cuda::kInvalidValue;
  EXPECT_EQ(error_of([&] { DeviceBuffer(device, 8); }),
            "GPU 0: cuMemAlloc(8 bytes) failed: CUDA_ERROR_INVALID_VALUE");
}

TEST(DeviceBuffer, NamesTheFailedCopy) {
  FakeDriver fake;
  const Device device(fake.driver);
  const DeviceBuffer buffer(device, 16);
  std::vector<std::byte> bytes(12);
  fake.failures["cuMemcpyHtoDAsync"] = cuda::kInvalidValue;
  EXPECT_EQ(error_of([&] { buffer.copy_in(bytes); }),
            "GPU 0: cuMemcpyHtoDAsync(12 bytes) failed: CUDA_ERROR_INVALID_VALUE");
}

TEST(KnownAddress, IsAskedOfTheDriver) {
  FakeDriver fake;
  const int here = 0;
  fake.unknown_address = &here;
  const Device device(fake.driver);
  EXPECT_FALSE(device.properties().pageable_access);
  EXPECT_FALSE(is_known_address(*device.context(), &here));
  EXPECT_TRUE(is_known_address(*device.context(), &fake));
  fake.failures["cuPointerGetAttribute"] = cuda::kUnknown;
  EXPECT_TRUE(is_known_address(*device.context(), &here)) << "that says nothing of the address";
}

TEST(KnownAddress, IsAnyWhereNobodyCanBeAsked) {
  FakeDriver fake;
  fake.driver.cuPointerGetAttribute = nullptr;
  const int here = 0;
  fake.unknown_address = &here;
  const Device device(fake.driver);
  EXPECT_TRUE(is_known_address(*device.context(), &here));
}

TEST(MappedBuffer, SeesAnothersMemory) {
  FakeDriver fake;
  const Device device(fake.driver);
  const DeviceBuffer buffer(device, 16);
  {
    const MappedBuffer mapped(device, buffer.share());
    EXPECT_EQ(mapped.address(), buffer.address());
  }
  EXPECT_EQ(fake.calls_of("cuIpcCloseMemHandle"), 1);
  EXPECT_EQ(fake.calls_of("cuMemFree"), 0);
}

TEST(MappedBuffer, SaysWhoMayMap) {
  FakeDriver fake;
  const Device device(fake.driver);
  const DeviceBuffer buffer(device, 16);
  fake.failures["cuIpcOpenMemHandle"] = cuda::kInvalidContext;
  EXPECT_EQ(error_of([&] { MappedBuffer(device, buffer.share()); }),
            "GPU 0: cuIpcOpenMemHandle failed: CUDA result 201; a buffer is mapped by another "
            "process than its owner, while the owner keeps it");
}

}  // namespace
}  // namespace thresher::gpu
