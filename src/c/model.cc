// SPDX-License-Identifier: Apache-2.0
// Models of octet.h.
#include <cstring>
#include <utility>

#include "c/handles.h"
#include "core/format.h"

#include "octet/onnx.h"

namespace octet::c {
namespace {

Result<Graph> parse_copied(const void* bytes, size_t size) {
  const std::shared_ptr<Buffer> copy = Buffer::allocate(size);
  if (copy == nullptr) return error("no memory for a model of {} bytes", size);
  if (size > 0) std::memcpy(copy->writable(), bytes, size);
  return parse_onnx(copy);
}

} // namespace
} // namespace octet::c

using octet::Status;
using octet::c::check_pointer;

octet_code octet_model_load(const char* path, octet_model** model, octet_error** error) {
  if (model != nullptr) *model = nullptr;
  return octet::c::guarded(error, [&]() -> Status {
    OCTET_TRY(check_pointer(path, "path"));
    OCTET_TRY(check_pointer(model, "model"));
    octet::Graph graph = OCTET_TRY(octet::load_onnx(path)); // a return within `new` would leak
    *model = new octet_model{std::move(graph)};
    return octet::ok_status();
  });
}

octet_code
octet_model_parse(const void* bytes, size_t size, octet_model** model, octet_error** error) {
  if (model != nullptr) *model = nullptr;
  return octet::c::guarded(error, [&]() -> Status {
    OCTET_TRY(check_pointer(bytes, "bytes"));
    OCTET_TRY(check_pointer(model, "model"));
    octet::Graph graph = OCTET_TRY(octet::c::parse_copied(bytes, size));
    *model = new octet_model{std::move(graph)};
    return octet::ok_status();
  });
}

void octet_model_free(octet_model* model) {
  delete model;
}
