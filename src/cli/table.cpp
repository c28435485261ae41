// SPDX-License-Identifier: Apache-2.0
#include "cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "assert.hpp"
#include "cli/terminal.hpp"

namespace thresher::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kTextWidthMin = 12;
constexpr std::size_t kTextWidthLast = 5;
constexpr std::string_view kBreaks = " ,:_";  // a line may end behind these

std::string_view tone_code(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "\033[32m";
    case Tone::kBad:
      return "\033[31m";
    case Tone::kDim:
      return "\033[2m";
    case Tone::kPlain:
      break;
  }
  return "";
}

bool begins_letter(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Columns that UTF-8 takes on a terminal, one per letter.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_letter));
}

// The first `width` letters.
std::string_view first_letters(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (begins_letter(text[end]) && width-- == 0) break;
  }
  return text.substr(0, end);
}

// The end of the first line of `text`: after the last space, comma, colon or underscore that fits.
std::size_t line_end(std::string_view text, std::size_t width) {
  const std::string_view fitting = first_letters(text, width);
  if (fitting.size() == text.size()) return text.size();
  const std::size_t last = fitting.find_last_of(kBreaks);
  return last == std::string_view::npos ? fitting.size() : last + 1;
}

void wrap_line(std::string_view text, std::size_t width, std::vector<std::string_view>& lines) {
  while (width_of(text) > width) {
    const std::size_t end = line_end(text, width);
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
    if (text.starts_with(' ')) text.remove_prefix(1);  // it would have stood behind a comma
  }
  lines.push_back(text);
}

std::vector<std::string_view> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    wrap_line(text.substr(0, end), width, lines);
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

// Of the widest line.
std::size_t width_of_lines(std::string_view text) {
  std::size_t width = 0;
  for (const std::string_view line : wrap(text, text.size() + 1)) {
    width = std::max(width, width_of(line));
  }
  return width;
}

std::size_t longest_word(std::string_view text, std::string_view breaks = " ") {
  std::size_t longest = 0;
  while (!text.empty()) {
    std::size_t end = std::min(text.find_first_of(breaks), text.size());
    if (end < text.size() && text[end] != ' ') ++end;  // it stays in its line
    longest = std::max(longest, width_of(text.substr(0, end)));
    text.remove_prefix(end);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return longest;
}

std::string pad(std::string_view text, std::size_t width, Align align) {
  const std::string spaces(width - std::min(width, width_of(text)), ' ');
  return align == Align::kLeft ? std::string(text) + spaces : spaces + std::string(text);
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The column that has the most to give gives way, one character at a time. Returns the new total.
std::size_t narrow(std::vector<std::size_t>& widths, const std::vector<std::size_t>& widths_min,
                   std::size_t total, std::size_t width_max) {
  const auto slack = [&](std::size_t i) {
    return widths[i] > widths_min[i] ? widths[i] - widths_min[i] : 0;
  };
  for (; total > width_max; --total) {
    std::size_t widest = 0;
    for (std::size_t i = 1; i < widths.size(); ++i) {
      if (slack(i) > slack(widest)) widest = i;
    }
    if (slack(widest) == 0) break;
    --widths[widest];
  }
  return total;
}

}  // namespace

void Table::add_row(std::vector<Cell> cells) {
  THRESHER_ASSERT(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::size_t Table::number_width_min(std::size_t column, Squeeze squeeze) const {
  std::size_t width = squeeze == Squeeze::kWords ? 1 : longest_word(columns_[column].title);
  for (const std::vector<Cell>& row : rows_) {
    const std::string& text = row[column].text;
    width = std::max(width, squeeze == Squeeze::kText ? width_of_lines(text) : longest_word(text));
  }
  return width;
}

std::size_t Table::text_width_min(std::size_t column, Squeeze squeeze) const {
  if (squeeze == Squeeze::kWords) return kTextWidthLast;
  std::size_t width = longest_word(columns_[column].title, kBreaks);
  if (squeeze == Squeeze::kText) width = std::max(width, kTextWidthMin);
  for (const std::vector<Cell>& row : rows_) {
    width = std::max(width, longest_word(row[column].text, kBreaks));
  }
  return width;
}

std::vector<std::size_t> Table::column_widths(std::size_t width_max) const {
  std::vector<std::size_t> widths;
  std::size_t total = indent_ + kGap.size() * (columns_.size() - 1);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t cell_width = 0;
    for (const std::vector<Cell>& row : rows_) {
      cell_width = std::max(cell_width, width_of_lines(row[i].text));
    }
    widths.push_back(std::max(cell_width, width_of(columns_[i].title)));
    total += widths.back();
  }
  // First text wraps, and titles of numbers between words; then numbers that are several, between
  // them; at last words break.
  for (const Squeeze squeeze : {Squeeze::kText, Squeeze::kNumbers, Squeeze::kWords}) {
    std::vector<std::size_t> widths_min;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool is_number = columns_[i].align == Align::kRight;
      widths_min.push_back(is_number ? number_width_min(i, squeeze) : text_width_min(i, squeeze));
    }
    total = narrow(widths, widths_min, total, width_max);
  }
  return widths;
}

std::string Table::render_row(const std::vector<Cell>& cells,
                              const std::vector<std::size_t>& widths, bool colour) const {
  std::vector<std::vector<std::string_view>> lines_of_cell;
  std::size_t line_count = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    lines_of_cell.push_back(wrap(cells[i].text, widths[i]));
    line_count = std::max(line_count, lines_of_cell.back().size());
  }
  std::string out;
  for (std::size_t line_index = 0; line_index < line_count; ++line_index) {
    std::string line(indent_, ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto& lines = lines_of_cell[i];
      const std::string text =
          pad(line_index < lines.size() ? lines[line_index] : "", widths[i], columns_[i].align);
      if (i > 0) line += kGap;
      const bool toned = colour && cells[i].tone != Tone::kPlain;
      line += toned ? fmt::format("{}{}\033[0m", tone_code(cells[i].tone), text) : text;
    }
    out += trimmed(std::move(line)) + '\n';
  }
  return out;
}

std::string Table::render(bool colour, std::size_t width_max) const {
  const std::vector<std::size_t> widths = column_widths(width_max);
  std::string out;
  std::vector<Cell> titles;
  bool has_titles = false;
  for (const Column& column : columns_) {
    titles.emplace_back(column.title, Tone::kDim);
    has_titles = has_titles || !column.title.empty();
  }
  if (has_titles) out += render_row(titles, widths, colour);
  for (const std::vector<Cell>& row : rows_) out += render_row(row, widths, colour);
  return out;
}

void print(const Table& table) {
  const std::string text = table.render(wants_colour(stdout), terminal_width(stdout));
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace thresher::cli
