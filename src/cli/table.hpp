// SPDX-License-Identifier: Apache-2.0
// A plain-text table that fits 100 columns whatever is put into it: text columns that are too wide
// are wrapped, never cut.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

inline constexpr std::size_t kTableWidthMax = 100;

class Table {
 public:
  // Without any title there is no header line.
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add_row(std::vector<Cell> cells);
  std::string render(bool colour) const;

 private:
  std::vector<std::size_t> column_widths() const;
  std::string render_row(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                         bool colour) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Renders to stdout, with colours if it takes them.
void print(const Table& table);

}  // namespace thresher::cli
