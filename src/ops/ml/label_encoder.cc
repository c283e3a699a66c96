// SPDX-License-Identifier: Apache-2.0
// LabelEncoder (ai.onnx.ml 1, 2, 4). Each element of x becomes the value of its key, or the
// default. Version 1: strings to their places in classes_strings, or places to strings. Later:
// keys_* and values_* of strings, int64s or floats, in version 4 also tensors. A NaN is the key
// NaN. Of a key that stands twice the last value counts in version 4, before the first one.
#include <bit>
#include <map>
#include <variant>

#include "core/format.h"
#include "ops/ml/scores.h"
#include "ops/shared/elementwise.h"

namespace octet::ml::op_LabelEncoder {
namespace {

/// A key or a value: numbers as int64 or double.
using Item = std::variant<int64_t, double, std::string>;
/// NaN is equal to itself, and zero to its negative.
struct Less {
  static Item keyed(const Item& item) {
    const double* real = std::get_if<double>(&item);
    if (real == nullptr) return item;
    if (*real != *real) return std::string("nan");
    return *real == 0 ? Item(0.0) : item;
  }
  bool operator()(const Item& a, const Item& b) const { return keyed(a) < keyed(b); }
};

struct Side {
  DType type = DType::kUndefined;
  std::vector<Item> items;
};

Result<std::vector<Item>> items_of(const Tensor& t) {
  std::vector<Item> out;
  if (t.type() == DType::kString) {
    const auto& all = t.string_values();
    out.assign(all.begin(), all.end());
  } else if (is_float(t.type())) {
    const auto all = OCTET_TRY(t.to_doubles());
    out.assign(all.begin(), all.end());
  } else {
    const auto all = OCTET_TRY(integer_values(t));
    out.assign(all.begin(), all.end());
  }
  return out;
}

/// keys_* or values_*.
Result<Side> side_of(const Node& node, const std::string& which) {
  Side out;
  const auto take = [&](const char* kind, DType type, const auto& list) {
    if (!node.has_attr(which + kind)) return;
    out.type = out.type == DType::kUndefined ? type : DType::kComplex64; // two of them
    for (const auto& item : list)
      out.items.emplace_back(item);
  };
  take("_strings", DType::kString, strings_of(node, which + "_strings"));
  take("_int64s", DType::kInt64, node.attr_ints(which + "_int64s"));
  const auto floats = node.attr_floats(which + "_floats");
  take("_floats", DType::kFloat32, std::vector<double>(floats.begin(), floats.end()));
  if (const Attribute* a = node.attr(which + "_tensor"))
    if (const auto* t = std::get_if<Tensor>(&a->value))
      take("_tensor", t->type(), OCTET_TRY(items_of(*t)));
  const TypeSet allowed = kFeatureTypes | TypeSet{DType::kString, DType::kInt16};
  if (out.type == DType::kUndefined || !allowed.has(out.type))
    return error("give one of {0}_strings, {0}_int64s, {0}_floats and {0}_tensor", which);
  return out;
}

Result<Item> default_of(const Node& node, DType type) {
  if (const Attribute* a = node.attr("default_tensor"))
    if (const auto* t = std::get_if<Tensor>(&a->value)) {
      const auto items = OCTET_TRY(items_of(*t));
      if (t->type() != type || items.size() != 1)
        return error("default_tensor is {}{}; give one {}", name(t->type()), to_string(t->shape()),
                     name(type));
      return items[0];
    }
  if (type == DType::kString) return Item(node.attr_string("default_string", "_Unused"));
  if (is_float(type)) return Item(static_cast<double>(node.attr_float("default_float", -0.0F)));
  return Item(node.attr_int("default_int64", -1));
}

struct Coder {
  DType from = DType::kUndefined, to = DType::kUndefined;
  std::map<Item, Item, Less> table;
  Item otherwise;
};

/// Version 1, whose direction follows from the type of x.
Result<Coder> parse_classes(const Node& node, DType x) {
  const auto classes = strings_of(node, "classes_strings");
  Coder out;
  const bool text = x == DType::kString;
  out.from = text ? DType::kString : DType::kInt64;
  out.to = text ? DType::kInt64 : DType::kString;
  for (size_t i = 0; i < classes.size(); ++i) {
    const Item place(static_cast<int64_t>(i)), word(classes[i]);
    out.table.emplace(text ? word : place, text ? place : word);
  }
  out.otherwise = OCTET_TRY(default_of(node, out.to));
  return out;
}

Result<Coder> parse(const Node& node, int64_t version, DType x) {
  if (version < 2) return parse_classes(node, x);
  const Side keys = OCTET_TRY(side_of(node, "keys")), values = OCTET_TRY(side_of(node, "values"));
  if (keys.items.size() != values.items.size())
    return error("{} keys and {} values; give one for each", keys.items.size(),
                 values.items.size());
  Coder out{keys.type, values.type, {}, OCTET_TRY(default_of(node, values.type))};
  for (size_t i = 0; i < keys.items.size(); ++i) {
    if (version >= 4)
      out.table.insert_or_assign(keys.items[i], values.items[i]);
    else
      out.table.emplace(keys.items[i], values.items[i]);
  }
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kFeatureTypes | TypeSet{DType::kString, DType::kInt16}));
  TypeInfo y = ctx.input(0).type;
  if (y.type == DType::kUndefined) return one(y);
  const Coder coder = OCTET_TRY(parse(ctx.node, ctx.version, y.type));
  if (y.type != coder.from)
    return error("x is {} and the keys are {}; make them equal", name(y.type), name(coder.from));
  y.type = coder.to;
  return one(y);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const Coder coder = OCTET_TRY(parse(ctx.node, ctx.version, x.type()));
  std::vector<std::string> words;
  std::vector<int64_t> whole;
  std::vector<double> reals;
  for (const Item& item : OCTET_TRY(items_of(x))) {
    const auto found = coder.table.find(item);
    const Item& value = found == coder.table.end() ? coder.otherwise : found->second;
    if (const auto* word = std::get_if<std::string>(&value)) words.push_back(*word);
    if (const auto* number = std::get_if<int64_t>(&value)) whole.push_back(*number);
    if (const auto* real = std::get_if<double>(&value)) reals.push_back(*real);
  }
  if (coder.to == DType::kString) return one(OCTET_TRY(Tensor::strings(shape, std::move(words))));
  if (is_float(coder.to)) return one(OCTET_TRY(rounded(coder.to, shape, reals)));
  return one(OCTET_TRY(integer_tensor(coder.to, shape, whole)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ml::op_LabelEncoder
