// SPDX-License-Identifier: Apache-2.0
// The names of rules, as plans write them.
#include <array>
#include <utility>

#include "core/format.h"

#include "octet/quantize.h"

namespace octet {

namespace {

constexpr std::array<std::pair<Placed, std::string_view>, 25> kNames = {{
    {Placed::kProduct, "product"},
    {Placed::kProductOfActivations, "product-of-activations"},
    {Placed::kAround, "around"},
    {Placed::kResidual, "residual"},
    {Placed::kMoves, "moves"},
    {Placed::kAbsorbed, "absorbed"},
    {Placed::kEmbedding, "embedding"},
    {Placed::kDynamic, "dynamic"},
    {Placed::kWeightOnly, "weight-only"},
    {Placed::kExcluded, "excluded"},
    {Placed::kNotIncluded, "not-included"},
    {Placed::kInCodes, "in-codes"},
    {Placed::kBodies, "bodies"},
    {Placed::kNoRule, "no-rule"},
    {Placed::kFloat, "float"},
    {Placed::kCommutes, "commutes"},
    {Placed::kNotF32, "not-f32"},
    {Placed::kSoftmax, "softmax"},
    {Placed::kNoProduct, "no-product"},
    {Placed::kNoWeights, "no-weights"},
    {Placed::kWeightNotF32, "weight-not-f32"},
    {Placed::kWeightNotConstant, "weight-not-constant"},
    {Placed::kConstantInput, "constant-input"},
    {Placed::kOverflow, "overflow"},
    {Placed::kCostsAccuracy, "costs-accuracy"},
}};

} // namespace

std::string_view name(Placed rule) {
  for (const auto& [known, text] : kNames)
    if (known == rule) return text;
  return {};
}

Result<Placed> parse_placed(std::string_view text) {
  std::string all;
  for (const auto& [rule, known] : kNames) {
    if (known == text) return rule;
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  return error("unknown rule \"{}\"; there are {}", text, all);
}

} // namespace octet
