// SPDX-License-Identifier: Apache-2.0
#include "data/npz.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/format.h"
#include "data/gzip.h"
#include "data/npy.h"
#include <zlib.h>

namespace octet {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50;
constexpr uint32_t kCentralMagic = 0x02014b50;
constexpr uint32_t kEndMagic = 0x06054b50;
constexpr uint32_t kEnd64Magic = 0x06064b50;
constexpr uint32_t kLocator64Magic = 0x07064b50;
constexpr size_t kLocalBytes = 30;
constexpr size_t kCentralBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr uint64_t kMaxMembers = 100000;
constexpr uint64_t kMaxDeflateRatio = 1032; // what deflate can reach at all

struct Member {
  std::string name;
  unsigned flags = 0;
  unsigned method = 0;
  uint32_t crc = 0;
  uint64_t compressed = 0;
  uint64_t size = 0;
  uint64_t header_at = 0;
};

uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Little-endian fields of the archive, with every access inside it.
class Archive {
 public:
  Archive(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<std::vector<Member>> members() const {
    const auto [first, count] = OCTET_TRY(directory());
    std::vector<Member> out;
    uint64_t at = first;
    for (uint64_t i = 0; i < count; ++i) {
      if (!has(at, kCentralBytes) || u32(at) != kCentralMagic)
        return damaged("its directory ends early");
      const size_t name_length = u16(at + 28);
      const size_t extra_length = u16(at + 30);
      const size_t comment_length = u16(at + 32);
      if (!has(at + kCentralBytes, name_length + extra_length + comment_length))
        return damaged("its directory ends early");
      Member member;
      member.flags = u16(at + 8);
      member.method = u16(at + 10);
      member.crc = u32(at + 16);
      member.compressed = u32(at + 20);
      member.size = u32(at + 24);
      member.header_at = u32(at + 42);
      member.name = text(at + kCentralBytes, name_length);
      OCTET_TRY(read_zip64(at + kCentralBytes + name_length, extra_length, member));
      out.push_back(std::move(member));
      at += kCentralBytes + name_length + extra_length + comment_length;
    }
    return out;
  }

  /// Where a member's bytes begin.
  Result<uint64_t> data_of(const Member& member) const {
    if (!has(member.header_at, kLocalBytes) || u32(member.header_at) != kLocalMagic)
      return damaged("member " + member.name + " has no header where the directory says");
    const uint64_t begin =
        member.header_at + kLocalBytes + u16(member.header_at + 26) + u16(member.header_at + 28);
    if (!has(begin, member.compressed))
      return damaged("member " + member.name + " reaches beyond the end of the file");
    return begin;
  }

  Error damaged(const std::string& what) const {
    return error("{} is damaged: {}; save it again with numpy.savez", name_, what);
  }

 private:
  bool has(uint64_t at, uint64_t length) const {
    return at <= bytes_.size() && length <= bytes_.size() - at;
  }
  uint64_t number(uint64_t at, size_t width) const {
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at, width);
    return value;
  }
  unsigned u16(uint64_t at) const { return static_cast<unsigned>(number(at, 2)); }
  uint32_t u32(uint64_t at) const { return static_cast<uint32_t>(number(at, 4)); }
  uint64_t u64(uint64_t at) const { return number(at, 8); }
  std::string text(uint64_t at, size_t length) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, length};
  }

  /// Offset and count of the central directory's entries.
  Result<std::pair<uint64_t, uint64_t>> directory() const {
    if (bytes_.size() < kEndBytes || (u32(0) != kLocalMagic && u32(0) != kEndMagic)) {
      return error("{} is no .npz file (a zip archive); name one that numpy.savez wrote", name_);
    }
    uint64_t end = bytes_.size() - kEndBytes;
    const uint64_t lowest = end > 0xffff ? end - 0xffff : 0; // a comment may follow
    while (u32(end) != kEndMagic || u16(end + 20) != bytes_.size() - end - kEndBytes) {
      if (end == lowest) return damaged("it has no directory; it may be truncated");
      --end;
    }
    uint64_t count = u16(end + 10);
    uint64_t first = u32(end + 16);
    if ((count == 0xffff || first == 0xffffffff) && end >= 20 && u32(end - 20) == kLocator64Magic) {
      const uint64_t end64 = u64(end - 20 + 8);
      if (!has(end64, 56) || u32(end64) != kEnd64Magic) return damaged("its zip64 directory");
      count = u64(end64 + 32);
      first = u64(end64 + 48);
    }
    if (count > kMaxMembers || count * kCentralBytes > bytes_.size())
      return damaged(fmt::format("it announces {} members", count));
    return std::pair(first, count);
  }

  /// Sizes that do not fit in 32 bits lie in extra field 1, in this order.
  Status read_zip64(uint64_t at, size_t length, Member& member) const {
    const uint64_t end = at + length;
    while (at + 4 <= end) {
      const unsigned id = u16(at);
      const uint64_t field_end = at + 4 + u16(at + 2);
      if (field_end > end) return damaged("an extra field of " + member.name);
      uint64_t from = at + 4;
      for (uint64_t* value : {&member.size, &member.compressed, &member.header_at}) {
        if (id != 1 || *value != 0xffffffff) continue;
        if (from + 8 > field_end) return damaged("a zip64 size of " + member.name);
        *value = u64(from);
        from += 8;
      }
      at = field_end;
    }
    return ok_status();
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
};

/// Where the bytes of a member's .npy lie, in the archive or unpacked.
struct Located {
  std::shared_ptr<const Buffer> buffer;
  size_t offset;
  size_t length;
};

Result<Located> unpack(const std::shared_ptr<const Buffer>& buffer,
                       uint64_t begin,
                       const Member& member,
                       const std::string& label) {
  const auto packed = buffer->bytes().subspan(begin, member.compressed);
  if (member.method == 0) {
    if (member.size != member.compressed)
      return error("{} is stored with two different sizes, {} and {}; save it again", label,
                   member.compressed, member.size);
    return Located{buffer, begin, packed.size()};
  }
  if (member.size / kMaxDeflateRatio > member.compressed)
    return error("{} announces {} bytes in {} compressed ones, more than deflate can hold; it is "
                 "damaged, save it again",
                 label, member.size, member.compressed);
  std::shared_ptr<Buffer> out = Buffer::allocate(member.size);
  if (out == nullptr) return error("no memory for the {} bytes of {}", member.size, label);
  InflateStream stream(packed, Deflate::kRaw, label, member.size);
  const size_t n = OCTET_TRY(stream.read({out->writable(), static_cast<size_t>(member.size)}));
  std::byte beyond{};
  const size_t more = n < member.size ? 0 : OCTET_TRY(stream.read({&beyond, 1}));
  if (n != member.size || more != 0)
    return error("{} unpacks to {} bytes, not the announced {}; save it again", label, n + more,
                 member.size);
  const size_t length = out->bytes().size();
  return Located{std::move(out), 0, length};
}

} // namespace

Result<NamedTensors> parse_npz(const std::shared_ptr<const Buffer>& buffer,
                               const std::string& name,
                               uint64_t limit_bytes) {
  const Archive archive(buffer->bytes(), name);
  const std::vector<Member> members = OCTET_TRY(archive.members());
  NamedTensors out;
  uint64_t total = 0;
  uint64_t total_packed = 0;
  for (const Member& member : members) {
    const std::string label = name + ": " + member.name;
    if ((member.flags & 1) != 0) return error("{} is encrypted; save it without", label);
    if (member.method != 0 && member.method != 8) {
      return error("{} has compression method {}, known are 0 (stored) and 8 (deflate); save it "
                   "with numpy.savez",
                   label, member.method);
    }
    const uint64_t begin = OCTET_TRY(archive.data_of(member));
    total_packed += member.compressed;
    // Members that share bytes are how archives unpack to more than they are.
    if (total_packed > buffer->bytes().size()) return archive.damaged("its members overlap");
    if (member.size > limit_bytes - total) {
      return error("{} unpacks to more than {} bytes; split the file", name, limit_bytes);
    }
    total += member.size;
    constexpr std::string_view kSuffix = ".npy";
    if (!member.name.ends_with(kSuffix)) {
      return error("{} is no .npy array; save the archive with numpy.savez", label);
    }
    const Located data = OCTET_TRY(unpack(buffer, begin, member, label));
    const uint32_t crc = crc_of(data.buffer->bytes().subspan(data.offset, data.length));
    if (crc != member.crc) {
      return error("{} has checksum {:08x}, announced is {:08x}; save it again", label, crc,
                   member.crc);
    }
    Tensor tensor = OCTET_TRY(parse_npy(data.buffer, data.offset, data.length, label));
    out.emplace_back(member.name.substr(0, member.name.size() - kSuffix.size()), std::move(tensor));
  }
  return out;
}

Result<NamedTensors> read_npz(const std::string& path) {
  const std::shared_ptr<const Buffer> buffer = OCTET_TRY(Buffer::map(path));
  return parse_npz(buffer, path);
}

namespace {

void append(std::string& out, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i)
    out += static_cast<char>(value >> (8 * i));
}

/// The fields that local headers and the directory have in common, from "version needed" on.
void append_common(std::string& out, const Member& member, size_t extra_length) {
  append(out, 20, 2);            // version 2.0
  append(out, member.flags, 2);  // names are UTF-8
  append(out, member.method, 2); // stored
  append(out, 0x00210000, 4);    // 1980-01-01 00:00
  append(out, member.crc, 4);
  append(out, member.compressed, 4);
  append(out, member.size, 4);
  append(out, member.name.size(), 2);
  append(out, extra_length, 2);
}

uint32_t crc_of_member(const std::string& header, std::span<const std::byte> bytes) {
  const auto first = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
  if (bytes.empty()) return static_cast<uint32_t>(first); // zlib starts over at a null pointer
  return static_cast<uint32_t>(
      crc32_z(first, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

} // namespace

Status write_npz(const std::string& path, const NamedTensors& tensors, Overwrite overwrite) {
  AtomicFile file = OCTET_TRY(AtomicFile::create(path, overwrite));
  std::string directory;
  std::set<std::string> names;
  uint64_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    if (!names.insert(name).second || name.size() > 1000)
      return error("{} cannot hold the array name \"{}\" twice or that long", path, name);
    const auto [header, elements] = OCTET_TRY_WITH(npy_parts(tensor), "array " + name);
    Member member;
    member.name = name + ".npy";
    member.flags = 0x800;
    member.size = header.size() + elements.bytes().size();
    member.compressed = member.size;
    member.header_at = at;
    member.crc = crc_of_member(header, elements.bytes());
    // An empty extra field of id 0xd935 pads the data to a multiple of 64.
    const size_t unpadded = at + kLocalBytes + member.name.size() + 4;
    const size_t padding = (64 - unpadded % 64) % 64;
    std::string local;
    append(local, kLocalMagic, 4);
    append_common(local, member, 4 + padding);
    local += member.name;
    append(local, 0xd935, 2);
    append(local, padding, 2);
    local.append(padding, '\0');
    append(directory, kCentralMagic, 4);
    append(directory, 20, 2);
    append_common(directory, member, 0);
    append(directory, 0, 2); // comment, disk, attributes
    append(directory, 0, 8);
    append(directory, member.header_at, 4);
    directory += member.name;
    OCTET_TRY(file.write(local));
    OCTET_TRY(file.write(header));
    OCTET_TRY(file.write(elements.bytes()));
    at += local.size() + member.size;
    if (at + directory.size() >= 0xffffffff || names.size() >= 0xffff)
      return error("{} would reach 4 GiB or 65,535 arrays; write .npy files instead", path);
  }
  std::string end;
  append(end, kEndMagic, 4);
  append(end, 0, 4);
  append(end, tensors.size(), 2);
  append(end, tensors.size(), 2);
  append(end, directory.size(), 4);
  append(end, at, 4);
  append(end, 0, 2);
  OCTET_TRY(file.write(directory));
  OCTET_TRY(file.write(end));
  return file.commit();
}

} // namespace octet
