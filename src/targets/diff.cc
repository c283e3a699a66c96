// SPDX-License-Identifier: Apache-2.0
// What an explanation adds up to, and what changed from one to another.
#include <map>

#include "core/format.h"

#include "octet/target.h"

namespace octet {

std::string_view name(LayerPrecision precision, DType type) {
  switch (precision) {
  case LayerPrecision::kFloat:
    return "float";
  case LayerPrecision::kTyped:
    return type == DType::kFloat32    ? "fp32"
           : type == DType::kFloat16  ? "fp16"
           : type == DType::kBfloat16 ? "bf16"
                                      : name(type);
  case LayerPrecision::kInt8:
    return "int8";
  case LayerPrecision::kFp8:
    return "fp8";
  case LayerPrecision::kFp4:
    return "fp4";
  case LayerPrecision::kCodes:
    return "codes";
  case LayerPrecision::kFused:
    return "fused";
  case LayerPrecision::kRefused:
    return "refused";
  }
  return {};
}

double share_in(const std::vector<LayerForm>& layers, LayerPrecision precision) {
  double all = 0, part = 0;
  for (const LayerForm& layer : layers) {
    all += static_cast<double>(layer.work);
    if (layer.precision == precision) part += static_cast<double>(layer.work - layer.float_work);
    if (precision == LayerPrecision::kFloat) part += static_cast<double>(layer.float_work);
  }
  return all > 0 ? part / all : 0;
}

std::vector<LayerChange> diff(const std::vector<LayerForm>& before,
                              const std::vector<LayerForm>& after) {
  const auto runs_as = [](const LayerForm& l) {
    return fmt::format("{} ({}{})", l.form, l.precision_name(),
                       l.fusion.empty() ? "" : ", with " + l.fusion);
  };
  std::map<std::string_view, const LayerForm*> old;
  for (const LayerForm& layer : before)
    old.emplace(layer.node, &layer);
  std::vector<LayerChange> out;
  for (const LayerForm& layer : after) {
    const auto found = old.find(layer.node);
    const std::string was = found == old.end() ? "" : runs_as(*found->second);
    if (found != old.end()) old.erase(found);
    if (was != runs_as(layer))
      out.push_back({layer.node, layer.op, was, runs_as(layer), layer.why});
  }
  for (const LayerForm& layer : before)
    if (const auto left = old.find(layer.node); left != old.end() && left->second == &layer)
      out.push_back({layer.node, layer.op, runs_as(layer), "", ""});
  return out;
}

} // namespace octet
