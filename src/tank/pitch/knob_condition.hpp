// SPDX-License-Identifier: Apache-2.0
// A condition on the value of a knob, as constraints state it: "> 1", "= 64x128",
// "!= 128 and != 256", "not a multiple of 8".
#pragma once

#include <string>
#include <string_view>

namespace thresher {

// Why `condition` is none; empty if it is one.
std::string fault_of_condition(std::string_view condition);

// `condition` must be one. Numbers compare as numbers; anything else is equal or not, never more or
// less.
bool holds(std::string_view condition, std::string_view value);

}  // namespace thresher
