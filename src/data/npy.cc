// SPDX-License-Identifier: Apache-2.0
#include "data/npy.h"

#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/format.h"
#include "data/byte_order.h"
#include "data/npy_strings.h"

namespace octet {
namespace {

constexpr size_t kMaxHeader = 1 << 20;
constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

/// Reads the Python literal `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<NpyHeader> parse() {
    NpyHeader header;
    bool seen[3] = {};
    if (!take('{')) return unexpected("'{'");
    while (!take('}')) {
      const std::string key = OCTET_TRY(quoted());
      if (!take(':')) return unexpected("':'");
      if (key == "descr") {
        seen[0] = true;
        header.descr = OCTET_TRY(descr());
      } else if (key == "fortran_order") {
        seen[1] = true;
        header.fortran_order = OCTET_TRY(boolean());
      } else if (key == "shape") {
        seen[2] = true;
        header.shape = OCTET_TRY(shape());
      } else {
        return error("{} has the unknown header key '{}'; save it again with numpy.save", name_,
                     key);
      }
      if (!take(',') && !peek('}')) return unexpected("',' or '}'");
    }
    if (!seen[0] || !seen[1] || !seen[2])
      return error("{} has a header without descr, fortran_order or shape; save it again", name_);
    return header;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
      ++at_;
  }
  bool peek(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  Error unexpected(std::string_view wanted) const {
    return error("{} has a header that does not read as NumPy's: {} expected at character {}; "
                 "save it again with numpy.save",
                 name_, wanted, at_);
  }
  Result<std::string> quoted() {
    skip_space();
    if (!peek('\'') && !peek('"')) return unexpected("a quoted word");
    const char quote = text_[at_];
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return unexpected("a closing quote");
    const std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }
  Result<std::string> descr() {
    if (peek('[')) {
      return error("{} holds a structured array; save each of its fields as an array of its own",
                   name_);
    }
    return quoted();
  }
  Result<bool> boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    return unexpected("True or False");
  }
  Result<Shape> shape() {
    Shape out;
    if (!take('(')) return unexpected("'('");
    while (!take(')')) {
      skip_space();
      int64_t dim = 0;
      const char* begin = text_.data() + at_;
      const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), dim);
      if (code != std::errc() || dim < 0 || out.size() == 64) return unexpected("a dimension");
      at_ += static_cast<size_t>(end - begin);
      take('L'); // Python 2 wrote 3L
      out.push_back(dim);
      if (!take(',') && !peek(')')) return unexpected("',' or ')'");
    }
    return out;
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

struct NumpyType {
  DType type;
  bool swapped;
  size_t element; ///< bytes
  size_t word;    ///< bytes that `swapped` turns
};

Result<NumpyType> type_of(const std::string& descr, const std::string& name) {
  static constexpr struct {
    std::string_view code;
    DType type;
  } kTypes[] = {{"f4", DType::kFloat32},   {"f8", DType::kFloat64},    {"f2", DType::kFloat16},
                {"u1", DType::kUint8},     {"u2", DType::kUint16},     {"u4", DType::kUint32},
                {"u8", DType::kUint64},    {"i1", DType::kInt8},       {"i2", DType::kInt16},
                {"i4", DType::kInt32},     {"i8", DType::kInt64},      {"b1", DType::kBool},
                {"c8", DType::kComplex64}, {"c16", DType::kComplex128}};
  const char order = descr.empty() ? '?' : descr[0];
  const std::string_view code = std::string_view(descr).substr(descr.empty() ? 0 : 1);
  const bool known_order = order == '<' || order == '>' || order == '|' || order == '=';
  for (const auto& row : kTypes) {
    if (!known_order || row.code != code) continue;
    const auto element = static_cast<size_t>(bits(row.type) / 8);
    const bool complex = row.type == DType::kComplex64 || row.type == DType::kComplex128;
    return NumpyType{row.type, order == '>', element, complex ? element / 2 : element};
  }
  if (const size_t element = known_order ? npy_string_bytes(code) : 0; element > 0)
    return NumpyType{DType::kString, order == '>', element, code[0] == 'U' ? size_t{4} : 1};
  if (code.substr(0, 1) == "O")
    return error("{} holds Python objects, which are never unpickled; save numbers", name);
  return error(
      "{} has elements of type '{}'; save it as float32, int64, text or another type of fixed size",
      name, descr);
}

/// The same elements in C order: the file has the first index fastest.
Status from_fortran(std::span<const std::byte> source,
                    const Shape& shape,
                    size_t element,
                    std::span<std::byte> target) {
  Shape index(shape.size(), 0);
  std::vector<size_t> stride(shape.size(), element);
  for (size_t i = shape.size(); i-- > 1;)
    stride[i - 1] = stride[i] * static_cast<size_t>(shape[i]);
  size_t to = 0;
  for (size_t from = 0; from < source.size(); from += element) {
    std::memcpy(target.data() + to, source.data() + from, element);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      to += stride[axis];
      if (++index[axis] < shape[axis]) break;
      to -= stride[axis] * static_cast<size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
  return ok_status();
}

/// Where the elements begin, and the header before them.
Result<std::pair<NpyHeader, size_t>> read_header(std::span<const std::byte> bytes,
                                                 const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < 10 || text.substr(0, kMagic.size()) != kMagic)
    return error("{} does not begin like an .npy file; name one that numpy.save wrote", name);
  const auto byte = [&](size_t i) { return std::to_integer<size_t>(bytes[i]); };
  const size_t version = byte(6);
  if (version < 1 || version > 3) {
    return error("{} has format version {}.{}, known are 1 to 3; save it with a NumPy of today",
                 name, version, byte(7));
  }
  size_t begin = 10;
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) {
    begin = 12;
    if (text.size() < begin) return error("{} is truncated in its header; save it again", name);
    length |= byte(10) << 16 | byte(11) << 24;
  }
  if (length > kMaxHeader || length > text.size() - begin) {
    return error("{} announces a header of {} bytes, {} follow; it is truncated, save it again",
                 name, length, text.size() - begin);
  }
  NpyHeader header = OCTET_TRY(HeaderParser(text.substr(begin, length), name).parse());
  return std::pair(std::move(header), begin + length);
}

} // namespace

Result<Tensor> parse_npy(std::shared_ptr<const Buffer> buffer,
                         size_t offset,
                         size_t length,
                         const std::string& name) {
  const auto bytes = buffer->bytes().subspan(offset, length);
  auto [header, begin] = OCTET_TRY(read_header(bytes, name));
  const NumpyType type = OCTET_TRY(type_of(header.descr, name));
  const int64_t count = OCTET_TRY_WITH(element_count(header.shape), name);
  const size_t payload = length - begin;
  const auto elements_there = static_cast<int64_t>(payload / type.element);
  if (count != elements_there || payload % type.element != 0) {
    return error("{} {}: shape {} of '{}' takes {} elements of {} bytes, {} bytes follow its "
                 "header; save it again",
                 name, count > elements_there ? "is truncated" : "has extra bytes",
                 to_string(header.shape), header.descr, count, type.element, payload);
  }
  const bool reordered = header.fortran_order && header.shape.size() > 1 && count > 0;
  const bool strings = type.type == DType::kString;
  const auto elements = bytes.subspan(begin);
  if (!type.swapped && !reordered) {
    if (strings)
      return npy_strings(std::move(header.shape), elements, type.element, type.word, name);
    return Tensor::view(type.type, std::move(header.shape), std::move(buffer), offset + begin);
  }
  Tensor out = OCTET_TRY_WITH(strings ? Tensor::zeros(DType::kUint8, {std::ssize(elements)})
                                      : Tensor::zeros(type.type, header.shape),
                              name);
  if (reordered) {
    OCTET_TRY(from_fortran(elements, header.shape, type.element, out.mutable_bytes()));
  } else if (!elements.empty()) {
    std::memcpy(out.mutable_bytes().data(), elements.data(), elements.size());
  }
  if (type.swapped) swap_words(out.mutable_bytes(), type.word);
  if (strings)
    return npy_strings(std::move(header.shape), out.bytes(), type.element, type.word, name);
  return out;
}

Result<Tensor> read_npy(const std::string& path) {
  std::shared_ptr<Buffer> file = OCTET_TRY(Buffer::map(path));
  const size_t length = file->bytes().size();
  return parse_npy(std::move(file), 0, length, path);
}

Result<NpyParts> npy_parts(const Tensor& tensor) {
  std::string descr;
  Tensor elements = tensor;
  const DType type = tensor.type();
  if (type == DType::kString) {
    NpyTexts texts = OCTET_TRY(npy_texts(tensor));
    descr = fmt::format("<U{}", texts.characters);
    elements = std::move(texts.codes);
  } else if (type == DType::kFloat16 || type == DType::kFloat32 || type == DType::kFloat64) {
    descr = fmt::format("<f{}", bits(type) / 8);
  } else if (type == DType::kComplex64 || type == DType::kComplex128) {
    descr = fmt::format("<c{}", bits(type) / 8);
  } else if (type == DType::kBool) {
    descr = "|b1";
  } else if (is_integer(type) && bits(type) >= 8) {
    descr = fmt::format("{}{}{}", bits(type) == 8 ? '|' : '<', is_signed(type) ? 'i' : 'u',
                        bits(type) / 8);
  } else {
    return error(ErrorCode::kUnsupported,
                 "NumPy has no type for {}; convert the tensor to {} before writing it", name(type),
                 is_integer(type) ? "i8 or u8" : "f32");
  }
  std::string shape;
  for (const int64_t dim : tensor.shape())
    shape += std::to_string(dim) + ", ";
  if (tensor.rank() > 1) shape.resize(shape.size() - 2);
  if (tensor.rank() == 1) shape.resize(shape.size() - 1);
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  const size_t unpadded = 10 + dict.size() + 1;
  dict.append((64 - unpadded % 64) % 64, ' ');
  dict += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(dict.size() & 0xff);
  out += static_cast<char>(dict.size() >> 8);
  return NpyParts{out + dict, std::move(elements)};
}

Status write_npy(const std::string& path, const Tensor& tensor, Overwrite overwrite) {
  const NpyParts parts = OCTET_TRY(npy_parts(tensor));
  AtomicFile file = OCTET_TRY(AtomicFile::create(path, overwrite));
  OCTET_TRY(file.write(parts.header));
  OCTET_TRY(file.write(parts.elements.bytes()));
  return file.commit();
}

} // namespace octet
