// SPDX-License-Identifier: Apache-2.0
#include "gpu/tensor_maps.hpp"

#include <fmt/format.h>

#include "gpu/runtime/driver_error.hpp"

namespace thresher::gpu {

hw::TensorMap encode(const Driver& driver, const hw::TensorMapFields& fields) {
  if (driver.cuTensorMapEncodeTiled == nullptr) {
    throw Error(fmt::format(
        "{} makes no tensor maps, and loads = boxes needs them: install a newer driver, "
        "or take loads = copies",
        driver.file));
  }
  hw::TensorMap map;
  const cuda::Result result = driver.cuTensorMapEncodeTiled(
      map.words, fields.type, fields.rank, reinterpret_cast<void*>(fields.address), fields.extents,
      &fields.stride_bytes, fields.box, fields.steps, fields.interleave, fields.swizzle,
      fields.promotion, fields.fill);
  check(driver, result, [&] {
    return fmt::format("cuTensorMapEncodeTiled ({} rows of {} bytes at {:#x}, boxes of {} by {})",
                       fields.extents[1], fields.extents[0], fields.address, fields.box[1],
                       fields.box[0]);
  });
  return map;
}

}  // namespace thresher::gpu
