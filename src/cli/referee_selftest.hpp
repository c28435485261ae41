// SPDX-License-Identifier: Apache-2.0
// thresher referee selftest: error rates on this machine, with matches whose truth is known.
#pragma once

#include "cli/commands.hpp"

namespace thresher::cli {

Command add_referee_selftest(CLI::App& referee);

}  // namespace thresher::cli
