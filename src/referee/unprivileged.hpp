// SPDX-License-Identifier: Apache-2.0
// Who contestants run as when the referee is root: "nobody", who owns nothing. Limits on processes
// do not bind root, and root may write to every file that Landlock does not know.
#pragma once

#include <sys/types.h>

namespace thresher::referee {

inline constexpr uid_t kUnprivilegedId = 65534;

}  // namespace thresher::referee
