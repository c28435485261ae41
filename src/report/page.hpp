// SPDX-License-Identifier: Apache-2.0
// The page's bricks: HTML, its tables, and folds. A part of the page is a function that returns
// Html, and parts are put together with +.
#pragma once

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

Html heading(int level, const Html& content);
Html paragraph(const Html& content);
Html note(const Html& content);   // small print
Html small(const Html& content);  // a second line under a cell's first
// What is there for those who ask: opened by a click or a key. Nothing where there is no content.
Html fold(const Html& summary, const Html& content);

struct HtmlColumn {
  std::string title;
  bool is_numeric = false;     // aligned right, figures of equal width
  std::string css_class = {};  // for cells that the style must find
};

// A table never becomes wider than the page. One of many columns turns its rows into blocks where
// the window is narrow, with the columns' titles beside the values.
class HtmlTable {
 public:
  HtmlTable(std::string caption, std::vector<HtmlColumn> columns, std::string css_class = {})
      : caption_(std::move(caption)),
        columns_(std::move(columns)),
        css_class_(std::move(css_class)) {}

  void add_row(const std::vector<Html>& cells);
  bool is_empty() const { return rows_.is_empty(); }
  Html html() const;  // nothing where there are no rows

 private:
  std::string caption_;
  std::vector<HtmlColumn> columns_;
  std::string css_class_;
  Html rows_;
};

// Names and values, one under the other. A value that is empty is left out with its name.
class HtmlFacts {
 public:
  void add(const Html& name, const Html& value);
  Html html() const;  // nothing where there are no facts

 private:
  Html rows_;
};

}  // namespace thresher::report
