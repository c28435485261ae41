// SPDX-License-Identifier: Apache-2.0
// HTML that cannot be forgotten to be escaped: plain text becomes Html only by being escaped, and
// only what this program itself writes goes in as markup.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thresher::report {

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

}  // namespace thresher::report
