// SPDX-License-Identifier: Apache-2.0
// .npy and .npz against bytes written out by hand after numpy.lib.format; npy_peer_test.py has the
// comparison with NumPy itself.
#include <cstring>
#include <string>

#include "core/codec.h"
#include "data/folder.h"
#include "data/npy.h"
#include "data/npz.h"
#include <gtest/gtest.h>
#include <zlib.h>

namespace octet {
namespace {

using test::contains;

std::string npy(const std::string& dict, const std::string& payload, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  out += static_cast<char>(dict.size() & 0xff);
  out += static_cast<char>(dict.size() >> 8);
  if (version > 1) out += std::string(2, '\0');
  return out + dict + payload;
}

std::shared_ptr<const Buffer> buffer_of(const std::string& text) {
  const std::shared_ptr<Buffer> buffer = Buffer::allocate(text.size());
  std::memcpy(buffer->writable(), text.data(), text.size());
  return buffer;
}

Result<Tensor> parse_npy(const std::string& text) {
  return parse_npy(buffer_of(text), 0, text.size(), "a.npy");
}

std::string dict(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST(Npy, ReadsVersionsOrdersAndSpacings) {
  const std::string payload("\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00", 12);
  for (const int version : {1, 2, 3}) {
    const Tensor x = parse_npy(npy(dict("<i2", "False", "(2, 3)"), payload, version)).value();
    EXPECT_EQ(x.type(), DType::kInt16);
    EXPECT_EQ(x.shape(), (Shape{2, 3}));
    EXPECT_EQ(x.to_ints().value(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  }
  // Fortran order: the first index runs fastest.
  const Tensor f = parse_npy(npy(dict("<i2", "True", "(2, 3)"), payload)).value();
  EXPECT_EQ(f.to_ints().value(), (std::vector<int64_t>{1, 3, 5, 2, 4, 6}));
  const Tensor big = parse_npy(npy(dict(">i2", "False", "(6,)"), payload)).value();
  EXPECT_EQ(big.to_ints().value()[5], 0x600);
  const Tensor both = parse_npy(npy(dict(">i2", "True", "(3, 2)"), payload)).value();
  EXPECT_EQ(both.to_ints().value(),
            (std::vector<int64_t>{0x100, 0x400, 0x200, 0x500, 0x300, 0x600}));
  const std::string other = "{\"shape\":(6L,),\"fortran_order\":False,\"descr\":\"<u2\"}";
  EXPECT_EQ(parse_npy(npy(other, payload)).value().type(), DType::kUint16);
  EXPECT_EQ(parse_npy(npy(dict("|u1", "False", "()"), "\x07")).value().at(0), 7);
  EXPECT_EQ(parse_npy(npy(dict("<f8", "True", "(0, 3)"), "")).value().count(), 0);
}

TEST(Npy, ErrorsNameTheFileAndTheReason) {
  struct Case {
    std::string content, expected;
  };
  const std::string header = dict("<f4", "False", "(2,)");
  for (const Case& c : std::vector<Case>{
           {"hello world", "does not begin like an .npy file"},
           {npy(header, "1234567"), "[2] of '<f4' takes 2 elements of 4 bytes, 7 bytes follow"},
           {npy(header, "123456789"), "extra bytes"},
           {npy(header, "12345678").substr(0, 20), "truncated"},
           {npy(header, "12345678", 9), "format version 9.0"},
           {npy(dict("|O", "False", "(2,)"), ""), "Python objects"},
           {npy(dict("<U5", "False", "(2,)"), ""), "2 elements of 20 bytes, 0 bytes follow"},
           {npy(dict("<U0", "False", "(2,)"), ""), "'<U0'"},
           {npy(dict("<U9999999999", "False", "(0,)"), ""), "'<U9999999999'"},
           {npy(dict("<U1", "False", "(1,)"), std::string("\0\xD8\0\0", 4)),
            "element 0 holds a code point"},
           {npy(dict("<U1", "False", "(2,)"), std::string("a\0\0\0\0\0\x11\0", 8)),
            "element 1 holds a code point"},
           {npy(dict("<M8", "False", "(2,)"), ""), "'<M8'"},
           {npy(dict("?f4", "False", "(2,)"), ""), "'?f4'"},
           {npy("{'descr': [('a', '<f4')], 'shape': (2,)}", ""), "structured array"},
           {npy("{'descr': '<f4'}", ""), "without"},
           {npy("{'descr': '<f4", ""), "closing quote"},
           {npy("{'other': 3}", ""), "'other'"},
           {npy(dict("<f4", "Maybe", "(2,)"), ""), "True or False"},
           {npy(dict("<f4", "False", "(-2,)"), ""), "a dimension"},
           {npy(dict("<f4", "False", "(99999999999999999999,)"), ""), "a dimension"},
           {npy(dict("<f4", "False", "(4294967296, 4294967296)"), ""), "2^62"},
           {npy(dict("<f4", "False", "(2 3)"), ""), "')'"}}) {
    const Result<Tensor> result = parse_npy(c.content);
    ASSERT_FALSE(result.ok()) << c.expected;
    EXPECT_TRUE(contains(result.error().text(), "a.npy")) << result.error().text();
    EXPECT_TRUE(contains(result.error().text(), c.expected)) << result.error().text();
  }
}

TEST(Npy, WritesWhatItReads) {
  const test::Folder folder;
  for (int32_t code = 1; is_valid(code); ++code) {
    const auto type = static_cast<DType>(code);
    if (bits(type) < 8) continue;
    const std::string path = folder.path(std::string(name(type)) + ".npy");
    if (type == DType::kString) continue;
    Tensor x = Tensor::zeros(type, {3, 2}).value();
    for (size_t i = 0; i < x.bytes().size(); ++i)
      x.mutable_bytes()[i] = static_cast<std::byte>(type == DType::kBool ? i % 2 : i * 7 + 1);
    const bool small_float = (is_float(type) && bits(type) == 8) || type == DType::kBfloat16;
    const Status written = write_npy(path, x, Overwrite::kNo);
    EXPECT_EQ(written.ok(), !small_float) << name(type);
    if (small_float) {
      EXPECT_TRUE(contains(written.error().text(), "convert")) << written.error().text();
    } else {
      EXPECT_TRUE(read_npy(path).value().identical(x)) << name(type);
    }
  }
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{0}, Shape{5, 1, 1}}) {
    const Tensor x = Tensor::zeros(DType::kFloat32, shape).value();
    const std::string header = npy_parts(x).value().header;
    EXPECT_EQ(header.size() % 64, 0U);
    const std::string path = folder.path("shape.npy");
    ASSERT_TRUE(write_npy(path, x, Overwrite::kYes).ok());
    EXPECT_TRUE(read_npy(path).value().identical(x));
  }
}

TEST(Npy, ReadsTextsOfEitherOrderAndBytes) {
  const std::string little("a\0\0\0\0\0\0\0\xE9\0\0\0\x00\xF6\x01\0", 16),
      big("\0\0\0a\0\0\0\0\0\0\0\xE9\0\x01\xF6\0", 16);
  const std::vector<std::string> expected = {"a", "\xC3\xA9\xF0\x9F\x98\x80"};
  for (const auto& [descr, payload] : {std::pair("<U2", little), std::pair(">U2", big)}) {
    const Tensor x = parse_npy(npy(dict(descr, "False", "(2,)"), payload)).value();
    EXPECT_EQ(x.string_values(), expected) << descr;
    const Tensor turned = parse_npy(npy(dict(descr, "True", "(1, 2)"), payload)).value();
    EXPECT_EQ(turned.string_values(), expected) << descr;
  }
  const Tensor bytes =
      parse_npy(npy(dict("|S2", "True", "(2, 2)"), std::string("a\0bbc\0\0d", 8))).value();
  EXPECT_EQ(bytes.shape(), (Shape{2, 2}));
  EXPECT_EQ(bytes.string_values(),
            (std::vector<std::string>{"a", "c", "bb", std::string("\0d", 2)}));
}

TEST(Npy, WritesTextsAsLongAsTheLongest) {
  const test::Folder folder;
  const std::string path = folder.path("x.npy");
  for (const Tensor& x : {Tensor::strings({3}, {"", "\xC3\xA9\xF0\x9F\x98\x80", "abc"}).value(),
                          Tensor::strings({}, {""}).value(), Tensor::strings({0, 2}, {}).value()}) {
    ASSERT_TRUE(write_npy(path, x, Overwrite::kYes).ok());
    EXPECT_TRUE(read_npy(path).value().identical(x));
    ASSERT_TRUE(write_npz(folder.path("x.npz"), {{"x", x}}, Overwrite::kYes).ok());
    EXPECT_TRUE(read_npz(folder.path("x.npz")).value()[0].second.identical(x));
  }
  struct Case {
    std::string text, expected;
  };
  for (const Case& c : {Case{"\xFF", "no UTF-8"}, Case{std::string("a\0", 2), "ends in NUL"}}) {
    const Status written = write_npy(path, Tensor::strings({1}, {c.text}).value(), Overwrite::kYes);
    ASSERT_FALSE(written.ok());
    EXPECT_TRUE(contains(written.error().text(), c.expected)) << written.error().text();
  }
}

std::string number(uint64_t value, size_t width) {
  std::string out;
  for (size_t i = 0; i < width; ++i)
    out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string raw_deflate(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// A zip archive of one member, after PKWARE's APPNOTE.
struct Zip {
  std::string name = "x.npy";
  std::string content;
  unsigned flags = 0;
  unsigned method = 8;
  bool zip64 = false;
  int64_t wrong_size = -1;
  int copies = 1; // directory entries for the one member

  std::string bytes() const {
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    const std::string data = method == 8 ? raw_deflate(content) : content;
    const uint64_t size = wrong_size >= 0 ? static_cast<uint64_t>(wrong_size) : content.size();
    const std::string extra =
        zip64 ? number(1, 2) + number(16, 2) + number(size, 8) + number(data.size(), 8) : "";
    const std::string sizes =
        zip64 ? std::string(8, '\xff') : number(data.size(), 4) + number(size, 4);
    const std::string common = number(flags, 2) + number(method, 2) + number(0, 4) +
                               number(crc, 4) + sizes + number(name.size(), 2) +
                               number(extra.size(), 2);
    const std::string local = "PK\x03\x04" + number(20, 2) + common + name + extra;
    const std::string entry = "PK\x01\x02" + number(20, 2) + number(20, 2) + common +
                              std::string(14, '\0') + name + extra;
    std::string directory;
    for (int i = 0; i < copies; ++i)
      directory += entry;
    const auto count = static_cast<uint64_t>(copies);
    return local + data + directory + "PK\x05\x06" + number(0, 4) + number(count, 2) +
           number(count, 2) + number(directory.size(), 4) + number(local.size() + data.size(), 4) +
           number(0, 2);
  }
};

Result<NamedTensors> parse_zip(const std::string& text, uint64_t limit = 1 << 20) {
  return parse_npz(buffer_of(text), "a.npz", limit);
}

const std::string& good_npy() {
  static const std::string kText = npy(dict("|u1", "False", "(200,)"), std::string(200, '\x05'));
  return kText;
}

TEST(Npz, ReadsStoredDeflatedAndZip64) {
  for (const unsigned method : {0U, 8U}) {
    for (const bool zip64 : {false, true}) {
      Zip zip;
      zip.content = good_npy();
      zip.method = method;
      zip.zip64 = zip64;
      const NamedTensors tensors = parse_zip(zip.bytes()).value();
      ASSERT_EQ(tensors.size(), 1U);
      EXPECT_EQ(tensors[0].first, "x");
      EXPECT_EQ(tensors[0].second.shape(), (Shape{200}));
      EXPECT_EQ(tensors[0].second.at(199), 5);
    }
  }
}

TEST(Npz, ErrorsNameTheFileAndTheReason) {
  Zip good;
  good.content = good_npy();
  const auto expect = [&](const std::string& content, const std::string& expected) {
    const Result<NamedTensors> result = parse_zip(content, 100000);
    ASSERT_FALSE(result.ok()) << expected;
    EXPECT_TRUE(contains(result.error().text(), "a.npz")) << result.error().text();
    EXPECT_TRUE(contains(result.error().text(), expected)) << result.error().text();
  };
  expect("no zip", "no .npz file");
  Zip zip = good;
  zip.flags = 1;
  expect(zip.bytes(), "encrypted");
  zip = good;
  zip.method = 12;
  expect(zip.bytes(), "compression method 12");
  zip = good;
  zip.name = "readme.txt";
  expect(zip.bytes(), "no .npy array");
  zip = good;
  zip.wrong_size = 99999999;
  expect(zip.bytes(), "more than 100000 bytes");
  zip.wrong_size = 99999;
  expect(zip.bytes(), "more than deflate can hold");
  zip.wrong_size = 10;
  expect(zip.bytes(), "unpacks to");
  zip.method = 0;
  expect(zip.bytes(), "two different sizes");
  zip = good;
  zip.method = 0;
  zip.copies = 50;
  expect(zip.bytes(), "overlap");
  std::string changed = good.bytes();
  changed[14] ^= 1; // the local checksum is not looked at, the directory's is
  EXPECT_TRUE(parse_zip(changed).ok());
  Zip stored = good;
  stored.method = 0;
  changed = stored.bytes();
  changed[changed.find('\x05', 100)] = 6;
  expect(changed, "checksum");
}

TEST(Npz, EveryTruncationIsAnError) {
  Zip zip;
  zip.content = good_npy();
  const std::string text = zip.bytes();
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(parse_zip(text.substr(0, length)).ok()) << length;
}

TEST(Npz, WritesWhatItReads) {
  const test::Folder folder;
  const NamedTensors tensors = {{"a", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                                {"b/c", Tensor::of<int64_t>({1}, {-5})},
                                {"none", Tensor::zeros(DType::kUint8, {0}).value()}};
  const std::string path = folder.path("a.npz");
  ASSERT_TRUE(write_npz(path, tensors, Overwrite::kNo).ok());
  const NamedTensors back = read_npz(path).value();
  ASSERT_EQ(back.size(), tensors.size());
  for (size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].first, tensors[i].first);
    EXPECT_TRUE(back[i].second.identical(tensors[i].second));
    EXPECT_TRUE(back[i].second.is_aligned(64));
  }
  EXPECT_FALSE(write_npz(path, tensors, Overwrite::kNo).ok());
  const NamedTensors twice = {tensors[0], tensors[0]};
  EXPECT_TRUE(contains(write_npz(path, twice, Overwrite::kYes).error().text(), "\"a\""));
  EXPECT_EQ(read_npz(path).value().size(), 3U);
}

} // namespace
} // namespace octet
