// SPDX-License-Identifier: Apache-2.0
#include "cpu/body.hpp"

#include "assert.hpp"

namespace thresher::cpu {

const Body& body(Isa isa) {
  THRESHER_ASSERT(can_run(isa));
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return avx2_body();
    case Isa::kAvx512:
      return avx512_body();
    case Isa::kAvx512Vnni:
      return avx512vnni_body();
    case Isa::kAmx:
      return amx_body();
#endif
    default:
      return portable_body();
  }
}

}  // namespace thresher::cpu
