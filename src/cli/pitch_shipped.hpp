// SPDX-License-Identifier: Apache-2.0
// thresher pitch list and thresher pitch show: the pitches that travel in the binary.
#pragma once

#include "cli/command.hpp"

namespace thresher::cli {

Command pitch_list_command();
Command pitch_show_command();

}  // namespace thresher::cli
