// SPDX-License-Identifier: Apache-2.0
// What surrounds the products of a layer, on the CPU's threads.
#pragma once

#include <memory>
#include <mutex>

#include "backend/layer.hpp"
#include "cpu/pool.hpp"

namespace thresher::cpu {

// The engine's threads, and whose turn it is to use them.
struct SharedPool {
  Pool& pool;
  std::mutex& turn;
};

std::unique_ptr<backend::LayerSteps> layer_steps(const backend::LayerShape& shape,
                                                 const backend::LayerMemory& memory,
                                                 SharedPool pool);

}  // namespace thresher::cpu
