// SPDX-License-Identifier: Apache-2.0
#include "report/html_table.hpp"

#include "assert.hpp"

namespace thresher::report {
namespace {

Attributes attributes_of(const HtmlColumn& column) {
  if (column.is_numeric) return {{"class", "number"}};
  if (column.is_prose) return {{"class", "prose"}};
  return {};
}

}  // namespace

void HtmlTable::add_row(const std::vector<Html>& cells) {
  THRESHER_ASSERT(cells.size() == columns_.size());
  Html row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    row += element("td", cells[i], attributes_of(columns_[i]));
  }
  rows_ += element("tr", row) + "\n";
}

Html HtmlTable::html() const {
  Html head;
  for (const HtmlColumn& column : columns_) {
    Attributes attributes = attributes_of(column);
    attributes.emplace_back("scope", "col");
    head += element("th", column.title, attributes);
  }
  const Html table =
      element("table", element("caption", caption_) + element("thead", element("tr", head)) + "\n" +
                           element("tbody", rows_));
  // Focusable, so that a keyboard can scroll it.
  return element("div", table,
                 {{"class", "scroll"},
                  {"tabindex", "0"},
                  {"role", "region"},
                  {"aria-label", caption_}}) +
         "\n";
}

}  // namespace thresher::report
