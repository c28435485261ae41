// SPDX-License-Identifier: Apache-2.0
// A table of the page. It scrolls inside its own box, so that a wide one does not widen the page.
#pragma once

#include <string>
#include <vector>

#include "report/html.hpp"

namespace thresher::report {

struct HtmlColumn {
  std::string title;
  bool is_numeric = false;  // aligned right, figures of equal width
  bool is_prose = false;    // may wrap; given room
};

class HtmlTable {
 public:
  HtmlTable(std::string caption, std::vector<HtmlColumn> columns)
      : caption_(std::move(caption)), columns_(std::move(columns)) {}

  void add_row(const std::vector<Html>& cells);
  bool is_empty() const { return rows_.is_empty(); }
  Html html() const;

 private:
  std::string caption_;
  std::vector<HtmlColumn> columns_;
  Html rows_;
};

}  // namespace thresher::report
