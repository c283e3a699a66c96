// SPDX-License-Identifier: Apache-2.0
// Errors, types and the version of octet.h.
#include <string_view>

#include "c/handles.h"

#include "octet/version.h"

namespace octet::c {
namespace {

octet_code code_of(ErrorCode code) {
  switch (code) {
  case ErrorCode::kInvalid:
    return OCTET_INVALID;
  case ErrorCode::kUnsupported:
    return OCTET_UNSUPPORTED;
  case ErrorCode::kNotFound:
    return OCTET_NOT_FOUND;
  case ErrorCode::kRefused:
    return OCTET_REFUSED;
  case ErrorCode::kCancelled:
    return OCTET_CANCELLED;
  case ErrorCode::kInternal:
    return OCTET_INTERNAL;
  }
  return OCTET_INTERNAL;
}

/// What is handed out when there is no memory for an error; nobody writes or frees it.
octet_error no_memory = {OCTET_INVALID, "no memory left"}; // short: it lies in the string itself

} // namespace

octet_code fail(octet_error** out, octet_code code, std::string text) noexcept {
  if (out == nullptr) return code;
  *out = new (std::nothrow) octet_error{code, std::move(text)};
  if (*out == nullptr) *out = &no_memory;
  return code;
}

octet_code fail(octet_error** out, const Error& error) {
  return fail(out, code_of(error.code()), error.text());
}

octet_code fail_with(octet_error** out, const char* exception) noexcept {
  try {
    return fail(out, OCTET_INTERNAL, std::string("an exception was thrown: ") + exception);
  } catch (...) {
    return fail_without_memory(out);
  }
}

octet_code fail_without_memory(octet_error** out) noexcept {
  if (out != nullptr) *out = &no_memory;
  return no_memory.code;
}

} // namespace octet::c

const char* octet_version() {
  return octet::version();
}

const char* octet_type_name(octet_type type) {
  if (!octet::is_valid(type)) return nullptr;
  return octet::name(static_cast<octet::DType>(type)).data(); // a literal, which ends with a 0
}

int32_t octet_type_bits(octet_type type) {
  return octet::is_valid(type) ? octet::bits(static_cast<octet::DType>(type)) : 0;
}

const char* octet_error_text(const octet_error* error) {
  return error == nullptr ? "" : error->text.c_str();
}

octet_code octet_error_code(const octet_error* error) {
  return error == nullptr ? OCTET_OK : error->code;
}

void octet_error_free(octet_error* error) {
  if (error != &octet::c::no_memory) delete error;
}
