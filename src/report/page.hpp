// SPDX-License-Identifier: Apache-2.0
// The page under construction: HTML, its tables, and the charts' data that will stand in one script
// element.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thresher::report {

// HTML that cannot be forgotten to be escaped: plain text becomes Html only by being escaped, and
// only what this program itself writes goes in as markup.
class Html {
 public:
  Html() = default;
  Html(std::string_view plain);
  Html(const std::string& plain) : Html(std::string_view(plain)) {}
  Html(const char* plain) : Html(std::string_view(plain)) {}

  // For text that is HTML already and comes from us, never from the ledger.
  static Html markup(std::string_view trusted);

  Html& operator+=(const Html& other);
  friend Html operator+(Html left, const Html& right) { return left += right; }
  const std::string& text() const { return text_; }
  bool is_empty() const { return text_.empty(); }

 private:
  std::string text_;
};

using Attributes = std::vector<std::pair<std::string_view, std::string>>;

// <tag name="value">content</tag>, the values escaped.
Html element(std::string_view tag, const Html& content, const Attributes& attributes = {});

// JSON as it may stand inside <script>: nothing in it can end the script or open a comment.
Html script_json(const nlohmann::json& json);

struct HtmlColumn {
  std::string title;
  bool is_numeric = false;  // aligned right, figures of equal width
  bool is_prose = false;    // may wrap; given room
};

// It scrolls inside its own box, so that a wide one does not widen the page.
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

// A chart is an addition. Its section always has a table with the same numbers, so that the page
// serves readers without JavaScript, and a chart's data is plain (draw.js makes pictures of it).
class Page {
 public:
  void add(const Html& html) { body_ += html; }
  void add_heading(int level, const Html& content);
  void add_paragraph(const Html& content);
  void add_note(const Html& content);  // small print
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
