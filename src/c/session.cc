// SPDX-License-Identifier: Apache-2.0
// Sessions of octet.h, and what they say of their inputs and outputs.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "c/handles.h"
#include "core/format.h"

namespace octet::c {
namespace {

ValueFacts facts_of(const Value& value) {
  ValueFacts facts;
  facts.name = value.name;
  facts.text = value.type.text();
  facts.type = value.type.type;
  facts.has_rank = value.type.has_rank();
  if (!facts.has_rank) return facts;
  for (const Dim& d : *value.type.shape) {
    facts.shape.push_back(d.maybe_value().value_or(-1));
    facts.symbols.push_back(d.is_known() && !d.is_constant() ? d.text() : "");
  }
  for (const std::string& symbol : facts.symbols)
    facts.symbol_pointers.push_back(symbol.c_str());
  return facts;
}

octet_session* handle_of(Session session) {
  auto facts = std::make_shared<SessionFacts>();
  const Graph& graph = session.lowered();
  for (const ValueId v : graph.inputs())
    facts->inputs.push_back(facts_of(graph.value(v)));
  for (const ValueId v : graph.outputs())
    facts->outputs.push_back(facts_of(graph.value(v)));
  std::string isa(session.isa());
  return new octet_session{std::move(session), std::move(facts), std::move(isa)};
}

/// The members of a struct that its caller knows; those that it does not have are at 0. A struct of a
/// later version fits where all that this one does not know is 0.
template <class Struct>
Status read_sized(const void* given, size_t first_size, const char* name, Struct& out) {
  size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < first_size || size > 4096)
    return error("{}.size is {}; set it to sizeof({}), which is {} in this version", name, size,
                 name, sizeof(Struct));
  const std::span bytes(static_cast<const unsigned char*>(given), size);
  if (size > sizeof(Struct) && std::ranges::any_of(bytes.subspan(sizeof(Struct)),
                                                   [](unsigned char byte) { return byte != 0; }))
    return error(ErrorCode::kUnsupported,
                 "{} has members that this version does not know; leave them at 0 or update octet",
                 name);
  std::memcpy(&out, given, std::min(size, sizeof(Struct)));
  return ok_status();
}

Result<SessionOptions> read_options(const octet_session_options* given) {
  SessionOptions options;
  if (given == nullptr) return options;
  octet_session_options known = OCTET_SESSION_OPTIONS_INIT;
  OCTET_TRY(read_sized(given, sizeof known, "octet_session_options", known));
  if (known.packed != 0 && known.packed != 1)
    return error("octet_session_options.packed is {}; it is 0 or 1", known.packed);
  options.threads = known.threads;
  options.packed = known.packed == 1;
  if (known.isa != nullptr) options.isa = known.isa;
  if (known.parallel_for != nullptr)
    options.parallel_for = [fn = known.parallel_for, user = known.parallel_for_user](
                               int64_t count, const std::function<void(int64_t)>& chunk) {
      const octet_chunk_fn call = [](void* chunks, int64_t index) {
        (*static_cast<const std::function<void(int64_t)>*>(chunks))(index);
      };
      fn(user, count, call, const_cast<std::function<void(int64_t)>*>(&chunk));
    };
  return options;
}

Status
show(const std::vector<ValueFacts>& values, const char* kind, size_t index, octet_value* out) {
  OCTET_TRY(check_pointer(out, "value"));
  if (index >= values.size())
    return error(ErrorCode::kNotFound, "there is no {} {}; the session has {}", kind, index,
                 values.size());
  size_t size = 0;
  std::memcpy(&size, out, sizeof size);
  if (size < sizeof(octet_value) || size > 4096)
    return error("octet_value.size is {}; set it to sizeof(octet_value), which is {} in this "
                 "version",
                 size, sizeof(octet_value));
  const ValueFacts& v = values[index];
  std::memset(out, 0, size); // members of later versions too
  *out = {size,
          v.name.c_str(),
          v.text.c_str(),
          static_cast<octet_type>(v.type),
          v.has_rank ? static_cast<int32_t>(v.shape.size()) : -1,
          v.has_rank ? v.shape.data() : nullptr,
          v.has_rank ? v.symbol_pointers.data() : nullptr};
  return ok_status();
}

} // namespace
} // namespace octet::c

using octet::Session;
using octet::Status;
using octet::c::check_pointer;

octet_code octet_session_create(const octet_model* model,
                                const octet_session_options* options,
                                octet_session** session,
                                octet_error** error) {
  if (session != nullptr) *session = nullptr;
  return octet::c::guarded(error, [&]() -> Status {
    OCTET_TRY(check_pointer(model, "model"));
    OCTET_TRY(check_pointer(session, "session"));
    const octet::SessionOptions read = OCTET_TRY(octet::c::read_options(options));
    *session = octet::c::handle_of(OCTET_TRY(Session::create(model->graph, read)));
    return octet::ok_status();
  });
}

octet_code octet_session_open(const char* path,
                              const octet_session_options* options,
                              octet_session** session,
                              octet_error** error) {
  if (session != nullptr) *session = nullptr;
  return octet::c::guarded(error, [&]() -> Status {
    OCTET_TRY(check_pointer(path, "path"));
    OCTET_TRY(check_pointer(session, "session"));
    const octet::SessionOptions read = OCTET_TRY(octet::c::read_options(options));
    *session = octet::c::handle_of(OCTET_TRY(Session::open(path, read)));
    return octet::ok_status();
  });
}

void octet_session_free(octet_session* session) {
  delete session;
}

const char* octet_session_isa(const octet_session* session) {
  return session == nullptr ? "" : session->isa.c_str();
}

int32_t octet_session_threads(const octet_session* session) {
  return session == nullptr ? 0 : session->session.threads();
}

const char* octet_session_warning(const octet_session* session) {
  return session == nullptr ? "" : session->session.pack_warning().c_str();
}

size_t octet_session_input_count(const octet_session* session) {
  return session == nullptr ? 0 : session->facts->inputs.size();
}

size_t octet_session_output_count(const octet_session* session) {
  return session == nullptr ? 0 : session->facts->outputs.size();
}

octet_code octet_session_input(const octet_session* session,
                               size_t index,
                               octet_value* value,
                               octet_error** error) {
  return octet::c::guarded(error, [&]() -> Status {
    OCTET_TRY(check_pointer(session, "session"));
    return octet::c::show(session->facts->inputs, "input", index, value);
  });
}

octet_code octet_session_output(const octet_session* session,
                                size_t index,
                                octet_value* value,
                                octet_error** error) {
  return octet::c::guarded(error, [&]() -> Status {
    OCTET_TRY(check_pointer(session, "session"));
    return octet::c::show(session->facts->outputs, "output", index, value);
  });
}
