// SPDX-License-Identifier: Apache-2.0
// thresher referee simulate: error rates in model worlds, where the truth is known.
#pragma once

#include "cli/commands.hpp"

namespace thresher::cli {

Command add_referee_simulate(CLI::App& referee);

}  // namespace thresher::cli
