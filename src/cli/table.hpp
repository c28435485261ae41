// SPDX-License-Identifier: Apache-2.0
// A plain-text table that fits the terminal whatever is put into it: text columns that are too wide
// are wrapped, never cut. Cells may have lines of their own, and letters beyond ASCII.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/terminal.hpp"

namespace thresher::cli {

enum class Align { kLeft, kRight };
enum class Tone { kPlain, kGood, kBad, kDim };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

struct Cell {
  Cell(std::string cell_text, Tone cell_tone = Tone::kPlain)
      : text(std::move(cell_text)), tone(cell_tone) {}
  Cell(const char* cell_text) : text(cell_text) {}

  std::string text;
  Tone tone = Tone::kPlain;
};

class Table {
 public:
  // Without any title there is no header line. Every line begins with `indent` spaces.
  explicit Table(std::vector<Column> columns, std::size_t indent = 0)
      : columns_(std::move(columns)), indent_(indent) {}

  void add_row(std::vector<Cell> cells);
  std::string render(bool colour, std::size_t width_max = kWidthUnknown) const;

 private:
  // What may give way where a table is too wide, from first to last.
  enum class Squeeze { kText, kNumbers, kWords };

  std::size_t number_width_min(std::size_t column, Squeeze squeeze) const;
  std::size_t text_width_min(std::size_t column, Squeeze squeeze) const;
  std::vector<std::size_t> column_widths(std::size_t width_max) const;
  std::string render_row(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                         bool colour) const;

  std::vector<Column> columns_;
  std::size_t indent_;
  std::vector<std::vector<Cell>> rows_;
};

// Renders to stdout, as wide as that is, with colours if it takes them.
void print(const Table& table);

}  // namespace thresher::cli
