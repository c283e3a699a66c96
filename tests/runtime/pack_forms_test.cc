// SPDX-License-Identifier: Apache-2.0
// Packs of every form as bytes: they say the pack again, and they are those of kPackersVersion.
#include <map>

#include "core/cpu.h"
#include "core/hash.h"
#include "core/philox.h"
#include "runtime/pack_forms.h"
#include <gtest/gtest.h>

namespace octet::runtime {
namespace {

using kernels::ConvShape;

/// What a file of packs would hold.
struct Written {
  PackWriter writer;
  std::vector<kernels::AlignedBuffer> copies;
  std::vector<std::span<const std::byte>> sections;

  template <class Packed>
  explicit Written(const Packed& pack) {
    write_pack(writer, pack);
    for (const std::span<const std::byte> bytes : writer.sections()) {
      kernels::AlignedBuffer& copy = copies.emplace_back(bytes.size());
      std::copy(bytes.begin(), bytes.end(), copy.as<std::byte>());
      sections.emplace_back(copy.as<std::byte>(), bytes.size());
    }
  }
  uint64_t hash() const {
    uint64_t out = hash_bytes(writer.fields());
    for (const std::span<const std::byte> bytes : sections)
      out = hash_bytes(bytes, out);
    return out;
  }
};

/// The pack as it is read back says the same; with any field or length changed, reading fails or
/// gives a pack that says so.
template <class Packed, class Form>
uint64_t check(const Packed& pack, const Form& form, Isa isa) {
  const Written written(pack);
  PackReader from(written.writer.fields(), written.sections);
  Packed again;
  read_pack(from, again, form, isa);
  EXPECT_TRUE(from.done());
  EXPECT_EQ(Written(again).hash(), written.hash());
  const std::string& fields = written.writer.fields();
  for (size_t cut = 0; cut < fields.size(); cut += 1 + fields.size() / 50) {
    PackReader part(std::string_view(fields).substr(0, cut), written.sections);
    Packed none;
    read_pack(part, none, form, isa);
    EXPECT_FALSE(part.done()) << cut << " of " << fields.size();
  }
  for (size_t i = 0; i < written.sections.size(); ++i) {
    if (written.sections[i].empty()) continue;
    auto sections = written.sections;
    sections[i] = sections[i].first(sections[i].size() - 1);
    PackReader shorter(fields, sections);
    Packed none;
    read_pack(shorter, none, form, isa);
    EXPECT_FALSE(shorter.done());
  }
  return written.hash();
}

ConvShape window(int64_t in_c, int64_t out_c, int64_t kernel, int64_t groups) {
  ConvShape s;
  s.in_c = in_c;
  s.out_c = out_c;
  s.kernel_h = s.kernel_w = kernel;
  s.groups = groups;
  return s;
}

/// By name of the form: a hash of the bytes.
std::map<std::string, uint64_t> hashes(Isa isa) {
  Philox random(3);
  std::vector<int8_t> codes(1 << 16);
  for (int8_t& c : codes)
    c = static_cast<int8_t>(static_cast<int>(random.below(256)) - 128);
  std::vector<float> floats(1 << 16);
  for (float& f : floats)
    f = static_cast<float>(random.uniform(-1, 1));
  std::map<std::string, uint64_t> out;
  for (const bool is_signed : {false, true}) {
    const kernels::XRange x{is_signed, is_signed ? -128 : 0, is_signed ? 127 : 255};
    const std::string sign = is_signed ? " i8" : " u8";
    out["igemm" + sign] = check(kernels::pack_weights(codes.data(), 203, 77, 203, x, isa),
                                ProductForm{77, 203, x}, isa);
    std::vector<int8_t> excess(codes.size(), 0);
    for (size_t i = 0; i < excess.size(); i += 997)
      excess[i] = codes[i] > 0 ? 100 : -100;
    out["wide igemm" + sign] =
        check(kernels::pack_weights(codes.data(), 203, 77, 203, x, isa, excess.data()),
              ProductForm{77, 203, x}, isa);
    ConvShape strided = window(16, 70, 3, 1);
    strided.stride_h = strided.stride_w = 2;
    ConvShape dilated = window(16, 70, 3, 1), line = window(6, 20, 3, 1);
    dilated.dilation_h = dilated.dilation_w = line.dilation_w = 2;
    line.kernel_h = 1;
    const std::pair<const char*, ConvShape> shapes[] = {{"direct", window(16, 70, 3, 1)},
                                                        {"strided", strided},
                                                        {"dilated", dilated},
                                                        {"dilated line", line},
                                                        {"gathered", window(3, 20, 2, 1)},
                                                        {"grouped", window(24, 40, 3, 2)},
                                                        {"depthwise", window(40, 40, 3, 40)}};
    for (const auto& [name, shape] : shapes)
      out[std::string(name) + sign] =
          check(kernels::pack_conv(codes.data(), shape, x, isa), WindowForm{shape, x}, isa);
  }
  out["sgemm"] =
      check(kernels::pack_float({floats.data(), 1, 90, 75, 90}, isa), ProductForm{75, 90}, isa);
  for (const DType type : {DType::kInt8, DType::kUint4, DType::kInt2, DType::kFloat8E4M3FN})
    out["codes " + std::string(name(type))] =
        check(kernels::pack_codes(std::as_bytes(std::span(codes)), type, 75, 91, isa),
              CodesForm{75, 91, type}, isa);
  const std::pair<const char*, ConvShape> shapes[] = {{"float dense", window(16, 70, 3, 1)},
                                                      {"float grouped", window(24, 40, 3, 2)},
                                                      {"float narrow", window(40, 40, 3, 10)}};
  for (const auto& [name, shape] : shapes)
    out[name] = check(kernels::pack_float_conv(floats.data(), shape, isa), WindowForm{shape}, isa);
  ConvShape transposed = window(24, 40, 3, 2);
  transposed.stride_h = transposed.stride_w = 2;
  out["transposed"] = check(kernels::pack_transposed_conv(floats.data(), transposed, isa),
                            WindowForm{transposed}, isa);
  return out;
}

TEST(PackForms, AreThoseOfTheirVersion) {
  // Version of the packers, then for each instruction set a hash of all forms.
  constexpr uint32_t kVersion = 7;
  const std::map<std::string_view, uint64_t> kHashes = {
      {"scalar", 5707696178738166497U},    {"avx2", 9768280954482964045U},
      {"vnni256", 15708338708566633556U},  {"avx512", 10332246189997091172U},
      {"avx512vnni", 241926966301247982U}, {"amxint8", 241926966301247982U}};
  ASSERT_EQ(kPackersVersion, kVersion) << "bring the hashes below up to date as well";
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    uint64_t all = 0;
    std::string names;
    for (const auto& [name, hash] : hashes(isa)) {
      all = hash_value(hash, all);
      names += " " + name + "=" + std::to_string(hash);
    }
    EXPECT_EQ(all, kHashes.at(isa_name(isa)))
        << isa_name(isa) << ": packers make other bytes than those of kPackersVersion "
        << kPackersVersion << "; raise it, and write the new hashes here:" << names;
  }
}

} // namespace
} // namespace octet::runtime
