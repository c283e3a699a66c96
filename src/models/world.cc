// SPDX-License-Identifier: Apache-2.0
// The environment that torchrun, and Slurm with it, gives to each process of a run.
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "core/format.h"

#include "octet/train.h"

namespace octet {
namespace {

Result<int> integer_variable(const char* name, int low, int high) {
  const char* text = std::getenv(name);
  if (text == nullptr)
    return error("WORLD_SIZE is set and {} is not; start the processes with torchrun, or set both",
                 name);
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, failure] = std::from_chars(text, end, value);
  if (failure != std::errc() || stop != end || value < low || value > high)
    return error("{} is \"{}\"; it is a number in {} .. {}", name, text, low, high);
  return value;
}

} // namespace

Result<World> world_from_environment() {
  World world;
  if (std::getenv("WORLD_SIZE") == nullptr) return world;
  world.size = OCTET_TRY(integer_variable("WORLD_SIZE", 1, 1 << 16));
  world.rank = OCTET_TRY(integer_variable("RANK", 0, world.size - 1));
  if (world.size == 1) return world;
  const char* address = std::getenv("MASTER_ADDR");
  if (address == nullptr || *address == '\0')
    return error("WORLD_SIZE is {} and MASTER_ADDR is not set; it is the host of rank 0",
                 world.size);
  world.address = address;
  world.port = OCTET_TRY(integer_variable("MASTER_PORT", 1, 65535));
  return world;
}

} // namespace octet
