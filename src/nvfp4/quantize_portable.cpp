// SPDX-License-Identifier: Apache-2.0
#include "nvfp4/quantize_blocks.hpp"

namespace thresher::nvfp4 {

const QuantizeBody& portable_quantize_body() { return kBodyOfThisFile; }

}  // namespace thresher::nvfp4
