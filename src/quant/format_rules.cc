// SPDX-License-Identifier: Apache-2.0
#include "quant/format_rules.h"

#include <algorithm>
#include <limits>

#include "core/format.h"
#include "core/string_util.h"
#include "quant/scheme.h"

namespace octet {

namespace {

enum class FormatSide { kWeights, kActivations };

std::string_view side_name(FormatSide side) {
  return side == FormatSide::kWeights ? "weights" : "activations";
}

/// Whether a target takes a format, apart from the operator set.
bool takes(const Placement& placement, const NumberFormat& format, FormatSide side) {
  if (is_float(format)) return true;
  if (is_byte(format)) return !placement.symmetric_only || format.type == placement.weight.type;
  if (side == FormatSide::kActivations && format.block > 0) return false;
  return std::any_of(
      placement.formats.begin(), placement.formats.end(), [&](const StoredFormat& known) {
        NumberFormat without = format;
        if (known.blocks) without.block = known.format.block;
        return without == known.format && (side == FormatSide::kWeights || known.activations);
      });
}

std::string all_taken(const Placement& placement, FormatSide side) {
  std::vector<std::string> names;
  for (const NumberFormat& format : {NumberFormat{DType::kInt8}, NumberFormat{DType::kUint8}})
    if (takes(placement, format, side)) names.push_back(name(format));
  for (const StoredFormat& known : placement.formats)
    if (first_opset(known.format) <= placement.max_opset &&
        (side == FormatSide::kWeights || known.activations))
      names.push_back(name(known.format));
  return join(names, ", ");
}

Status check_format(const Placement& placement, const NumberFormat& format, FormatSide side) {
  if (side == FormatSide::kActivations && format.block > 0)
    return error(ErrorCode::kUnsupported,
                 "activations in {}: blocks are for weights; activations take one scale",
                 name(format));
  if (!takes(placement, format, side))
    return error(ErrorCode::kUnsupported, "target {} takes no {} in {}; it takes {}",
                 placement.target, side_name(side), name(format), all_taken(placement, side));
  if (!is_float(format) && first_opset(format) > placement.max_opset)
    return error(ErrorCode::kUnsupported,
                 "{} in {} need operator set {}, and target {} reads up to {}; it takes {}",
                 side_name(side), name(format), first_opset(format), placement.target,
                 placement.max_opset, all_taken(placement, side));
  return ok_status();
}

/// Formats of weights and activations, of all layers and of some.
template <class Visit>
Status visit_formats(const QuantizeOptions& options, const Visit& visit) {
  if (options.weights) OCTET_TRY(visit(*options.weights, FormatSide::kWeights));
  if (options.activations) OCTET_TRY(visit(*options.activations, FormatSide::kActivations));
  for (const LayerFormat& layer : options.layers) {
    const std::string where = fmt::format("pattern \"{}\"", layer.pattern);
    if (layer.weights) OCTET_TRY_WITH(visit(*layer.weights, FormatSide::kWeights), where);
    if (layer.activations)
      OCTET_TRY_WITH(visit(*layer.activations, FormatSide::kActivations), where);
  }
  return ok_status();
}

bool has_step(const QuantizeOptions& options, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view step) {
    return std::find(options.steps.begin(), options.steps.end(), step) != options.steps.end();
  });
}

struct AskedFormat {
  NumberFormat format;
  FormatSide side;
};

/// What steps are fitted for: formats that were asked for. Those that a search gives single layers
/// come behind the steps.
std::vector<AskedFormat> asked_formats(const QuantizeOptions& options) {
  std::vector<AskedFormat> out;
  const auto add = [&](const auto& from) {
    if (from.weights && !is_float(*from.weights))
      out.push_back({*from.weights, FormatSide::kWeights});
    if (from.activations && !is_float(*from.activations))
      out.push_back({*from.activations, FormatSide::kActivations});
  };
  add(options);
  for (const LayerFormat& layer : options.layers)
    if (!layer.exact) add(layer);
  return out;
}

Status check_format_steps(const QuantizeOptions& options) {
  if (!has_step(options, {"equalize", "smooth", "outliers"})) return ok_status();
  for (const auto& [format, side] : asked_formats(options))
    if (!is_integer(format.type))
      return error(ErrorCode::kUnsupported,
                   "equalize, smooth and outliers reckon with steps of one size, which {} does not "
                   "have; leave them out, or take an integer format",
                   name(format));
  return ok_status();
}

/// Codes are chosen among few: of 16 bits the nearest are as good.
Status check_chosen_codes(const QuantizeOptions& options) {
  constexpr int kMostChosenBits = 8;
  if (!options.weights || is_float(*options.weights) ||
      bits(options.weights->type) <= kMostChosenBits ||
      !has_step(options, {"reconstruct", "adaround", "gptq"}))
    return ok_status();
  return error(ErrorCode::kUnsupported,
               "reconstruct, adaround and gptq choose codes of at most {} bits, and weights in {} "
               "round as well as they can; leave them out, or take fewer bits",
               kMostChosenBits, name(*options.weights));
}

/// Gradients go through scales in float, and of activations through integers and the two formats of
/// FP8 that training knows.
Status check_learned_formats(const QuantizeOptions& options) {
  if (!has_step(options, {"reconstruct"})) return ok_status();
  for (const auto& [format, side] : asked_formats(options)) {
    const bool trained = is_integer(format.type) || format.type == DType::kFloat8E4M3FN ||
                         format.type == DType::kFloat8E5M2;
    if (format.scale != DType::kFloat32 || (side == FormatSide::kActivations && !trained))
      return error(ErrorCode::kUnsupported,
                   "reconstruct learns through gradients, and {} in {} have none; take adaround or "
                   "gptq, or another format",
                   side_name(side), name(format));
  }
  return ok_status();
}

} // namespace

Status check_formats(const Placement& placement, const QuantizeOptions& options) {
  OCTET_TRY(check_chosen_codes(options));
  OCTET_TRY(check_learned_formats(options));
  OCTET_TRY(check_format_steps(options));
  for (const LayerFormat& layer : options.layers) {
    if (!layer.dynamic) continue;
    if (placement.dynamic == DynamicForm::kNone)
      return error(ErrorCode::kUnsupported,
                   "pattern \"{}\": target {} has no dynamic quantization (targets 1.3)",
                   layer.pattern, placement.target);
    if (options.mode != QuantMode::kStatic)
      return error(
          ErrorCode::kUnsupported,
          "pattern \"{}\": single layers are dynamic in static quantization, not in the {} "
          "mode",
          layer.pattern, octet::name(options.mode));
  }
  return visit_formats(options, [&](const NumberFormat& format, FormatSide side) -> Status {
    OCTET_TRY(check_format(placement, format, side));
    if (side == FormatSide::kActivations && options.mode != QuantMode::kStatic)
      return error(ErrorCode::kUnsupported,
                   "activations in {}: formats of activations are for static quantization, not for "
                   "the {} mode",
                   name(format), octet::name(options.mode));
    return ok_status();
  });
}

Shape scale_shape(const Shape& weight, std::optional<int64_t> axis, int64_t block) {
  if (!axis) return {};
  const auto at = static_cast<size_t>(*axis);
  if (block == 0) return {weight[at]};
  Shape out = weight;
  out[at] = (weight[at] + block - 1) / block;
  return out;
}

std::optional<Range> direct_range(const Scheme& scheme, bool direct) {
  const bool e5m2 = scheme.type == DType::kFloat8E5M2 || scheme.type == DType::kFloat8E5M2FNUZ;
  if (!e5m2 || !direct) return std::nullopt;
  const Codes all = codes(scheme);
  return Range{all.lowest, all.highest};
}

PlanVersions versions_of(const QuantizationPlan& plan) {
  PlanVersions out{0, 0};
  for (const TensorPlan& tensor : plan.tensors) {
    const NumberFormat format = format_of(tensor.scheme, tensor.block);
    out.opset = std::max(out.opset, first_opset(format));
    out.ir_version = std::max(out.ir_version, first_ir_version(format));
  }
  return out;
}

} // namespace octet
