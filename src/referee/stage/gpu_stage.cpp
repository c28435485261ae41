// SPDX-License-Identifier: Apache-2.0
#include "referee/stage/gpu_stage.hpp"

#include <algorithm>
#include <cstring>

#include "assert.hpp"
#include "referee/stage/stage_layout.hpp"
#include "rounding.hpp"

namespace thresher::referee {
namespace {

constexpr std::int64_t kPlaceJitterCount = 64;                // beginnings within a place
constexpr std::size_t kComparedBytes = std::size_t{4} << 20;  // at a time: they stay in the cache

// With room to begin at one of several offsets.
std::int64_t place_bytes(const Problem& problem) {
  return activation_bytes(problem) + kPlaceJitterCount * kAlignmentBytes;
}

std::int64_t tables_bytes(const GpuEntry& entry) {
  const auto call_count = static_cast<std::size_t>(entry.rotation.call_count);
  return table_bytes<BatchRecord>(call_count) +
         entry.rotation.call_count * table_bytes<CallRecord>(entry.problem.groups.size());
}

// What a call reads lies in one piece, as it does on the device, with zeros between the buffers.
void write_image(const Problem& problem, const Inputs& inputs, std::span<std::byte> image) {
  std::fill(image.begin(), image.end(), std::byte{0});
  Cursor cursor(image, 0);
  walk_call(problem, inputs,
            [&](const void* data, std::size_t bytes) { return cursor.copy(data, bytes); });
}

std::size_t image_bytes(const Problem& problem) {
  return static_cast<std::size_t>(activation_bytes(problem));
}

// Compares device memory with the referee's own, piece by piece.
class DeviceCheck {
 public:
  explicit DeviceCheck(const gpu::DeviceBuffer& memory) : memory_(memory) {}

  bool holds(std::size_t offset, std::span<const std::byte> expected) {
    bool equal = true;
    for (std::size_t at = 0; at < expected.size() && equal; at += kComparedBytes) {
      const std::span<const std::byte> piece =
          expected.subspan(at, std::min(kComparedBytes, expected.size() - at));
      found_.resize(piece.size());
      memory_.copy_out(found_, offset + at);
      equal = std::memcmp(found_.data(), piece.data(), piece.size()) == 0;
    }
    return equal;
  }

 private:
  const gpu::DeviceBuffer& memory_;
  std::vector<std::byte> found_;
};

}  // namespace

std::size_t whole_blocks(std::int64_t bytes) {
  const std::int64_t count = divide_up(bytes, kSharedBlockBytes);
  return static_cast<std::size_t>(std::max<std::int64_t>(1, count) * kSharedBlockBytes);
}

GpuStage::Sizes GpuStage::sizes_of(std::span<const GpuEntry> entries, Room room) {
  Sizes sizes;
  for (const GpuEntry& entry : entries) {
    const std::int64_t weights = entry.rotation.copy_count * weights_bytes(entry.problem);
    sizes.weights =
        room == Room::kForAll ? sizes.weights + weights : std::max(sizes.weights, weights);
    sizes.tables = std::max(sizes.tables, tables_bytes(entry));
    sizes.activations =
        std::max(sizes.activations, entry.rotation.call_count * place_bytes(entry.problem));
  }
  return sizes;
}

GpuStage::GpuStage(const gpu::Device& device, std::span<const GpuEntry> entries, Room room)
    : GpuStage(device, sizes_of(entries, room)) {}

GpuStage::GpuStage(const gpu::Device& device, Sizes sizes)
    : sizes_(sizes),
      device_(device),
      stream_(device),
      arena_(ChildAccess::kRead, static_cast<std::size_t>(sizes.weights + sizes.tables)),
      device_memory_(device, whole_blocks(sizes.weights + sizes.activations)),
      images_(static_cast<std::size_t>(sizes.activations)) {}

StagedProblem GpuStage::put(const Problem& problem, Inputs inputs) {
  StagedProblem staged = reserve(problem);
  staged.inputs = std::move(inputs);
  write(staged);
  return staged;
}

StagedProblem GpuStage::reserve(const Problem& problem) {
  StagedProblem staged{.id = next_id_++, .problem = problem, .inputs = {}, .table_offset = used_};
  used_ += weights_bytes(problem);
  THRESHER_ASSERT(used_ <= sizes_.weights);
  return staged;
}

void GpuStage::write(const StagedProblem& staged) {
  const std::span<std::byte> memory = bytes_of(arena_);
  const std::int64_t begin = staged.table_offset;
  Cursor cursor(memory, begin + table_bytes<GroupRecord>(staged.problem.groups.size()));
  put_table(memory, begin,
            walk_weights(staged.problem, staged.inputs, [&](const void* data, std::size_t bytes) {
              return cursor.copy(data, bytes);
            }));
  const auto first = static_cast<std::size_t>(begin);
  device_memory_.copy_in(memory.subspan(first, static_cast<std::size_t>(cursor.offset()) - first),
                         first);
}

std::vector<std::int64_t> GpuStage::draw_places(const Problem& problem, int call_count,
                                                Random& random) const {
  std::vector<std::int64_t> places;
  const std::int64_t room = place_bytes(problem);
  const auto count = static_cast<std::uint64_t>(sizes_.activations / room);
  const auto first = static_cast<std::int64_t>(random.below(count));
  for (std::int64_t i = 0; i < call_count; ++i) {
    const std::int64_t index = (first + i) % static_cast<std::int64_t>(count);
    const auto jitter = static_cast<std::int64_t>(random.below(kPlaceJitterCount));
    places.push_back(sizes_.weights + index * room + jitter * kAlignmentBytes);
  }
  shuffle(places, random);
  return places;
}

std::int64_t GpuStage::put_batch(const StagedProblem& staged, std::span<const UnboundCall> calls) {
  const std::span<std::byte> memory = bytes_of(arena_);
  const std::int64_t list_offset = sizes_.weights;
  std::int64_t table_offset = list_offset + table_bytes<BatchRecord>(calls.size());
  std::vector<BatchRecord> list;
  for (const UnboundCall& call : calls) {
    std::int64_t at = call.activations_offset;
    std::vector<CallRecord> records =
        walk_call(staged.problem, staged.inputs, [&](const void*, std::size_t bytes) {
          const std::int64_t begin = at;
          at += aligned(static_cast<std::int64_t>(bytes));
          return begin;
        });
    for (std::size_t g = 0; g < records.size(); ++g) {
      records[g].c = call.outputs[g].c;
      records[g].c_stride = call.outputs[g].c_stride;
    }
    put_table(memory, table_offset, records);
    list.push_back({.id = call.id, .table_offset = table_offset});
    table_offset += table_bytes<CallRecord>(records.size());
  }
  THRESHER_ASSERT(table_offset <= static_cast<std::int64_t>(memory.size()));
  put_table(memory, list_offset, list);
  return list_offset;
}

void GpuStage::put_activations(const Problem& problem, const Inputs& inputs, std::int64_t offset) {
  const auto place = static_cast<std::size_t>(offset - sizes_.weights);
  const std::span<std::byte> image = std::span(images_).subspan(place, image_bytes(problem));
  write_image(problem, inputs, image);
  device_memory_.enqueue_copy_in(stream_, image, static_cast<std::size_t>(offset));
}

void GpuStage::sync() { stream_.synchronize(); }

bool GpuStage::call_intact(const Problem& problem, const Inputs& inputs,
                           std::int64_t offset) const {
  std::vector<std::byte> expected(image_bytes(problem));
  write_image(problem, inputs, expected);
  return DeviceCheck(device_memory_).holds(static_cast<std::size_t>(offset), expected);
}

bool GpuStage::weights_intact(const StagedProblem& staged) const {
  Cursor shared(bytes_of(arena_),
                staged.table_offset + table_bytes<GroupRecord>(staged.problem.groups.size()));
  DeviceCheck device(device_memory_);
  bool intact = true;
  walk_weights(staged.problem, staged.inputs, [&](const void* data, std::size_t bytes) {
    const std::int64_t at = shared.compare(data, bytes);
    const std::span<const std::byte> own(static_cast<const std::byte*>(data), bytes);
    intact = intact && device.holds(static_cast<std::size_t>(at), own);
    return at;
  });
  return intact && shared.equal();
}

}  // namespace thresher::referee
