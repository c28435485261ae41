// SPDX-License-Identifier: Apache-2.0
// The files that every page carries: its style (page.css), what draws its charts (draw.js) and the
// library for that (Chart.js, Debian's libjs-chart.js). cmake/embed_files.cmake writes the table.
#pragma once

namespace thresher {

struct PageFile {
  const char* name;  // its stem
  const char* text;
};

extern const PageFile kPageFiles[];
extern const int kPageFileCount;

}  // namespace thresher
