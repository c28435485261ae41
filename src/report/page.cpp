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

Attributes attributes_of(const HtmlColumn& column) {
  if (column.is_numeric) return {{"class", "number"}};
  if (column.is_prose) return {{"class", "prose"}};
  return {};
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

Html script_json(const nlohmann::json& json) {
  // Inside a script element entities are not read, but JSON has escapes of its own. Ours hide every
  // character that HTML looks for there; outside of JSON strings none of them occurs.
  std::string safe;
  for (const char c :
       json.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace)) {
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else {
      safe += c;
    }
  }
  return Html::markup(safe);
}

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

void Page::add_heading(int level, const Html& content) {
  body_ += element(fmt::format("h{}", level), content) + "\n";
}

void Page::add_paragraph(const Html& content) { body_ += element("p", content) + "\n"; }

void Page::add_note(const Html& content) { body_ += element("p", content, {{"class", "note"}}); }

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
