// SPDX-License-Identifier: Apache-2.0
// What is behind the handles of octet.h, and the wall that no exception passes.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "octet.h"

#include "octet/graph.h"
#include "octet/session.h"

namespace octet::c {

/// An input or output as octet_value shows it.
struct ValueFacts {
  std::string name, text;
  DType type = DType::kUndefined;
  bool has_rank = false;
  std::vector<int64_t> shape;
  std::vector<std::string> symbols;
  std::vector<const char*> symbol_pointers;
};

struct SessionFacts {
  std::vector<ValueFacts> inputs, outputs;
};

/// Hands an error to the caller, if he wants it. Returns its code.
octet_code fail(octet_error** out, octet_code code, std::string text) noexcept;
octet_code fail(octet_error** out, const Error& error);
octet_code fail_without_memory(octet_error** out) noexcept;
octet_code fail_with(octet_error** out, const char* exception) noexcept;

/// Calls `fn`, which returns a Result, and turns its error and whatever it throws into the caller's.
template <class Fn>
octet_code guarded(octet_error** out, Fn&& fn) noexcept {
  if (out != nullptr) *out = nullptr;
  try {
    const auto result = fn();
    return result.ok() ? OCTET_OK : fail(out, result.error());
  } catch (const std::bad_alloc&) {
    return fail_without_memory(out);
  } catch (const std::exception& e) {
    return fail_with(out, e.what());
  } catch (...) {
    return fail_with(out, "of a type that is no std::exception");
  }
}

/// The error for a pointer that must not be NULL.
inline Status check_pointer(const void* pointer, const char* name) {
  if (pointer != nullptr) return ok_status();
  return Error(std::string(name) + " is NULL");
}

} // namespace octet::c

// NOLINTBEGIN(readability-identifier-naming)
struct octet_error {
  octet_code code = OCTET_INVALID;
  std::string text;
};

struct octet_model {
  octet::Graph graph;
};

struct octet_session {
  octet::Session session;
  std::shared_ptr<const octet::c::SessionFacts> facts;
  std::string isa;
};

struct octet_context {
  octet_context(octet::SessionContext of, std::shared_ptr<const octet::c::SessionFacts> known)
      : context(std::move(of)), facts(std::move(known)) {}

  octet::SessionContext context;
  std::shared_ptr<const octet::c::SessionFacts> facts;
  std::vector<octet::Tensor> inputs; ///< of the last run: views of the caller's memory
  std::vector<octet::Tensor> outputs;
  std::vector<std::vector<const char*>> strings; ///< of outputs that are borrowed
  std::atomic<bool> busy = false;
};
// NOLINTEND(readability-identifier-naming)
