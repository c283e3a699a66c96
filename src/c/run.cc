// SPDX-License-Identifier: Apache-2.0
// Contexts of octet.h: runs on memory of the caller's.
#include <algorithm>
#include <cstring>
#include <span>

#include "c/handles.h"
#include "core/format.h"

namespace octet::c {
namespace {

constexpr int32_t kMaxRank = 64; // more is a slip of the pen

/// Marks a context as running; two threads that use one are told so.
class Turn {
 public:
  explicit Turn(octet_context& context) : context_(context), mine_(!context.busy.exchange(true)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (mine_) context_.busy = false;
  }
  Status check() const {
    if (mine_) return ok_status();
    return Error("the context is running already; make one for each thread");
  }

 private:
  octet_context& context_;
  bool mine_;
};

Status check_inputs(const octet_context& context, const octet_input* inputs, size_t count) {
  const std::vector<ValueFacts>& known = context.facts->inputs;
  if (count != known.size())
    return error("the model has {} inputs but got {}", known.size(), count);
  if (count > 0) OCTET_TRY(check_pointer(inputs, "inputs"));
  for (size_t i = 0; i < count; ++i) {
    const octet_input& in = inputs[i];
    if (in.rank < 0 || in.rank > kMaxRank)
      return error("input \"{}\": its rank is {}; give 0 to {}", known[i].name, in.rank, kMaxRank);
    if (in.rank > 0 && in.shape == nullptr)
      return error("input \"{}\": its shape is NULL", known[i].name);
  }
  return ok_status();
}

std::span<const int64_t> shape_of(const octet_input& in) {
  return {in.shape, static_cast<size_t>(in.rank)};
}

Status check_shape(const ValueFacts& known, std::span<const int64_t> shape) {
  OCTET_TRY_WITH(element_count(shape), fmt::format("input \"{}\"", known.name));
  const auto fits = [](int64_t wanted, int64_t extent) { return wanted < 0 || wanted == extent; };
  if (!known.has_rank || std::ranges::equal(known.shape, shape, fits)) return ok_status();
  return error("input \"{}\": the model wants {} but got {}", known.name, known.text,
               to_string(shape));
}

/// Whether a view of an earlier run is one of this input too.
bool is_view_of(const Tensor& view, const octet_input& in) {
  return view.type() == static_cast<DType>(in.type) && view.bytes().data() == in.data &&
         view.bytes().size() == in.size_bytes && std::ranges::equal(view.shape(), shape_of(in));
}

Result<Tensor> strings_of(const octet_input& in, Shape shape, int64_t count) {
  const auto* texts = static_cast<const char* const*>(in.data);
  std::vector<std::string> values;
  values.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr) return error("string {} is NULL", i);
    values.emplace_back(texts[i]);
  }
  return Tensor::strings(std::move(shape), std::move(values));
}

/// A tensor over the caller's memory, which holds just its elements.
Result<Tensor> view_of(const octet_input& in) {
  if (!is_valid(in.type) || in.type == OCTET_UNDEFINED)
    return error("{} is no element type", in.type);
  const auto type = static_cast<DType>(in.type);
  Shape shape(shape_of(in).begin(), shape_of(in).end());
  const int64_t count = OCTET_TRY(element_count(shape));
  const bool is_text = type == DType::kString;
  constexpr auto kPointer = static_cast<int64_t>(sizeof(char*));
  if (count > (int64_t{1} << 40)) return error("{} elements are too many", count);
  const int64_t wanted = is_text ? count * kPointer : bytes_for(type, count);
  if (static_cast<uint64_t>(wanted) != in.size_bytes)
    return error("{}{} takes {} bytes but size_bytes is {}", name(type), to_string(shape), wanted,
                 in.size_bytes);
  if (in.size_bytes > 0) OCTET_TRY(check_pointer(in.data, "data"));
  if (is_text) return strings_of(in, std::move(shape), count);
  const std::shared_ptr<Buffer> memory =
      Buffer::borrow({static_cast<const std::byte*>(in.data), in.size_bytes});
  return Tensor::view(type, std::move(shape), memory, 0);
}

Status view_inputs(octet_context& context, const octet_input* inputs, size_t count) {
  OCTET_TRY(check_inputs(context, inputs, count));
  context.inputs.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (is_view_of(context.inputs[i], inputs[i]) && inputs[i].type != OCTET_STRING) continue;
    context.inputs[i] = OCTET_TRY_WITH(view_of(inputs[i]),
                                       fmt::format("input \"{}\"", context.facts->inputs[i].name));
  }
  return ok_status();
}

/// The bytes of an output as the caller sees them.
std::span<const std::byte> elements(octet_context& context, size_t i, const Tensor& t) {
  if (t.type() != DType::kString) return t.bytes();
  std::vector<const char*>& texts = context.strings[i];
  texts.clear();
  for (const std::string& text : t.string_values())
    texts.push_back(text.c_str());
  return std::as_bytes(std::span(texts));
}

Status check_buffers(const octet_context& context, const octet_output* outputs, size_t count) {
  const std::vector<ValueFacts>& known = context.facts->outputs;
  if (count != known.size())
    return error("the model has {} outputs but got {} places for them", known.size(), count);
  if (count > 0) OCTET_TRY(check_pointer(outputs, "outputs"));
  for (size_t i = 0; i < count; ++i)
    if (outputs[i].buffer != nullptr && known[i].type == DType::kString)
      return error(ErrorCode::kUnsupported,
                   "output \"{}\": strings are borrowed; leave its buffer at NULL", known[i].name);
  return ok_status();
}

struct Handed {
  std::string too_small; ///< which buffer, and nothing was written; empty: all fit
};

/// Tells what each output is, and then hands over its elements.
Result<Handed>
hand_over(octet_context& context, std::span<const Tensor> results, octet_output* outputs) {
  context.strings.resize(results.size());
  Handed handed;
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& t = results[i];
    octet_output& out = outputs[i];
    const std::span<const std::byte> bytes = elements(context, i, t);
    out.type = static_cast<octet_type>(t.type());
    out.rank = static_cast<int32_t>(t.rank());
    out.shape = t.shape().data();
    out.size_bytes = bytes.size();
    out.data = out.buffer != nullptr ? out.buffer : static_cast<const void*>(bytes.data());
    if (out.buffer != nullptr && out.buffer_bytes < bytes.size() && handed.too_small.empty())
      handed.too_small = fmt::format("output \"{}\": {}{} takes {} bytes but its buffer has {}",
                                     context.facts->outputs[i].name, name(t.type()),
                                     to_string(t.shape()), bytes.size(), out.buffer_bytes);
  }
  if (!handed.too_small.empty()) return handed;
  for (size_t i = 0; i < results.size(); ++i)
    if (outputs[i].buffer != nullptr && outputs[i].size_bytes > 0)
      std::memcpy(outputs[i].buffer, results[i].bytes().data(), outputs[i].size_bytes);
  return handed;
}

} // namespace
} // namespace octet::c

using octet::Shape;
using octet::Status;
using octet::Tensor;
using octet::c::check_pointer;

octet_code
octet_context_create(const octet_session* session, octet_context** context, octet_error** error) {
  if (context != nullptr) *context = nullptr;
  return octet::c::guarded(error, [&]() -> Status {
    OCTET_TRY(check_pointer(session, "session"));
    OCTET_TRY(check_pointer(context, "context"));
    *context = new octet_context(session->session.context(), session->facts);
    return octet::ok_status();
  });
}

void octet_context_free(octet_context* context) {
  delete context;
}

octet_code octet_run(octet_context* context,
                     const octet_input* inputs,
                     size_t input_count,
                     octet_output* outputs,
                     size_t output_count,
                     octet_error** error) {
  octet::c::Handed handed;
  const octet_code code = octet::c::guarded(error, [&]() -> Status {
    OCTET_TRY(check_pointer(context, "context"));
    const octet::c::Turn turn(*context);
    OCTET_TRY(turn.check());
    OCTET_TRY(octet::c::check_buffers(*context, outputs, output_count));
    OCTET_TRY(octet::c::view_inputs(*context, inputs, input_count));
    const std::span<const Tensor> results = OCTET_TRY(context->context.run(context->inputs));
    handed = OCTET_TRY(octet::c::hand_over(*context, results, outputs));
    return octet::ok_status();
  });
  if (code != OCTET_OK || handed.too_small.empty()) return code;
  return octet::c::fail(error, OCTET_TOO_SMALL, std::move(handed.too_small));
}

octet_code octet_reserve(octet_context* context,
                         const octet_input* inputs,
                         size_t input_count,
                         octet_error** error) {
  return octet::c::guarded(error, [&]() -> Status {
    OCTET_TRY(check_pointer(context, "context"));
    const octet::c::Turn turn(*context);
    OCTET_TRY(turn.check());
    OCTET_TRY(octet::c::check_inputs(*context, inputs, input_count));
    std::vector<Shape> shapes;
    for (size_t i = 0; i < input_count; ++i) {
      const std::span<const int64_t> shape = octet::c::shape_of(inputs[i]);
      OCTET_TRY(octet::c::check_shape(context->facts->inputs[i], shape));
      shapes.emplace_back(shape.begin(), shape.end());
    }
    return context->context.reserve(shapes);
  });
}
