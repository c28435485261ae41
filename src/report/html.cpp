// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"

#include <fmt/format.h>

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

}  // namespace thresher::report
