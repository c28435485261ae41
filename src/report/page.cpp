// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include <fmt/format.h>

namespace thresher::report {

void Page::add_heading(int level, const Html& content) {
  body_ += element(fmt::format("h{}", level), content) + "\n";
}

void Page::add_paragraph(const Html& content) { body_ += element("p", content) + "\n"; }

void Page::add_table(const HtmlTable& table, const std::string& if_empty) {
  if (!table.is_empty()) {
    body_ += table.html();
  } else if (!if_empty.empty()) {
    add_paragraph(if_empty);
  }
}

void Page::add_details(const std::string& summary, const Html& content) {
  body_ += element("details", element("summary", summary) + content) + "\n";
}

void Page::add_chart(nlohmann::json chart, const std::string& label) {
  // Hidden until there is something to see.
  body_ +=
      Html::markup(fmt::format("<div class=\"chart\" id=\"chart-{}\" hidden>", charts_.size())) +
      element("canvas", "", {{"role", "img"}, {"aria-label", label}}) + Html::markup("</div>\n");
  charts_.push_back(std::move(chart));
}

}  // namespace thresher::report
