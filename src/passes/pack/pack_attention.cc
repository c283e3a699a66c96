// SPDX-License-Identifier: Apache-2.0
// Masks, and attention, which is what they are for: it becomes attention within segments, once it
// is proved that masked keys count nothing there.
#include <algorithm>
#include <limits>

#include "core/numerics/math.h"
#include "graph/label.h"
#include "ops/native/attention.h"
#include "passes/pack/packer.h"
#include "passes/pack/score_bound.h"
#include "passes/reshape_target.h"

namespace octet::packing {
namespace {

using numerics::MapInstruction;
using numerics::MapOp;
using numerics::MapOperand;
using numerics::Program;

/// Beyond it products of floats are not known to be finite.
constexpr double kLargestScore = 1e38;

double number(const Tensor& one) {
  return one.at(0);
}

std::optional<Interval> bounds_of(const Tensor& constant) {
  auto values = constant.to_doubles();
  if (!values.ok() || values->empty()) return std::nullopt;
  const auto [lo, hi] = std::minmax_element(values->begin(), values->end());
  return Interval{*lo, *hi};
}

bool reads(const Program& program, size_t input) {
  return std::any_of(program.code.begin(), program.code.end(), [&](const MapInstruction& each) {
    const auto used = each.used();
    return std::any_of(used.begin(), used.end(), [&](const MapOperand& operand) {
      return operand.kind == MapOperand::Kind::kInput && operand.index == input;
    });
  });
}

/// Whether the last instruction does no more than add that input to what comes before it, and
/// nothing else reads the input.
bool ends_with_adding(const Program& program, size_t input) {
  Program before = program;
  before.code.pop_back();
  const MapInstruction& last = program.code.back();
  if (last.op != MapOp::kAdd || reads(before, input)) return false;
  const auto is_input = [&](const MapOperand& operand) {
    return operand.kind == MapOperand::Kind::kInput && operand.index == input;
  };
  const bool second = is_input(last.operands[1]);
  if (is_input(last.operands[0]) == second) return false;
  const MapOperand& other = last.operands[second ? 0 : 1];
  if (program.code.size() == 1) return other.kind == MapOperand::Kind::kInput && other.index == 0;
  return other.kind == MapOperand::Kind::kResult &&
         static_cast<size_t>(other.index) + 2 == program.code.size();
}

void drop_input(Program& program, size_t input) {
  --program.inputs;
  for (MapInstruction& each : program.code)
    for (size_t k = 0; k < each.used().size(); ++k)
      if (MapOperand& operand = each.operands[k];
          operand.kind == MapOperand::Kind::kInput && operand.index > input)
        --operand.index;
}

} // namespace

Result<Tensor> Packer::mask_result(const Node& node, Where where) const {
  EvalContext context{
      .node = node, .version = in_.opset(node.domain), .inputs = {}, .run_body = {}, .seed = 0};
  for (const ValueId id : node.inputs) {
    const Form& from = form(id);
    if (from.is(Kind::kMask)) {
      context.inputs.push_back(where == Where::kToken ? from.real : from.padding);
      continue;
    }
    const Tensor* constant = in_.constant(id);
    if (constant == nullptr || constant->count() != 1)
      return refuse(node, "it makes more of the mask than a number for tokens and one for padding");
    context.inputs.push_back(OCTET_TRY(constant->aligned().reshaped({1})));
  }
  const OpDef* op = find_op(node.domain, node.op_type);
  std::vector<Tensor> made =
      OCTET_TRY_WITH(op->eval.fn(context), fmt::format("node {}", label(in_, node)));
  if (made.size() != 1 || made[0].count() != 1)
    return refuse(node, "it makes more of the mask than a number for tokens and one for padding");
  return std::move(made[0]);
}

Result<bool> Packer::pack_mask(const Node& node) {
  if (!any(node, Kind::kMask) || any(node, Kind::kTokens) || any(node, Kind::kSequences))
    return false;
  const ValueId x = node.input(0), y = node.output(0);
  Form made = form(x);
  if (made.is(Kind::kMask) && only_reshapes(node)) {
    if (!type(y).has_rank()) return refuse(node, "the shape that it gives the mask is not known");
    if (made.axis) {
      const auto& dims = *type(y).shape;
      if (std::count(dims.begin(), dims.end(), sequence_length()) != 1)
        return refuse(node, "it makes {} of the mask", type(y).text());
      const auto at = std::find(dims.begin(), dims.end(), sequence_length());
      made.axis = dims.end() - at - 1;
    }
    set(y, std::move(made));
    return true;
  }
  if (made.is(Kind::kMask) && node.is("Expand")) {
    set(y, std::move(made));
    return true;
  }
  if (!all(node, {Kind::kMask, Kind::kFixed}) || !is_elementwise(in_, node))
    return refuse(node, "what it makes of the mask is not known to be padding alone");
  Form out;
  out.kind = Kind::kMask;
  for (const ValueId id : node.inputs) {
    const Form& from = form(id);
    if (!from.is(Kind::kMask) || !from.axis) continue;
    if (out.axis && *out.axis != *from.axis)
      return refuse(node, "it lays masks of queries and keys together");
    out.axis = from.axis;
  }
  out.real = OCTET_TRY(mask_result(node, Where::kToken));
  out.padding = OCTET_TRY(mask_result(node, Where::kPadding));
  set(y, std::move(out));
  return true;
}

/// The axes without that of the batch, which is the first one computed with, as the sequence's is
/// that of rows.
Status Packer::set_perms(const Node& node, Node& made) const {
  constexpr const char* kNames[] = {"q_perm", "k_perm", "v_perm", "y_perm"};
  for (size_t i = 0; i <= kOperands; ++i) {
    const ValueId id = i < kOperands ? node.input(i) : node.output(0);
    if (!type(id).has_rank() || type(id).rank() < 3)
      return refuse(node, "an operand is {}", type(id).text());
    const auto r = type(id).rank();
    const std::vector<int64_t> perm = OCTET_TRY(native::attention_perm(node, i, r));
    const bool is_result = i == kOperands;
    const bool fits = is_result ? perm[0] == 0 && perm[1] == r - 2
                                : perm[0] == 0 && perm[static_cast<size_t>(r) - 2] == 1;
    if (!fits || (!is_result && lead(id) != 2))
      return refuse(node, "{}, {}, does not begin with the axes of batch and length",
                    in_.value(id).name, type(id).text());
    std::vector<int64_t> packed;
    for (auto axis = perm.begin() + 1; axis != perm.end(); ++axis)
      packed.push_back(*axis - 1);
    made.attributes.erase(kNames[i]);
    if (!std::is_sorted(packed.begin(), packed.end())) made.set(kNames[i], std::move(packed));
  }
  return ok_status();
}

/// What the program makes of scores up to `score` in magnitude, masked or not.
std::optional<Interval>
Packer::score_range(const Node& node, const Program& program, Where where, double score) const {
  std::vector<Interval> operands = {{-score, score}};
  for (size_t i = kOperands; i < node.inputs.size(); ++i) {
    const Form& from = form(node.inputs[i]);
    const Tensor* constant = from.is(Kind::kMask)
                                 ? (where == Where::kToken ? &from.real : &from.padding)
                                 : in_.constant(node.inputs[i]);
    const auto known = constant != nullptr ? bounds_of(*constant) : std::nullopt;
    if (!known) return std::nullopt;
    operands.push_back(*known);
  }
  return program_bounds(program, operands);
}

/// Softmax gives what is masked the probability of +0, and then trailing keys change no bit.
Status Packer::check_masked(const Node& node, const Program& program) const {
  std::string why = "what becomes of masked scores is not known";
  std::optional<double> bound = kLargestScore;
  for (const auto effort :
       {std::optional<Effort>(), std::optional(Effort::kQuick), std::optional(Effort::kFull)}) {
    if (effort) bound = score_bound(in_, node, *effort);
    if (!bound) {
      why = "nothing is known of how large its scores are";
      break;
    }
    const auto masked = score_range(node, program, Where::kPadding, *bound),
               seen = score_range(node, program, Where::kToken, *bound);
    if (!masked || !seen) break;
    if (masked->hi - seen->lo <= static_cast<double>(numerics::coefficients::kExpLow))
      return ok_status();
    why = fmt::format("masked scores may be {:g} where others are {:g}, and so count", masked->hi,
                      seen->lo);
  }
  const auto of_none = score_range(node, program, Where::kPadding, 0);
  return refuse(node, "{} (a masked score of 0 becomes {:g}); a mask of {:g} is padding alone", why,
                of_none ? of_none->hi : std::numeric_limits<double>::quiet_NaN(),
                std::numeric_limits<float>::lowest());
}

/// The program and its operands, masks as what they are where tokens are.
Status Packer::add_program(const Node& node, Node& made) {
  auto program = OCTET_TRY(native::attention_program(node, node.inputs.size()));
  const auto r = type(node.input(0)).rank();
  std::vector<size_t> masks;
  for (size_t i = kOperands; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    const TypeInfo& t = type(id);
    const Form& from = form(id);
    if (from.is(Kind::kMask)) {
      if (from.axis &&
          (*from.axis != 0 || !t.has_rank() || t.rank() != r || !((*t.shape)[0] == batch_size())))
        return refuse(node, "its mask is {}; one of keys is [batch, 1, 1, length]", t.text());
      if (from.axis) masks.push_back(i);
      made.inputs.push_back(real_of(id));
      continue;
    }
    const bool repeats =
        from.is(Kind::kFixed) && t.has_rank() &&
        std::all_of(t.shape->end() - std::min<ptrdiff_t>(t.rank(), 2), t.shape->end(),
                    [](const Dim& d) { return d.is_constant() && d.value() == 1; });
    if (!repeats)
      return refuse(node, "\"{}\", {}, changes its scores by more than the place of the head",
                    in_.value(id).name, t.text());
    made.inputs.push_back(OCTET_TRY(beside_tokens(node, id, static_cast<size_t>(r) - 1)));
  }
  if (masks.empty() && is_masked_)
    return refuse(node, "no mask reaches its scores, so that padding counts");
  if (!masks.empty()) OCTET_TRY(check_masked(node, *program));
  // Adding 0 in front of softmax changes nothing.
  for (size_t k = masks.size(); k-- > 0;) {
    const size_t input = masks[k] - kOperands + 1;
    if (!program || number(form(node.inputs[masks[k]]).real) != 0 ||
        !ends_with_adding(*program, input))
      continue;
    program->code.pop_back();
    drop_input(*program, input);
    made.inputs.erase(made.inputs.begin() + static_cast<ptrdiff_t>(masks[k]));
    if (program->code.empty()) program.reset();
  }
  made.attributes.erase("program");
  if (program) made.set("program", numerics::program_text(*program));
  if (!program) made.attributes.erase("constants");
  return ok_status();
}

Result<bool> Packer::pack_attention(const Node& node) {
  if (!is_attention(node)) return false;
  for (size_t i = 0; i < kOperands; ++i)
    if (!form(node.input(i)).is(Kind::kTokens))
      return refuse(node, "it does not attend to tokens of the same sequences");
  Node made = node;
  made.inputs.clear();
  for (size_t i = 0; i < kOperands; ++i)
    made.inputs.push_back(form(node.input(i)).id);
  OCTET_TRY(set_perms(node, made));
  OCTET_TRY(add_program(node, made));
  made.inputs.push_back(offsets_);
  made.set("segments", int64_t{1});
  place_tokens(node, std::move(made), rank(node.output(0)) - 2);
  return true;
}

} // namespace octet::packing
