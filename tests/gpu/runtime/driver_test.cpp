// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/driver.hpp"

#include <gtest/gtest.h>

#include "gpu/runtime/driver_error.hpp"
#include "gpu/runtime/fake_driver.hpp"

namespace thresher::gpu {
namespace {

using testing::FakeDriver;

TEST(OpenDriver, SaysThatThereIsNone) {
  Driver driver;
  EXPECT_EQ(open_driver("libthresher_no_such_driver.so.1", driver),
            "no NVIDIA driver: libthresher_no_such_driver.so.1 not found; install the driver, or "
            "use the CPU backend, which needs none");
}

// A library that is there and is no driver: the message names the first function it lacks.
TEST(OpenDriver, SaysWhichFunctionIsMissing) {
  Driver driver;
  EXPECT_EQ(open_driver("libm.so.6", driver),
            "the NVIDIA driver is too old: libm.so.6 has no cuInit; install a driver for CUDA 12.0 "
            "or newer");
}

TEST(OpenDriver, PassesOnWhyALibraryDoesNotOpen) {
  Driver driver;
  const std::string why_not = open_driver("/dev/null", driver);
  EXPECT_EQ(why_not.rfind("the NVIDIA driver does not open: /dev/null: ", 0), 0U) << why_not;
}

// With or without a driver on this machine: one of the two, and the same every time.
TEST(FindDriver, GivesADriverOrASentence) {
  const DriverLookup& lookup = find_driver();
  EXPECT_NE(lookup.driver == nullptr, lookup.why_not.empty());
  EXPECT_EQ(&find_driver(), &lookup);
}

TEST(StartDriver, IsContentWithADevice) {
  FakeDriver fake;
  EXPECT_EQ(start_driver(fake.driver), "");
  EXPECT_EQ(fake.calls, (std::vector<std::string>{"cuInit", "cuDeviceGetCount"}));
}

TEST(StartDriver, SaysThatThereIsNoDevice) {
  const std::string sentence =
      "an NVIDIA driver, but no GPU: {} says CUDA_ERROR_NO_DEVICE; look at nvidia-smi, and at "
      "CUDA_VISIBLE_DEVICES if it is set";
  const auto with_call = [&](const std::string& call) {
    std::string text = sentence;
    return text.replace(text.find("{}"), 2, call);
  };
  FakeDriver fake;
  fake.device_count = 0;
  EXPECT_EQ(start_driver(fake.driver), with_call("cuDeviceGetCount"));
  fake.failures["cuInit"] = cuda::kNoDevice;
  EXPECT_EQ(start_driver(fake.driver), with_call("cuInit"));
}

TEST(StartDriver, PassesOnAFailureWithAdvice) {
  FakeDriver fake;
  fake.failures["cuInit"] = cuda::kSystemDriverMismatch;
  EXPECT_EQ(start_driver(fake.driver),
            "cuInit failed: CUDA result 803; libcuda and the kernel module are of different "
            "versions: reboot, or reinstall the driver");
}

// Building against the toolkit tempts people to put its stub on the library path.
TEST(StartDriver, KnowsTheStub) {
  FakeDriver fake;
  fake.failures["cuInit"] = cuda::kStubLibrary;
  EXPECT_NE(start_driver(fake.driver).find("take the folder \"stubs\" off the library path"),
            std::string::npos);
}

TEST(DriverVersion, IsTold) {
  FakeDriver fake;
  EXPECT_EQ(driver_version(fake.driver), 13000);
  fake.failures["cuDriverGetVersion"] = cuda::kUnknown;
  EXPECT_EQ(driver_version(fake.driver), 0);
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12090), "12.9");
}

TEST(DriverErrorText, HasNameTextAndAdvice) {
  FakeDriver fake;
  EXPECT_EQ(result_text(fake.driver, cuda::kOutOfMemory),
            "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  EXPECT_EQ(result_text(fake.driver, cuda::kNotFound), "CUDA_ERROR_NOT_FOUND");
  EXPECT_EQ(result_text(fake.driver, 12345), "CUDA result 12345");
  EXPECT_EQ(driver_error_text(fake.driver, cuda::kOutOfMemory, "cuX(3)"),
            "cuX(3) failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory); free device memory, or "
            "choose a smaller problem");
  EXPECT_EQ(driver_error_text(fake.driver, cuda::kOutOfMemory, "cuX", "sell the house"),
            "cuX failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory); sell the house");
  EXPECT_EQ(driver_error_text(fake.driver, cuda::kInvalidValue, "cuX"),
            "cuX failed: CUDA_ERROR_INVALID_VALUE");
  EXPECT_EQ(driver_error_text(fake.driver, cuda::kNotInitialized, "cuX"),
            "cuX failed: CUDA result 3; CUDA does not follow a fork(): use the GPU in the process "
            "that opened it, or start the other without fork (Python: multiprocessing's "
            "\"spawn\")");
}

TEST(DriverErrorText, TellsALostContext) {
  FakeDriver fake;
  EXPECT_TRUE(is_sticky(cuda::kIllegalAddress));
  EXPECT_FALSE(is_sticky(cuda::kOutOfMemory));
  EXPECT_EQ(driver_error_text(fake.driver, cuda::kIllegalAddress, "cuCtxSynchronize"),
            "cuCtxSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS; an earlier kernel did this and "
            "the device context is lost, so end the process; compute-sanitizer names the kernel "
            "and the line");
}

TEST(Check, KeepsTheCode) {
  FakeDriver fake;
  EXPECT_NO_THROW(check(fake.driver, cuda::kSuccess, "cuX"));
  try {
    check(fake.driver, cuda::kNotFound, "cuX");
    FAIL() << "no exception";
  } catch (const DriverError& error) {
    EXPECT_EQ(error.code, cuda::kNotFound);
    EXPECT_STREQ(error.what(), "cuX failed: CUDA_ERROR_NOT_FOUND");
  }
}

}  // namespace
}  // namespace thresher::gpu
