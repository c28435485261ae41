// SPDX-License-Identifier: Apache-2.0
// The page under construction: HTML, and the charts' data that will stand in one script element.
//
// A chart is an addition. Its section always has a table with the same numbers, so that the page
// serves readers without JavaScript, and a chart's data is plain (draw.js makes pictures of it).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/html.hpp"
#include "report/html_table.hpp"

namespace thresher::report {

class Page {
 public:
  void add(const Html& html) { body_ += html; }
  void add_heading(int level, const Html& content);
  void add_paragraph(const Html& content);
  // Nothing where the table has no rows, unless `if_empty` says something instead.
  void add_table(const HtmlTable& table, const std::string& if_empty = {});
  void add_details(const std::string& summary, const Html& content);
  // `label` tells those who cannot see it what it shows. docs/report.md lists the types of charts.
  void add_chart(nlohmann::json chart, const std::string& label);

  const Html& body() const { return body_; }
  const nlohmann::json& charts() const { return charts_; }

 private:
  Html body_;
  nlohmann::json charts_ = nlohmann::json::array();
};

}  // namespace thresher::report
