// SPDX-License-Identifier: Apache-2.0
// Removes folders that contestants have written to: however deep, whatever their modes, without
// following a link.
#pragma once

#include <filesystem>

namespace thresher::referee {

// False when something is left. A folder that is not there is removed.
bool remove_tree(const std::filesystem::path& folder);

}  // namespace thresher::referee
