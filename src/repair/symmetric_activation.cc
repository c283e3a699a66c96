// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q(s, z, u8 or i8) ─▶ DQ   =>   x ─▶ [Relu or Clip] ─▶ Q(s', 0, i8) ─▶ DQ(s', 0, i8)
// The range [(qmin - z) s, (qmax - z) s] is part of the model: where it cut values that x can have
// and the new one does not, a Relu or Clip before Q does it.
// Exact, s' = s: codes minus z fit int8 (uint8 with zero point 128, or what comes before Q bounds
// the codes). Within one step, s' = s: zero point 127 (the highest code has no place). Else
// s' = largest magnitude / 127, of the old range or of what data shows in it.
// Several scales become one: activations have one scale in TensorRT.
// Source: docs/targets.md 1.1 row 12, 1.4, 6.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "ops/value_range.h"
#include "passes/emit.h"
#include "repair/probe.h"
#include "repair/rules.h"
#include "repair/shift.h"

namespace octet {

namespace {

/// What the old grid, the operators before and the data say of the values.
struct Span {
  double lo, hi;               ///< of the old codes
  Range possible;              ///< of x before Q, by the operators that make it
  double needed_lo, needed_hi; ///< what the new codes must hold
};

Span span_of(const RepairContext& context, ValueId x, const qdq::Grid& grid, CodeRange range) {
  Span out{0, 0, range_of(context.graph, x), 0, 0};
  for (int64_t c = 0; c < grid.count(); ++c) {
    out.lo = std::min(out.lo, (range.lo - grid.zero_at(c)) * grid.scale_at(c));
    out.hi = std::max(out.hi, (range.hi - grid.zero_at(c)) * grid.scale_at(c));
  }
  out.needed_lo = std::max(out.lo, out.possible.lo);
  out.needed_hi = std::min(out.hi, out.possible.hi);
  if (const Range* seen = context.range_of(x)) {
    out.needed_lo = std::max(out.needed_lo, seen->lo);
    out.needed_hi = std::min(out.needed_hi, seen->hi);
  }
  return out;
}

struct Choice {
  double scale;
  Bounds clip;
  Exactness exactness;
  std::optional<double> bound;
  std::string why;
};

/// The code, zero point off, that lies furthest out for `steps` = value / scale: what may round up
/// does.
double outer_code(double steps) {
  return std::copysign(std::floor(std::abs(steps) * (1 + 1e-6) + 0.5), steps);
}

/// The old scale, if codes of int8 hold what is needed (one step beyond the highest is let go).
std::optional<Choice> same_scale(const qdq::Grid& old, const Span& span, bool from_data) {
  if (!old.per_tensor()) return std::nullopt;
  const double s = old.scale_at(0);
  const double low = outer_code(span.needed_lo / s), high = outer_code(span.needed_hi / s);
  if (low < -128 || high > 128) return std::nullopt;
  Choice out{s, {}, Exactness::kExact, 0.0, "codes minus the zero point fit int8"};
  // Where the old codes end inside int8's, and x goes on.
  const double old_low = std::nearbyint(span.lo / s), old_high = std::nearbyint(span.hi / s);
  const bool mirrored = old_low == -127 && old_high == 128; // one step further down instead
  if (old_low > -128 && span.possible.lo < span.lo && !mirrored) out.clip.lo = span.lo;
  if (old_high < 127 && span.possible.hi > span.hi) out.clip.hi = span.hi;
  // What the codes can be on any input; data may have shown less.
  const double lowest = outer_code(std::max(span.lo, span.possible.lo) / s);
  const double highest = outer_code(std::min(span.hi, span.possible.hi) / s);
  const double beyond = std::max(highest - 127, -128 - lowest);
  if (beyond <= 0) return out;
  out.exactness = Exactness::kInexact;
  out.bound = beyond * s;
  out.why = from_data && beyond > 1 ? "codes minus the zero point fit int8 on the data"
                                    : "codes minus the zero point fit int8 but for the highest";
  return out;
}

Choice new_scale(const qdq::Grid& old, const Span& span) {
  const double amax = std::max(-span.needed_lo, span.needed_hi);
  double s = qdq::as_float(amax / 127);
  const std::vector<double> scales = old.scales();
  if (!qdq::is_usable_scale(s)) s = *std::max_element(scales.begin(), scales.end());
  Choice out{s, {}, Exactness::kInexact, 0.0, ""};
  if (span.possible.lo < span.lo && span.lo > -127.5 * s) out.clip.lo = span.lo;
  if (span.possible.hi > span.hi && span.hi < 126.5 * s) out.clip.hi = span.hi;
  const double low = std::max(-128 * s, span.lo), high = std::min(127 * s, span.hi);
  const auto range = *old.code_range();
  double bound = 0;
  for (int64_t c = 0; c < old.count(); ++c) {
    const double old_low = (range.lo - old.zero_at(c)) * old.scale_at(c);
    const double old_high = (range.hi - old.zero_at(c)) * old.scale_at(c);
    // Both round; at the ends one of them may be cut while the other goes on.
    bound = std::max({bound, (s + old.scale_at(c)) / 2, std::abs(old_high - high) + s / 2,
                      std::abs(old_low - low) + s / 2});
  }
  out.bound = bound;
  out.why = fmt::format("requantized with scale {:.6g} (was {:.6g}, {} zero point {})", s,
                        old.scale_at(0), octet::name(old.codes), old.zero_at(0));
  return out;
}

} // namespace

bool fits_int8(const RepairContext& context, ValueId x, const qdq::Grid& grid) {
  const auto range = grid.code_range();
  return range &&
         same_scale(grid, span_of(context, x, grid, *range), context.range_of(x) != nullptr);
}

std::optional<Repair> symmetric_activation(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const ValueId x = node.input(0);
  if (!is_quantize(node) || graph.constant(x) != nullptr) return std::nullopt;
  const auto grid = qdq::grid_of(graph, node);
  const auto range = grid ? grid->code_range() : std::nullopt;
  if (!range || (grid->is_symmetric() && grid->per_tensor())) return std::nullopt;
  const auto readers =
      qdq::dequantizers(graph, context.uses.of(node.output(0)), node.output(0), *grid);
  if (!readers) return std::nullopt;
  const Span span = span_of(context, x, *grid, *range);
  const auto same = same_scale(*grid, span, context.range_of(x) != nullptr);
  const Choice choice = same ? *same : new_scale(*grid, span);
  std::string why = choice.why;
  if (choice.clip.lo || choice.clip.hi)
    why += "; the range that the old codes cut off is put back before Q";
  Patch patch(graph, std::move(why), choice.exactness);
  patch.from(node);
  const std::string name = name_of(graph, node);
  const qdq::Grid better = qdq::Grid::int8(choice.scale, grid->real());
  const ValueId clipped = emit_clip(patch, graph, x, choice.clip, grid->real(), name + "_clip");
  const ValueId codes = qdq::emit_quantize(patch, better, clipped, name);
  for (const Node* reader : *readers) {
    patch.from(*reader);
    patch.replace(reader->output(0),
                  qdq::emit_dequantize(patch, better, codes, name_of(graph, *reader)));
  }
  Repair repair{std::move(patch), choice.bound};
  if (choice.exactness != Exactness::kExact)
    repair.probe = Probe{graph.value(x).name, probe_graph(*grid), probe_graph(better, choice.clip)};
  return repair;
}

} // namespace octet
