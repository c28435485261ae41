// SPDX-License-Identifier: Apache-2.0
// One run of a case with a word left out, in a process of its own: a kernel without its barriers
// may do anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulated/mutations/cases.hpp"
#include "emulator/sites.hpp"

namespace thresher::emulated::testing {

// Empty if nobody noticed; or what the emulator reported, or that results differ from `right`.
std::string noticed(const Case& which, const emulator::SiteName& left_out, std::uint64_t seed,
                    const std::vector<std::uint8_t>& right);

}  // namespace thresher::emulated::testing
