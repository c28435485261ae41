// SPDX-License-Identifier: Apache-2.0
// C's handle of a layer, for the C twins that make one.
#pragma once

#include "engine/c_handles.hpp"
#include "thresher/moe.h"
#include "thresher/moe.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): C's name for C's handle.
struct thresher_moe_layer {
  thresher::MoeLayer layer;
};

namespace thresher::c_twin {

thresher_moe_options options_in_c(const MoeOptions& options);

// Throws Error on a null engine or options and on numbers that are no option.
thresher_moe_layer make_layer(const thresher_engine* engine, const MoeSource& source,
                              const thresher_moe_options* options);

}  // namespace thresher::c_twin
