// SPDX-License-Identifier: Apache-2.0
// What a driver is told of a matrix, word by word, and what it may answer.
#include "gpu/tensor_maps.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "gpu/runtime/driver_error.hpp"

namespace thresher::gpu {
namespace {

// What the driver was told last, in the order of its parameters.
std::vector<unsigned long long> told;
cuda::Result answer = cuda::kSuccess;

Driver driver_with_maps() {
  Driver driver;
  driver.file = "libcuda.so.1";
  driver.cuGetErrorName = [](cuda::Result, const char** name) {
    *name = "CUDA_ERROR_INVALID_VALUE";
    return cuda::kSuccess;
  };
  driver.cuGetErrorString = [](cuda::Result, const char** text) {
    *text = "invalid argument";
    return cuda::kSuccess;
  };
  driver.cuTensorMapEncodeTiled =
      [](void* map, unsigned type, unsigned rank, void* address, const unsigned long long* extents,
         const unsigned long long* stride_bytes, const unsigned* box, const unsigned* steps,
         unsigned interleave, unsigned swizzle, unsigned promotion, unsigned fill) {
        told = {type,       rank,       reinterpret_cast<unsigned long long>(address),
                extents[0], extents[1], stride_bytes[0],
                box[0],     box[1],     steps[0],
                steps[1],   interleave, swizzle,
                promotion,  fill};
        static_cast<u64*>(map)[15] = 7;
        return answer;
      };
  return driver;
}

TEST(TensorMaps, AreWhatTheDriverMakesOfTheFields) {
  answer = cuda::kSuccess;
  const hw::TensorMapFields fields =
      hw::tensor_map_fields(0x1000, 288, 128, 144, hw::Swizzle::k128);
  const hw::TensorMap map = encode(driver_with_maps(), fields);
  EXPECT_EQ(map.words[15], 7u);
  EXPECT_EQ(told, (std::vector<unsigned long long>{0, 2, 0x1000, 128, 288, 128, 128, 144, 1, 1, 0,
                                                   3, 0, 0}));
}

TEST(TensorMaps, SayWhatTheDriverRefused) {
  answer = cuda::kInvalidValue;
  try {
    encode(driver_with_maps(), hw::tensor_map_fields(0x1008, 288, 128, 144, hw::Swizzle::kNone));
    FAIL();
  } catch (const DriverError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("cuTensorMapEncodeTiled (288 rows of 128 bytes at "
                        "0x1008, boxes of 144 by 128) failed: "
                        "CUDA_ERROR_INVALID_VALUE"),
              std::string::npos)
        << error.what();
  }
}

TEST(TensorMaps, NeedADriverThatHasThem) {
  Driver old;
  old.file = "libcuda.so.1";
  try {
    encode(old, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "libcuda.so.1 makes no tensor maps, and loads = boxes needs them: install a newer "
                 "driver, or take loads = copies");
  }
}

}  // namespace
}  // namespace thresher::gpu
