// SPDX-License-Identifier: Apache-2.0
// Says who waits for what when nobody can go on.
#pragma once

#include <list>
#include <string>

#include "emulator/block.hpp"

namespace thresher::emulator {

std::string deadlock_report(const std::list<Block>& blocks);

}  // namespace thresher::emulator
