// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "checkpoint/printable.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

struct DtypeRow {
  std::string_view name;
  int bits;
};

constexpr DtypeRow kDtypes[] = {
    {"F32", 32},    {"BF16", 16},   {"F16", 16},        {"U8", 8},          {"F8_E4M3", 8},
    {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I8", 8},
    {"BOOL", 8},    {"I16", 16},    {"U16", 16},        {"I32", 32},        {"U32", 32},
    {"I64", 64},    {"U64", 64},    {"F64", 64},        {"C64", 64},        {"F4", 4},
    {"F6_E2M3", 6}, {"F6_E3M2", 6},
};

constexpr std::size_t kRankMax = 16;

// Builds tensors from the events of nlohmann's parser, which keeps no document: a header of 100,000
// tensors is read in a fraction of the time, and every key is seen, duplicates too.
class HeaderReader {
 public:
  using Parser = nlohmann::json;
  using Text = Parser::string_t;

  HeaderReader(std::string_view file, std::uint64_t data_offset)
      : file_(file), data_offset_(data_offset) {}

  Header take() { return std::move(header_); }

  bool start_object(std::size_t) {
    if (skipping()) return deeper();
    if (place_ == Place::kStart) return enter(Place::kNames);
    if (place_ == Place::kNames) return enter(is_metadata_ ? Place::kMetadata : Place::kFields);
    return wrong("an object");
  }

  bool end_object() {
    if (skipping()) return shallower();
    if (place_ == Place::kFields) return finish_tensor();
    if (place_ == Place::kMetadata) return enter(Place::kNames);
    return enter(Place::kEnd);
  }

  bool start_array(std::size_t) {
    if (skipping()) return deeper();
    if (place_ == Place::kFields && field_ == Field::kShape) return enter(Place::kShape);
    if (place_ == Place::kFields && field_ == Field::kOffsets) return enter(Place::kOffsets);
    return wrong("a list");
  }

  bool end_array() {
    if (skipping()) return shallower();
    return enter(Place::kFields);
  }

  bool key(Text& key) {
    if (skip_depth_ > 0) return true;
    if (place_ == Place::kNames) return begin_entry(key);
    if (place_ == Place::kMetadata) return begin_metadata(key);
    return begin_field(key);
  }

  bool string(Text& text) {
    if (skipping()) return skipped();
    if (place_ == Place::kMetadata) {
      header_.metadata[metadata_key_] = text;
      return true;
    }
    if (place_ == Place::kFields && field_ == Field::kDtype) {
      tensor_.dtype = text;
      return true;
    }
    return wrong("a text");
  }

  bool number_unsigned(Parser::number_unsigned_t number) {
    if (skipping()) return skipped();
    if (place_ == Place::kShape) return add_extent(number);
    if (place_ == Place::kOffsets) return add_offset(number);
    return wrong("a number");
  }

  bool null() { return skipping() ? skipped() : wrong("null"); }
  bool boolean(bool) { return skipping() ? skipped() : wrong("true or false"); }
  bool number_integer(Parser::number_integer_t) {
    return skipping() ? skipped() : wrong("below zero");
  }
  // Also what does not fit in 64 bits.
  bool number_float(Parser::number_float_t, const Text& text) {
    return skipping() ? skipped() : wrong(fmt::format("{}, no whole number of 64 bits", text));
  }
  bool binary(Parser::binary_t&) { return wrong("binary"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    throw Error(fmt::format("{}: byte {}: the header is not JSON", file_,
                            kHeaderLengthBytes + (position > 0 ? position - 1 : 0)));
  }

 private:
  enum class Place { kStart, kNames, kMetadata, kFields, kShape, kOffsets, kEnd };
  enum class Field { kDtype, kShape, kOffsets, kUnknown };

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  // Fields that are not the format's own are read over, with all that they hold.
  bool skipping() const {
    return skip_depth_ > 0 || (place_ == Place::kFields && field_ == Field::kUnknown);
  }
  bool skipped() { return true; }
  bool deeper() {
    ++skip_depth_;
    return true;
  }
  bool shallower() {
    // The end of the tensor itself is not skipped.
    if (skip_depth_ == 0) return finish_tensor();
    --skip_depth_;
    return true;
  }

  bool wrong(std::string_view what) const {
    throw Error(fmt::format("{}: {} is {}", file_, where(), what));
  }

  std::string where() const {
    switch (place_) {
      case Place::kStart:
      case Place::kEnd:
        return "the header";
      case Place::kNames:
        return fmt::format("tensor '{}'", name());
      case Place::kMetadata:
        return fmt::format("'{}' of __metadata__", printable(metadata_key_));
      case Place::kShape:
        return fmt::format("tensor '{}': a value of shape", name());
      case Place::kOffsets:
        return fmt::format("tensor '{}': a value of data_offsets", name());
      case Place::kFields:
        break;
    }
    constexpr std::string_view kFields[] = {"dtype", "shape", "data_offsets", "a field"};
    return fmt::format("tensor '{}': {}", name(), kFields[static_cast<int>(field_)]);
  }

  std::string name() const { return printable(tensor_.name); }

  bool begin_entry(const Text& key) {
    is_metadata_ = key == "__metadata__";
    tensor_ = {};
    tensor_.name = key;
    seen_ = 0;
    offset_count_ = 0;
    if (is_metadata_ && std::exchange(has_metadata_, true)) {
      throw Error(fmt::format("{}: __metadata__ stands twice in the header", file_));
    }
    // Names stand in messages and tables, here and with whoever calls.
    if (std::any_of(key.begin(), key.end(), is_control)) {
      throw Error(
          fmt::format("{}: tensor '{}' has a control character in its name", file_, name()));
    }
    return true;
  }

  bool begin_metadata(const Text& key) {
    metadata_key_ = key;
    if (!header_.metadata.contains(key)) return true;
    throw Error(fmt::format("{}: '{}' stands twice in __metadata__", file_, printable(key)));
  }

  bool begin_field(const Text& key) {
    field_ = key == "dtype"          ? Field::kDtype
             : key == "shape"        ? Field::kShape
             : key == "data_offsets" ? Field::kOffsets
                                     : Field::kUnknown;
    if (field_ == Field::kUnknown) return true;
    const unsigned bit = 1u << static_cast<int>(field_);
    if ((seen_ & bit) != 0) {
      throw Error(fmt::format("{}: tensor '{}': '{}' stands twice", file_, name(), key));
    }
    seen_ |= bit;
    return true;
  }

  bool add_extent(std::uint64_t extent) {
    if (extent > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw Error(
          fmt::format("{}: tensor '{}': an extent of {} is too large", file_, name(), extent));
    }
    if (tensor_.shape.size() == kRankMax) {
      throw Error(
          fmt::format("{}: tensor '{}': has more than {} dimensions", file_, name(), kRankMax));
    }
    tensor_.shape.push_back(static_cast<std::int64_t>(extent));
    return true;
  }

  bool add_offset(std::uint64_t offset) {
    if (offset_count_ < 2) offsets_[offset_count_] = offset;
    ++offset_count_;
    return true;
  }

  bool finish_tensor() {
    constexpr unsigned kAll = 7;
    if (seen_ != kAll || offset_count_ != 2) {
      throw Error(
          fmt::format("{}: tensor '{}': needs dtype, shape and two data_offsets", file_, name()));
    }
    const auto [begin, end] = std::pair(offsets_[0], offsets_[1]);
    if (begin > end || end > std::numeric_limits<std::uint64_t>::max() - data_offset_) {
      throw Error(fmt::format("{}: tensor '{}': data_offsets [{}, {}] are no range", file_, name(),
                              begin, end));
    }
    tensor_.offset = data_offset_ + begin;
    tensor_.byte_count = end - begin;
    check_size();
    header_.tensors.push_back(std::move(tensor_));
    tensor_ = {};
    return enter(Place::kNames);
  }

  void check_size() const {
    const int bits = dtype_bits(tensor_.dtype);
    if (bits == 0) {
      throw Error(fmt::format("{}: tensor '{}': dtype '{}' is unknown", file_, name(),
                              printable(tensor_.dtype)));
    }
    std::uint64_t total = static_cast<std::uint64_t>(bits);
    bool overflow = false;
    for (const std::int64_t extent : tensor_.shape) {
      overflow |= __builtin_mul_overflow(total, static_cast<std::uint64_t>(extent), &total);
    }
    if (overflow || total % 8 != 0 || total / 8 != tensor_.byte_count) {
      throw Error(fmt::format(
          "{}: tensor '{}' at byte {}: {} of shape [{}] is not what {} bytes hold", file_, name(),
          tensor_.offset, tensor_.dtype, fmt::join(tensor_.shape, ", "), tensor_.byte_count));
    }
  }

  std::string_view file_;
  std::uint64_t data_offset_;
  Header header_;
  Place place_ = Place::kStart;
  Field field_ = Field::kDtype;
  std::size_t skip_depth_ = 0;
  bool is_metadata_ = false;
  bool has_metadata_ = false;
  std::string metadata_key_;
  Tensor tensor_;
  unsigned seen_ = 0;
  std::uint64_t offsets_[2] = {};
  std::size_t offset_count_ = 0;
};

void check_names(const Header& header, std::string_view file) {
  std::unordered_set<std::string_view> names;
  names.reserve(header.tensors.size());
  for (const Tensor& tensor : header.tensors) {
    if (names.insert(tensor.name).second) continue;
    throw Error(
        fmt::format("{}: tensor '{}' stands twice in the header", file, printable(tensor.name)));
  }
}

// Every byte after the header belongs to exactly one tensor.
void check_cover(const Header& header, std::uint64_t data_offset, std::uint64_t file_bytes,
                 std::string_view file) {
  std::vector<const Tensor*> order;
  order.reserve(header.tensors.size());
  for (const Tensor& tensor : header.tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) {
    return std::pair(a->offset, a->byte_count) < std::pair(b->offset, b->byte_count);
  });
  std::uint64_t next = data_offset;
  for (const Tensor* tensor : order) {
    if (tensor->byte_count > file_bytes || tensor->offset > file_bytes - tensor->byte_count) {
      throw Error(fmt::format(
          "{}: tensor '{}' at byte {}: its {} bytes reach past the end of the "
          "file at byte {}; is the file truncated?",
          file, printable(tensor->name), tensor->offset, tensor->byte_count, file_bytes));
    }
    if (tensor->offset != next) {
      throw Error(fmt::format(
          "{}: tensor '{}' at byte {} {}", file, printable(tensor->name), tensor->offset,
          tensor->offset < next ? "overlaps the one before it"
                                : fmt::format("leaves a hole from byte {}", next)));
    }
    next += tensor->byte_count;
  }
  if (next != file_bytes) {
    throw Error(fmt::format("{}: {} bytes from byte {} on belong to no tensor", file,
                            file_bytes - next, next));
  }
}

}  // namespace

int dtype_bits(std::string_view dtype) {
  for (const DtypeRow& row : kDtypes) {
    if (row.name == dtype) return row.bits;
  }
  return 0;
}

std::uint64_t header_bytes(std::string_view first_eight, std::uint64_t file_bytes,
                           std::string_view file) {
  if (first_eight.size() < kHeaderLengthBytes) {
    throw Error(fmt::format("{}: {} bytes are too few for a safetensors file", file, file_bytes));
  }
  std::uint64_t count = 0;
  for (std::size_t i = kHeaderLengthBytes; i > 0; --i) {
    count = count << 8 | static_cast<unsigned char>(first_eight[i - 1]);
  }
  if (count > kHeaderBytesMax) {
    throw Error(fmt::format("{}: a header of {} bytes is more than {}; is this a safetensors file?",
                            file, count, kHeaderBytesMax));
  }
  if (count > file_bytes - kHeaderLengthBytes) {
    throw Error(
        fmt::format("{}: a header of {} bytes does not fit in a file of {}; is it truncated?", file,
                    count, file_bytes));
  }
  return count;
}

Header parse_header(std::string_view json, std::uint64_t file_bytes, std::string_view file) {
  if (json.empty() || json.front() != '{') {
    throw Error(
        fmt::format("{}: byte {}: the header does not begin with '{{'", file, kHeaderLengthBytes));
  }
  // The parser would take it for the end of its input.
  if (const std::size_t nul = json.find('\0'); nul != std::string_view::npos) {
    throw Error(fmt::format("{}: byte {}: the header is not JSON", file, kHeaderLengthBytes + nul));
  }
  const std::uint64_t data_offset = kHeaderLengthBytes + json.size();
  HeaderReader reader(file, data_offset);
  nlohmann::json::sax_parse(json.data(), json.data() + json.size(), &reader);
  Header header = reader.take();
  check_names(header, file);
  check_cover(header, data_offset, file_bytes, file);
  return header;
}

}  // namespace thresher::checkpoint
