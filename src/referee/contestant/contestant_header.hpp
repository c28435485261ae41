// SPDX-License-Identifier: Apache-2.0
// The texts of include/thresher/contestant.h and contestant.cuh, in this order, which travel inside
// the binary so that it can compile contestants wherever it has been copied;
// cmake/embed_files.cmake writes the table.
#pragma once

namespace thresher {

struct ContestantHeader {
  const char* name;
  const char* text;
};

extern const ContestantHeader kContestantHeaders[];
extern const int kContestantHeaderCount;

}  // namespace thresher
