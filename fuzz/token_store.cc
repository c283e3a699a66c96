// SPDX-License-Identifier: Apache-2.0
// Token caches: whatever the bytes are, a store whose pieces can all be read or an error comes out.
// The checksum is put right, so that the checks behind it are reached.
#include "text/token_store.h"

#include <cstdlib>
#include <cstring>

#include "replay/seeds.h"

namespace octet::fuzz {
namespace {

constexpr TokenKey kKey = {1, 2};
constexpr int64_t kVocabulary = 100;

} // namespace

std::vector<std::string> seeds() {
  std::string out;
  const auto sink = [&](std::string_view part) {
    out += part;
    return ok_status();
  };
  TokenStoreWriter writer(sink, kKey, kVocabulary);
  const int32_t ids[] = {1, 2, 99};
  for (int unit = 0; unit < 3; ++unit) {
    for (int piece = 0; piece < unit; ++piece) {
      if (!writer.add_piece(ids).ok()) std::abort();
    }
    writer.end_unit();
  }
  if (!writer.finish().ok()) std::abort();
  return {out};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto buffer = octet::Buffer::allocate(size);
  if (size > 0) std::memcpy(buffer->writable(), data, size);
  if (size >= 16) {
    const std::string_view before(reinterpret_cast<const char*>(data), size - 16);
    const uint64_t sum = octet::token_store_checksum(before);
    std::memcpy(buffer->writable() + size - 16, &sum, sizeof sum);
  }
  const auto store =
      octet::TokenStore::parse(buffer, "input", octet::fuzz::kKey, octet::fuzz::kVocabulary);
  if (!store.ok()) return 0;
  int64_t total = 0;
  for (int64_t unit = 0; unit < store->units(); ++unit) {
    for (int64_t piece = store->first_piece(unit); piece < store->first_piece(unit + 1); ++piece) {
      std::vector<int32_t> ids;
      store->append(piece, ids);
      total += static_cast<int64_t>(ids.size());
      for (const int32_t id : ids) {
        if (id < 0 || id >= octet::fuzz::kVocabulary) std::abort();
      }
    }
  }
  if (total != store->ids()) std::abort();
  return 0;
}
