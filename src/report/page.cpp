// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include <fmt/format.h>

#include "assert.hpp"

namespace thresher::report {
namespace {

constexpr const char* kReplacementCharacter = "\xEF\xBF\xBD";

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '&':
      out += "&amp;";
      return;
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '"':
      out += "&quot;";
      return;
    case '\'':
      out += "&#39;";
      return;
    default:
      break;
  }
  // Control characters mean nothing in HTML; some are errors there.
  const bool is_control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
  if (is_control || c == 0x7f) {
    out += kReplacementCharacter;
  } else {
    out += c;
  }
}

// Columns that fit beside each other at the narrowest width the page is made for.
constexpr std::size_t kColumnsBesideMax = 4;

std::string class_of(const HtmlColumn& column) {
  if (!column.is_numeric) return column.css_class;
  return column.css_class.empty() ? "number" : "number " + column.css_class;
}

// Roles are said aloud because a style that makes blocks of rows takes them from the elements.
Html cell(std::string_view tag, const char* role, const HtmlColumn& column, const Html& content) {
  Attributes attributes{{"role", role}};
  if (const std::string name = class_of(column); !name.empty()) {
    attributes.emplace_back("class", name);
  }
  if (tag == "th") {
    attributes.emplace_back("scope", "col");
  } else {
    attributes.emplace_back("data-label", column.title);
  }
  return element(tag, content, attributes);
}

}  // namespace

Html::Html(std::string_view plain) {
  text_.reserve(plain.size());
  for (const char c : plain) append_escaped(text_, c);
}

Html Html::markup(std::string_view trusted) {
  Html html;
  html.text_ = trusted;
  return html;
}

Html& Html::operator+=(const Html& other) {
  text_ += other.text_;
  return *this;
}

Html element(std::string_view tag, const Html& content, const Attributes& attributes) {
  std::string inside(tag);
  for (const auto& [name, value] : attributes) {
    inside += fmt::format(R"( {}="{}")", name, Html(value).text());
  }
  return Html::markup(fmt::format("<{}>{}</{}>", inside, content.text(), tag));
}

Html heading(int level, const Html& content) {
  return element(fmt::format("h{}", level), content) + "\n";
}

Html paragraph(const Html& content) { return element("p", content) + "\n"; }

Html note(const Html& content) { return element("p", content, {{"class", "note"}}) + "\n"; }

Html small(const Html& content) { return element("small", content); }

Html fold(const Html& summary, const Html& content) {
  if (content.is_empty()) return {};
  return element("details", element("summary", summary) + "\n" +
                                element("div", content, {{"class", "inside"}})) +
         "\n";
}

void HtmlTable::add_row(const std::vector<Html>& cells) {
  THRESHER_ASSERT(cells.size() == columns_.size());
  Html row;
  for (std::size_t i = 0; i < cells.size(); ++i) row += cell("td", "cell", columns_[i], cells[i]);
  rows_ += element("tr", row, {{"role", "row"}}) + "\n";
}

Html HtmlTable::html() const {
  if (is_empty()) return {};
  Html head;
  for (const HtmlColumn& column : columns_)
    head += cell("th", "columnheader", column, column.title);
  std::string css_class = css_class_;
  if (css_class.empty() && columns_.size() > kColumnsBesideMax) css_class = "stacks";
  Attributes attributes{{"role", "table"}};
  if (!css_class.empty()) attributes.emplace_back("class", css_class);
  const Attributes group{{"role", "rowgroup"}};
  return element("table",
                 element("caption", caption_) +
                     element("thead", element("tr", head, {{"role", "row"}}), group) + "\n" +
                     element("tbody", rows_, group),
                 attributes) +
         "\n";
}

void HtmlFacts::add(const Html& name, const Html& value) {
  if (!value.is_empty()) rows_ += element("dt", name) + element("dd", value) + "\n";
}

Html HtmlFacts::html() const { return rows_.is_empty() ? Html() : element("dl", rows_) + "\n"; }

}  // namespace thresher::report
