// SPDX-License-Identifier: Apache-2.0
//   RotaryEmbedding(x, places, cos, sin) of com.microsoft, RotaryEmbedding(x, cos, sin, places)
//        =>    a, b = halves of x, or its even and odd elements
//              a cos - b sin, a sin + b cos, put together as they were, with what is not turned
// where cos and sin are the rows of the caches at the places. Rounding. Wanted: known sizes of
// heads.
#include "passes/standardize/standard_operators.h"

namespace octet {

namespace {

/// What both operators say in their ways.
struct Rotary {
  ValueId x, cos, sin, places; ///< places: [B, S], [1], or invalid: cos and sin are rows already
  bool offset = false;         ///< places hold the first one alone
  int64_t heads = 0;           ///< 0: x has an axis of heads
  int64_t columns = 0;         ///< of x
  int64_t size = 0, rotary = 0;
  bool interleaved = false;
};

class RotaryDecomposition {
 public:
  RotaryDecomposition(const Graph& g, const Node& node, const Rotary& r)
      : g_(g), node_(node), r_(r),
        patch_(g, "RotaryEmbedding is products and movement", Exactness::kRounding) {
    patch_.from(node);
  }

  Patch run() {
    ValueId x = r_.x;
    if (r_.heads > 0)
      x = patch_.emit("Reshape",
                      {x, emit_ints(patch_, name("heads_shape"), {0, 0, r_.heads, r_.size})}, {},
                      name("heads"));
    ValueId places = r_.places;
    if (r_.offset) {
      const ValueId steps = emit_size(patch_, name("steps"), r_.x, r_.heads > 0 ? 1 : 2);
      places = patch_.emit("Add", {places, emit_count(patch_, name("count"), steps)}, {},
                           name("places"));
    }
    const ValueId cos = rows(r_.cos, places, "cos"), sin = rows(r_.sin, places, "sin");
    const int64_t half = r_.rotary / 2;
    const bool apart = r_.interleaved;
    const ValueId a = apart ? slice(x, "first", 0, r_.rotary, 2) : slice(x, "first", 0, half, 1);
    const ValueId b =
        apart ? slice(x, "second", 1, r_.rotary, 2) : slice(x, "second", half, r_.rotary, 1);
    const ValueId real = node(
        "Sub", {node("Mul", {a, cos}, "first_cos"), node("Mul", {b, sin}, "second_sin")}, "real");
    const ValueId imaginary =
        node("Add", {node("Mul", {a, sin}, "first_sin"), node("Mul", {b, cos}, "second_cos")},
             "imaginary");
    const std::string last = r_.heads > 0 ? name("turned") : node_.name;
    std::vector<ValueId> parts = {real, imaginary};
    const bool rest = r_.rotary < r_.size;
    if (apart) parts = {woven(real, imaginary, rest ? name("woven") : last)};
    if (rest) parts.push_back(slice(x, "rest", r_.rotary, r_.size, 1));
    ValueId y = parts.size() == 1 ? parts[0] : concat(std::move(parts), last);
    if (r_.heads > 0)
      y = patch_.emit("Reshape", {y, emit_ints(patch_, name("shape"), {0, 0, r_.columns})}, {},
                      node_.name);
    patch_.replace(node_.output(0), y);
    return std::move(patch_);
  }

 private:
  std::string name(const char* part) const { return node_.name + "/" + part; }
  ValueId node(const char* op, std::vector<ValueId> inputs, const char* part) {
    return patch_.emit(op, std::move(inputs), {}, name(part));
  }
  ValueId concat(std::vector<ValueId> parts, const std::string& as) {
    Attributes axis;
    axis["axis"].value = int64_t{-1};
    return patch_.emit("Concat", std::move(parts), std::move(axis), as);
  }
  /// Elements `begin` to `end` of the last axis.
  ValueId slice(ValueId x, const char* part, int64_t begin, int64_t end, int64_t step) {
    const std::string base = name(part);
    return patch_.emit(
        "Slice",
        {x, emit_ints(patch_, base + "/begin", {begin}), emit_ints(patch_, base + "/end", {end}),
         emit_ints(patch_, base + "/axis", {3}), emit_ints(patch_, base + "/step", {step})},
        {}, base);
  }
  /// Rows of a cache where x has its steps, to be broadcast over the heads.
  ValueId rows(ValueId cache, ValueId places, const char* part) {
    const std::string base = name(part);
    ValueId out = cache;
    if (places.valid()) out = patch_.emit("Gather", {cache, places}, {}, base + "_rows");
    if (r_.offset && r_.heads == 0) return out; // [S, R / 2] at [B, H, S, ..]
    return emit_unsqueeze(patch_, g_, base, out, r_.offset ? 1 : r_.heads > 0 ? 2 : 1);
  }
  /// An element of each in turn.
  ValueId woven(ValueId a, ValueId b, const std::string& as) {
    const int64_t half = r_.rotary / 2;
    const auto column = [&](ValueId x, const char* part) {
      const ValueId shape = emit_ints(patch_, name(part) + "_shape", {0, 0, 0, half, 1});
      return patch_.emit("Reshape", {x, shape}, {}, name(part));
    };
    const ValueId pairs =
        concat({column(a, "real_column"), column(b, "imaginary_column")}, name("pairs"));
    return patch_.emit(
        "Reshape", {pairs, emit_ints(patch_, name("woven_shape"), {0, 0, 0, r_.rotary})}, {}, as);
  }

  const Graph& g_;
  const Node& node_;
  Rotary r_;
  Patch patch_;
};

/// Sizes of heads from what is known; nothing where they do not follow.
std::optional<Rotary> sized(const Graph& g, const Node& node, Rotary r, int64_t pairs) {
  const TypeInfo& x = g.value(r.x).type;
  if (!x.has_rank() || (x.rank() != 3 && x.rank() != 4) || !is_float(x.type)) return std::nullopt;
  const Dim& last = x.shape->back();
  if (!last.is_constant() || last.value() < 1) return std::nullopt;
  r.columns = r.size = last.value();
  if (x.rank() == 3) {
    r.heads = node.attr_int("num_heads", 0);
    if (r.heads == 0 && pairs > 0) r.heads = r.columns / (2 * pairs);
    if (r.heads < 1 || r.columns % r.heads != 0) return std::nullopt;
    r.size = r.columns / r.heads;
  }
  r.interleaved = node.attr_int("interleaved", 0) != 0;
  r.rotary = node.attr_int("rotary_embedding_dim", 0);
  if (r.rotary == 0) r.rotary = r.size;
  const bool fits = r.rotary >= 2 && r.rotary % 2 == 0 && r.rotary <= r.size &&
                    (pairs == 0 || 2 * pairs == r.rotary);
  return fits ? std::optional(r) : std::nullopt;
}

/// The last size of a cache; 0: not known.
int64_t cache_columns(const Graph& g, ValueId cache) {
  const TypeInfo& type = g.value(cache).type;
  return type.has_rank() && type.rank() > 0 ? type.shape->back().maybe_value().value_or(0) : 0;
}

} // namespace

std::optional<Patch> decompose_rotary_embedding(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("RotaryEmbedding", kMicrosoft) || g.opset() < 11 ||
      node.attr_int("is_packed_batching", 0) != 0)
    return std::nullopt;
  for (size_t i = 0; i < 4; ++i)
    if (!node.input(i).valid()) return std::nullopt;
  const TypeInfo& places = g.value(node.input(1)).type;
  if (!places.has_rank() || places.rank() < 1 || places.rank() > 2) return std::nullopt;
  Rotary r;
  r.x = node.input(0);
  r.places = node.input(1);
  r.offset = places.rank() == 1;
  r.cos = node.input(2);
  r.sin = node.input(3);
  const auto known = sized(g, node, r, cache_columns(g, r.cos));
  return known ? std::optional(RotaryDecomposition(g, node, *known).run()) : std::nullopt;
}

std::optional<Patch> decompose_standard_rotary_embedding(const RuleContext& context,
                                                         const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("RotaryEmbedding")) return std::nullopt;
  Rotary r;
  r.x = node.input(0);
  r.cos = node.input(1);
  r.sin = node.input(2);
  r.places = node.input(3);
  const auto known = sized(g, node, r, cache_columns(g, r.cos));
  return known ? std::optional(RotaryDecomposition(g, node, *known).run()) : std::nullopt;
}

} // namespace octet
