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

// The end of the first line of `text`: after the last space, comma, colon or underscore that fits.
std::size_t line_end(std::string_view text, std::size_t width) {
  if (text.size() <= width) return text.size();
  const std::size_t last = text.substr(0, width).find_last_of(" ,:_");
  return last == std::string_view::npos ? width : last + 1;
}

std::vector<std::string_view> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string_view> lines;
  while (text.size() > width) {
    const std::size_t end = line_end(text, width);
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  lines.push_back(text);
  return lines;
}

std::string pad(std::string_view text, std::size_t width, Align align) {
  return align == Align::kLeft ? fmt::format("{:<{}}", text, width)
                               : fmt::format("{:>{}}", text, width);
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

void Table::add_row(std::vector<Cell> cells) {
  THRESHER_ASSERT(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::column_widths() const {
  std::vector<std::size_t> widths;
  std::vector<std::size_t> widths_min;
  std::size_t total = kGap.size() * (columns_.size() - 1);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t cell_width = 0;
    for (const std::vector<Cell>& row : rows_)
      cell_width = std::max(cell_width, row[i].text.size());
    widths.push_back(std::max(cell_width, columns_[i].title.size()));
    // Numbers stay whole; their titles may wrap.
    widths_min.push_back(columns_[i].align == Align::kRight ? cell_width : kTextWidthMin);
    total += widths.back();
  }
  // The column that has the most to give gives way, one character at a time.
  const auto slack = [&](std::size_t i) {
    return widths[i] > widths_min[i] ? widths[i] - widths_min[i] : 0;
  };
  for (; total > kTableWidthMax; --total) {
    std::size_t widest = 0;
    for (std::size_t i = 1; i < widths.size(); ++i) {
      if (slack(i) > slack(widest)) widest = i;
    }
    if (slack(widest) == 0) break;
    --widths[widest];
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
    std::string line;
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

std::string Table::render(bool colour) const {
  const std::vector<std::size_t> widths = column_widths();
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
  const std::string text = table.render(wants_colour(stdout));
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace thresher::cli
