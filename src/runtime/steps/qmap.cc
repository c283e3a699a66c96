// SPDX-License-Identifier: Apache-2.0
// octet.native QMap: a line for each channel where its program comes to that, else the program.
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/affine_codes.h"
#include "runtime/steps/map.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

// Of channels; more would take long to look for lines.
constexpr int64_t kMostChannels = 16384;

/// Numbers that a constant gives for each of the last axis' `channels`, or one for all.
std::optional<std::vector<float>> per_channel(const PrepareContext& c, size_t i, int64_t channels) {
  const Tensor* t = c.constant(i);
  if (!t || t->type() != DType::kFloat32 || t->rank() > c.type(0).rank()) return std::nullopt;
  if (t->count() != 1 && (t->count() != channels || t->dim(t->rank() - 1) != channels))
    return std::nullopt;
  const auto numbers = t->to_floats();
  return numbers.ok() ? std::optional(*numbers) : std::nullopt;
}

/// The node as lines, where all but input 0 are numbers of its channels.
std::optional<kernels::AffineCodes> affine_of(const PrepareContext& c, const Programmed& made) {
  if (!made.y.coded() || !made.formats[0].coded()) return std::nullopt;
  const TypeInfo& x = c.type(0);
  if (!x.has_rank() || x.rank() == 0 || !x.shape->back().is_constant()) return std::nullopt;
  const int64_t channels = x.shape->back().value();
  if (channels < 1 || channels > kMostChannels) return std::nullopt;
  kernels::ChannelProgram channelled{.program = &made.program,
                                     .x = made.formats[0],
                                     .y = made.y,
                                     .channels = channels,
                                     .others = {}};
  for (size_t i = 1; i < made.inputs.size(); ++i) {
    auto numbers = per_channel(c, i, channels);
    if (!numbers) return std::nullopt;
    channelled.others.push_back(*std::move(numbers));
  }
  return kernels::find_affine(channelled, c.isa);
}

} // namespace

Choice prepare_qmap(const PrepareContext& c) {
  std::vector<DType> types;
  types.reserve(c.node.inputs.size());
  for (size_t i = 0; i < c.node.inputs.size(); ++i)
    types.push_back(c.type(i).type);
  auto attrs = native::parse_qmap(c.node, types);
  if (!attrs.ok()) return Choice::refuse(attrs.error().message());
  Programmed made{
      .program = std::move(attrs->program), .inputs = {}, .formats = {}, .y = format_of(attrs->y)};
  for (size_t i = 0; i < types.size(); ++i) {
    made.inputs.push_back(i);
    made.formats.push_back(format_of(attrs->inputs[i]));
  }
  auto affine = affine_of(c, made);
  if (!affine) return map_step(std::move(made), c.isa);
  auto bind = [affine = std::make_shared<const kernels::AffineCodes>(*std::move(affine)),
               isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([affine, isa, x = in[0].id, y = out[0].id,
                      count = out[0].count()](Slots slots, ParallelFor& parallel) {
      kernels::affine_codes(*affine, at<const void>(slots, x), count, at<void>(slots, y), isa,
                            parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("affine {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime
