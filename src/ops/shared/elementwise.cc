// SPDX-License-Identifier: Apache-2.0
// Elementwise operators from scalar functions; see elementwise.h.
#include "ops/shared/elementwise.h"

#include <bit>
#include <cstring>

#include "core/format.h"
#include "ops/shared/movement.h"

namespace octet {
namespace {

/// The value of a shape computation on two small integer inputs, scalars repeated.
std::optional<std::vector<Dim>>
combine_dims(const std::vector<Dim>& a, const std::vector<Dim>& b, const DimFn& f) {
  const size_t n = a.size() == 1 ? b.size() : a.size();
  if ((a.size() != 1 && a.size() != n) || (b.size() != 1 && b.size() != n)) return std::nullopt;
  std::vector<Dim> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
  return out;
}

Error no_function(const Tensor& x) {
  return error(ErrorCode::kUnsupported, "no arithmetic on {}; insert a Cast", name(x.type()));
}

template <class T>
std::vector<int64_t> read_as(std::span<const std::byte> bytes, int64_t count) {
  std::vector<int64_t> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) {
    T v;
    std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<int64_t>(v);
  }
  return out;
}

} // namespace

Result<std::vector<int64_t>> integer_values(const Tensor& x) {
  switch (x.type()) {
  case DType::kBool: {
    auto v = read_as<uint8_t>(x.bytes(), x.count());
    for (int64_t& each : v)
      each = each != 0 ? 1 : 0;
    return v;
  }
  case DType::kUint8:
    return read_as<uint8_t>(x.bytes(), x.count());
  case DType::kInt8:
    return read_as<int8_t>(x.bytes(), x.count());
  case DType::kUint16:
    return read_as<uint16_t>(x.bytes(), x.count());
  case DType::kInt16:
    return read_as<int16_t>(x.bytes(), x.count());
  case DType::kUint32:
    return read_as<uint32_t>(x.bytes(), x.count());
  case DType::kInt32:
    return read_as<int32_t>(x.bytes(), x.count());
  case DType::kUint64:
  case DType::kInt64:
    return read_as<int64_t>(x.bytes(), x.count());
  default:
    break;
  }
  if (!is_integer(x.type())) return no_function(x);
  return x.to_ints();
}

Result<Tensor> integer_tensor(DType type, Shape shape, std::span<const int64_t> values) {
  const int width = bits(type);
  if (width < 8) {
    std::vector<double> wrapped;
    for (int64_t v : values) {
      const int64_t low = v & ((int64_t{1} << width) - 1);
      const bool negative = is_signed(type) && (low >> (width - 1)) != 0;
      wrapped.push_back(static_cast<double>(negative ? low - (int64_t{1} << width) : low));
    }
    return Tensor::from_doubles(type, std::move(shape), wrapped);
  }
  Tensor out = OCTET_TRY(Tensor::zeros(type, std::move(shape)));
  const auto bytes = out.mutable_bytes();
  const auto size = static_cast<size_t>(width / 8);
  static_assert(std::endian::native == std::endian::little);
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t v = type == DType::kBool ? values[i] != 0 : values[i];
    std::memcpy(bytes.data() + i * size, &v, size);
  }
  return out;
}

Result<Tensor> real_tensor(DType type, Shape shape, std::span<const double> values) {
  return Tensor::from_doubles(type, std::move(shape), values);
}

Result<std::vector<OutputInfo>> infer_unary(const InferContext& ctx, TypeSet allowed) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, allowed));
  return one(ctx.input(0).type);
}

Result<std::vector<OutputInfo>>
infer_variadic(const InferContext& ctx, TypeSet allowed, const DimFn& on_dims) {
  if (ctx.inputs.empty()) return error("{} has no inputs; it takes one or more", ctx.node.op_type);
  TypeInfo out;
  std::vector<std::vector<Dim>> shapes;
  bool ranked = true;
  std::optional<std::vector<Dim>> value;
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    OCTET_TRY(check_input(ctx, i, allowed));
    const InputInfo& x = ctx.input(i);
    ranked = ranked && x.type.has_rank();
    if (ranked) shapes.push_back(*x.type.shape);
    if (!on_dims) continue;
    const auto dims = known_dims(x);
    if (i == 0)
      value = dims;
    else
      value = value && dims ? combine_dims(*value, *dims, on_dims) : std::nullopt;
  }
  out.type = OCTET_TRY(common_type(ctx, 0, ctx.inputs.size() - 1));
  if (ranked) out.shape = OCTET_TRY(broadcast_dims(shapes));
  auto outputs = one(std::move(out));
  if (value && outputs[0].type.has_rank() && outputs[0].type.rank() <= 1) outputs[0].value = value;
  return outputs;
}

Result<std::vector<OutputInfo>>
infer_binary(const InferContext& ctx, TypeSet allowed, DType output, const DimFn& on_dims) {
  OCTET_TRY(check_count(ctx, 2, 2));
  auto outputs = OCTET_TRY(infer_variadic(ctx, allowed, on_dims));
  if (output != DType::kUndefined) outputs[0].type.type = output;
  return outputs;
}

Result<Tensor> map_unary(const Tensor& x, const UnaryFn& f) {
  if (is_float(x.type())) {
    if (!f.real) return no_function(x);
    auto values = OCTET_TRY(x.to_doubles());
    for (double& v : values)
      v = f.real(v);
    return real_tensor(x.type(), x.shape(), values);
  }
  auto values = OCTET_TRY(integer_values(x));
  if (is_signed(x.type())) {
    if (!f.integer) return no_function(x);
    for (int64_t& v : values)
      v = f.integer(v);
  } else {
    if (!f.natural) return no_function(x);
    for (int64_t& v : values)
      v = static_cast<int64_t>(f.natural(static_cast<uint64_t>(v)));
  }
  return integer_tensor(x.type(), x.shape(), values);
}

namespace {

/// The elements of all inputs folded by `f`, in the domain of their type.
template <class T, class F>
std::vector<T> fold(std::vector<std::vector<T>> values,
                    std::span<const Shape> shapes,
                    const Shape& to,
                    const F& f) {
  std::vector<T> out;
  for (size_t k = 0; k < values.size(); ++k) {
    std::vector<T> next = std::move(values[k]);
    if (shapes[k] != to) {
      const auto at = broadcast_index(shapes[k], to);
      std::vector<T> repeated(at.size());
      for (size_t i = 0; i < at.size(); ++i)
        repeated[i] = next[static_cast<size_t>(at[i])];
      next = std::move(repeated);
    }
    if (k == 0) {
      out = std::move(next);
      continue;
    }
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = f(out[i], next[i]);
  }
  return out;
}

Result<Tensor> fold_all(std::span<const Tensor> inputs,
                        const BinaryFn& f,
                        DType output,
                        const std::function<double(double)>& finish) {
  std::vector<Shape> shapes;
  for (const Tensor& t : inputs)
    shapes.push_back(t.shape());
  const Shape to = OCTET_TRY(broadcast_shapes(shapes));
  const DType type = inputs[0].type();
  const DType written = output == DType::kUndefined ? type : output;
  if (is_float(type)) {
    if (!f.real) return no_function(inputs[0]);
    std::vector<std::vector<double>> values;
    for (const Tensor& t : inputs)
      values.push_back(OCTET_TRY(t.to_doubles()));
    auto out = fold<double>(std::move(values), shapes, to, f.real);
    if (finish)
      for (double& v : out)
        v = finish(v);
    if (written == DType::kBool)
      return integer_tensor(written, to, std::vector<int64_t>(out.begin(), out.end()));
    return real_tensor(written, to, out);
  }
  std::vector<std::vector<int64_t>> values;
  for (const Tensor& t : inputs)
    values.push_back(OCTET_TRY(integer_values(t)));
  if (is_signed(type)) {
    if (!f.integer) return no_function(inputs[0]);
    return integer_tensor(written, to, fold<int64_t>(std::move(values), shapes, to, f.integer));
  }
  if (!f.natural) return no_function(inputs[0]);
  const auto natural = [&f](int64_t a, int64_t b) {
    return static_cast<int64_t>(f.natural(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  };
  return integer_tensor(written, to, fold<int64_t>(std::move(values), shapes, to, natural));
}

} // namespace

Result<Tensor> map_binary(const Tensor& x, const Tensor& y, const BinaryFn& f, DType output) {
  return fold_all(std::vector<Tensor>{x, y}, f, output, {});
}

Result<std::vector<Tensor>> eval_unary(InferFn* infer, const EvalContext& ctx, const UnaryFn& f) {
  OCTET_TRY(infer_values(infer, ctx));
  return one(OCTET_TRY(map_unary(ctx.inputs[0], f)));
}

Result<std::vector<Tensor>>
eval_binary(InferFn* infer, const EvalContext& ctx, const BinaryFn& f, DType output) {
  OCTET_TRY(infer_values(infer, ctx));
  return one(OCTET_TRY(fold_all(ctx.inputs, f, output, {})));
}

Result<std::vector<Tensor>> eval_variadic(InferFn* infer,
                                          const EvalContext& ctx,
                                          const BinaryFn& f,
                                          const std::function<double(double)>& finish) {
  OCTET_TRY(infer_values(infer, ctx));
  return one(OCTET_TRY(fold_all(ctx.inputs, f, DType::kUndefined, finish)));
}

} // namespace octet
