// SPDX-License-Identifier: Apache-2.0
// Source: onnx.proto, FunctionProto.
#include "onnx/function.h"

#include <algorithm>
#include <cstring>

#include "core/format.h"
#include "graph/verify.h"
#include "onnx/read_attribute.h"
#include "onnx/read_model.h"
#include "onnx/schema.h"

namespace octet::onnx {
namespace {

/// The tensors of the body are views of it, so it must live as long as they do.
std::shared_ptr<const Buffer> copy_of(const std::string& bytes) {
  std::shared_ptr<Buffer> out = Buffer::allocate(bytes.size());
  if (out != nullptr && !bytes.empty()) std::memcpy(out->writable(), bytes.data(), bytes.size());
  return out;
}

} // namespace

Result<Function> read_function(const LocalFunction& function) {
  const auto frame = [&] { return fmt::format("function {}.{}", function.domain, function.name); };
  const Source source{copy_of(function.bytes), nullptr};
  if (source.buffer == nullptr) return error("{}: no memory to read it", frame());
  std::map<std::string, int64_t> opsets;
  Function out;
  GraphReader no_subgraphs(source, opsets);
  Reader reader = source.reader(source.all());
  while (reader.next()) {
    if (reader.field() == function::kOpsetImport)
      OCTET_TRY_WITH(read_opset(reader.bytes(), source, opsets), frame());
    if (reader.field() != function::kAttributeDefault) continue;
    auto [name, value] = OCTET_TRY_WITH(read_attribute(reader.bytes(), no_subgraphs), frame());
    out.defaults.insert_or_assign(std::move(name), std::move(value));
  }
  OCTET_TRY_WITH(reader.finish(), frame());
  GraphReader body(source, std::move(opsets));
  out.body = OCTET_TRY_WITH(body.read_function(source.all()), frame());
  out.body.name = function.name;
  OCTET_TRY_WITH(verify(out.body), frame());
  return out;
}

} // namespace octet::onnx
