// SPDX-License-Identifier: Apache-2.0
// The text of include/thresher/contestant.h, which travels inside the binary so that it can compile
// contestants wherever it has been copied. The build system generates the definition.
#pragma once

namespace thresher::referee {

extern const char* const kContestantHeader;

}  // namespace thresher::referee
