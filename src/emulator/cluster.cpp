// SPDX-License-Identifier: Apache-2.0
#include "emulator/cluster.hpp"

#include <fmt/format.h>

#include <utility>

#include "emulator/block.hpp"

namespace thresher::emulator {

Actor Cluster::new_actor(std::string write_text, std::string read_text) {
  actors_.push_back({.write = std::move(write_text), .read = std::move(read_text)});
  return static_cast<Actor>(static_cast<std::size_t>(thread_count) + actors_.size() - 1);
}

std::string Cluster::name_of_thread(Actor actor, int rank) const {
  const int per_block = thread_count / size();
  const int of_rank = actor / per_block;
  const std::string name = fmt::format("thread {}", actor % per_block);
  if (of_rank == rank) return name;
  return fmt::format("{} of block {}", name, blocks[static_cast<std::size_t>(of_rank)]->index);
}

std::string Cluster::describe_write(Actor actor, u32 event, int rank) const {
  if (is_thread(actor)) {
    return name_of_thread(actor, rank) + " wrote with no barrier in between";
  }
  const auto number = static_cast<std::size_t>(actor - thread_count);
  return fmt::format(fmt::runtime(actors_[number].write), event - 1);
}

std::string Cluster::describe_read(Actor actor, int rank) const {
  if (is_thread(actor)) {
    return name_of_thread(actor, rank) + " reads with no barrier in between";
  }
  return actors_[static_cast<std::size_t>(actor - thread_count)].read;
}

}  // namespace thresher::emulator
