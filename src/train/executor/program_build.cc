// SPDX-License-Identifier: Apache-2.0
// Building a program: the needed nodes in order, constants evaluated once, Q/DQ pairs fused, each
// slot with the step after which it is let go of.
#include <algorithm>
#include <map>
#include <set>

#include "core/format.h"
#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "train/convert.h"
#include "train/executor/fusions.h"
#include "train/executor/program.h"
#include "train/executor/qdq_pair.h"
#include "train/executor/reference_step.h"
#include "train/executor/rounded_bias.h"
#include "train/guard.h"
#include "train/ops/table.h"
#include <ATen/core/grad_mode.h>

namespace octet::train {
namespace {

constexpr int64_t kShapeElements = 64;

/// Integer vectors of this size are shapes and axes, which the host reads: they stay on the CPU.
bool is_shape_like(const octet::Tensor& t) {
  return t.type() == DType::kInt64 && t.rank() <= 1 && t.count() <= kShapeElements;
}

/// Types that LibTorch stores but has few kernels for; nothing in them carries a gradient.
bool is_only_stored(DType type) {
  switch (type) {
  case DType::kUint16:
  case DType::kUint32:
  case DType::kUint64:
  case DType::kFloat8E4M3FN:
  case DType::kFloat8E4M3FNUZ:
  case DType::kFloat8E5M2:
  case DType::kFloat8E5M2FNUZ:
  case DType::kFloat8E8M0:
  case DType::kFloat4E2M1:
    return true;
  default:
    return false;
  }
}

} // namespace

class ProgramBuilder {
 public:
  ProgramBuilder(Program& program, const ProgramOptions& options)
      : program_(program), graph_(program.graph_), options_(options), uses_(program.graph_) {}

  Status build() {
    program_.wanted_ = options_.wanted.empty() ? graph_.outputs() : options_.wanted;
    const std::vector<NodeId> order = OCTET_TRY(graph_.topological());
    find_needed(order);
    program_.slots_.resize(static_cast<size_t>(graph_.value_bound()));
    if (options_.fp8) program_.fp8_ = std::make_unique<Fp8Scales>(*options_.fp8, program_.device_);
    OCTET_TRY(guarded([&] { return place_constants(); }));
    fusions_ = find_fusions(graph_, uses_, program_.wanted_);
    for (const auto& [last, fusion] : fusions_)
      fused_.insert(fusion.nodes.begin(), fusion.nodes.end() - 1);
    for (const NodeId id : order)
      if (needed_.contains(id))
        OCTET_TRY_WITH(add(graph_.node(id)),
                       fmt::format("node {}", label(graph_, graph_.node(id))));
    find_releases();
    return ok_status();
  }

 private:
  void find_needed(const std::vector<NodeId>& order) {
    std::set<ValueId> wanted(program_.wanted_.begin(), program_.wanted_.end());
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const Node& node = graph_.node(*it);
      if (std::none_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId v) { return wanted.contains(v); }))
        continue;
      needed_.insert(*it);
      wanted.insert(node.inputs.begin(), node.inputs.end());
      wanted.insert(node.captures.begin(), node.captures.end());
    }
    used_ = std::move(wanted);
  }

  Status place_constants() {
    const std::set<ValueId> parameters(options_.parameters.begin(), options_.parameters.end());
    for (const ValueId id : graph_.constants()) {
      const octet::Tensor& tensor = graph_.value(id).constant;
      if (!used_.contains(id)) continue;
      if (!has_scalar_type(tensor.type()))
        return error(ErrorCode::kUnsupported,
                     "constant \"{}\": LibTorch has no element type for {}; use the "
                     "reference executor",
                     graph_.value(id).name, name(tensor.type()));
      at::Tensor held = to_torch(tensor);
      if (!is_shape_like(tensor)) held = held.to(program_.device_);
      if (parameters.contains(id))
        train(id, held, false);
      else
        program_.slot(id) = held;
    }
    for (const ValueId id : graph_.inputs()) {
      varying_.insert(id);
      data_.insert(id);
    }
    return ok_status();
  }

  Program::Trained& train(ValueId id, const at::Tensor& value, bool is_scale) {
    at::Tensor leaf = value.clone().set_requires_grad(true);
    program_.slot(id) = leaf;
    varying_.insert(id);
    traced_.insert(id);
    program_.trained_.push_back({id, leaf, {}, is_scale});
    return program_.trained_.back();
  }

  Status add(const Node& node) {
    if (fused_.contains(node.id)) return ok_status();
    if (const auto found = fusions_.find(node.id); found != fusions_.end())
      return add_fusion(node, found->second);
    if (const std::optional<QdqPair> pair = find_pair(node)) return add_pair(node, *pair);
    note_statistics(node);
    Program::Step step;
    step.node = node.id;
    for (const ValueId v : node.inputs)
      step.inputs.push_back(v.valid() ? v.index : -1);
    for (const ValueId v : node.outputs)
      step.outputs.push_back(v.valid() && used_.contains(v) ? v.index : -1);
    if (options_.rounds_biases) OCTET_TRY(add_rounding(node, step));
    const bool traced = reads(node, traced_);
    step.apply = OCTET_TRY(guarded([&] { return prepare(node, traced); }));
    if (!step.apply) {
      step.apply = OCTET_TRY(reference_step(graph_, node.id));
      for (const ValueId v : node.captures)
        step.inputs.push_back(v.index);
    }
    return schedule(node, std::move(step));
  }

  /// Puts a bias that the file will hold in steps of its sum into a slot of its own, rounded.
  Status add_rounding(const Node& node, Program::Step& step) {
    const std::optional<SumBias> found = find_sum_bias(graph_, node);
    if (!found) return ok_status();
    const auto scale_of = [&](ValueId real) {
      const auto pair = pair_scales_.find(real);
      return pair != pair_scales_.end() ? pair->second : graph_.producer(real)->inputs[1];
    };
    const Program::RoundedBias bias{found->bias, scale_of(found->x_real), scale_of(found->w_real),
                                    found->factor};
    // What the product reads is held beside the bias, which other nodes may read as it is.
    const ValueId slot{static_cast<int>(program_.slots_.size())};
    program_.slots_.emplace_back();
    if (uses_.count(bias.bias) == 1) program_.rounded_.push_back(bias);
    Program::Step rounding;
    rounding.node = node.id;
    rounding.inputs = {bias.bias.index, bias.x_scale.index, bias.w_scale.index};
    rounding.outputs = {slot.index};
    rounding.apply = [factor = bias.factor](Call& c) {
      c.out(round_to_sum(c.in(0), c.in(1), c.in(2), factor));
    };
    step.inputs[2] = slot.index;
    if (traced_.contains(bias.bias)) traced_.insert(slot);
    return schedule(node, std::move(rounding));
  }

  /// The mapping's Apply, or an empty one for the reference.
  Result<Apply> prepare(const Node& node, bool traced) {
    const TorchOp* op = find_mapping(node.domain, node.op_type);
    if (op == nullptr)
      return error(ErrorCode::kUnsupported, "octet has no operator {} in domain \"{}\"",
                   node.op_type, node.domain);
    Apply apply;
    if (op->prepare != nullptr && !stored_only(node))
      apply = op->prepare({graph_, node, graph_.opset(node.domain)});
    if (apply) {
      for (const ValueId v : node.outputs)
        if (traced && v.valid()) traced_.insert(v);
    } else if (traced) {
      program_.without_gradient_.push_back(label(graph_, node));
    }
    return apply;
  }

  bool stored_only(const Node& node) const {
    const auto stored = [&](ValueId v) {
      return v.valid() && is_only_stored(graph_.value(v).type.type);
    };
    return std::any_of(node.inputs.begin(), node.inputs.end(), stored) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), stored);
  }

  Status add_fusion(const Node& last, const Fusion& fusion) {
    Program::Step step;
    step.node = last.id;
    for (const ValueId v : fusion.inputs)
      step.inputs.push_back(v.index);
    step.outputs = {last.outputs[0].index};
    step.apply = fusion.apply;
    if (std::any_of(fusion.inputs.begin(), fusion.inputs.end(),
                    [&](ValueId v) { return traced_.contains(v); }))
      traced_.insert(last.outputs[0]);
    return schedule(last, std::move(step));
  }

  std::optional<QdqPair> find_pair(const Node& node) {
    if (!node.is("QuantizeLinear")) return std::nullopt;
    const auto wanted = [&](ValueId codes) {
      const std::vector<ValueId>& all = program_.wanted_;
      return std::find(all.begin(), all.end(), codes) != all.end();
    };
    if (wanted(node.output(0))) return std::nullopt;
    std::optional<QdqPair> pair = match_qdq_pair(graph_, uses_, node);
    if (pair && pair->clamp.valid() && wanted(graph_.node(pair->clamp).output(0)))
      return std::nullopt;
    return pair;
  }

  Status add_pair(const Node& node, const QdqPair& pair) {
    const bool is_weight = std::any_of(options_.parameters.begin(), options_.parameters.end(),
                                       [&](ValueId v) { return v == node.inputs[0]; });
    const ActivationScales rule = options_.activation_scales;
    const bool clips = !is_weight && rule == ActivationScales::kClipped && has_clip(node, pair);
    const bool learned = is_weight ? options_.weight_scales == WeightScales::kLearned
                                   : rule == ActivationScales::kLearned || clips;
    auto spec = std::make_shared<FakeQuant>(pair.spec);
    spec->is_weight = is_weight;
    spec->clips = clips;
    spec->place(program_.device_);
    if (learned && !traced_.contains(pair.scale)) {
      Program::Trained& trained = train(pair.scale, program_.slot(pair.scale), true);
      trained.copies = pair.scale_copies;
      trained.is_clip = clips;
    } else if (is_weight && options_.weight_scales == WeightScales::kFollow && pair.symmetric &&
               !pair.shared) {
      program_.followed_.push_back({node.inputs[0], pair.scale, pair.scale_copies, spec});
      varying_.insert(pair.scale);
      program_.slot(pair.scale) = program_.slot(pair.scale).clone(); // the graph's bytes stay
    }
    Program::Step step;
    step.node = node.id;
    step.inputs = {node.inputs[0].index, pair.scale.index};
    if (pair.clamp.valid()) fused_.insert(pair.clamp);
    for (const NodeId dq : pair.dequantizers) {
      fused_.insert(dq);
      step.outputs.push_back(graph_.node(dq).outputs[0].index);
      pair_scales_.emplace(graph_.node(dq).outputs[0], pair.scale);
    }
    const bool starts = learned && !clips;
    step.apply = [spec, starts](Call& c) {
      if (starts && c.run().starts_scales)
        c.in(1).detach().copy_(published_scale(c.in(0), c.in(1), *spec));
      const at::Tensor y = fake_quantize(c.in(0), c.in(1), *spec);
      for (size_t i = 0; c.wants(i); ++i)
        c.out(y, i);
    };
    const bool traced = traced_.contains(node.inputs[0]) || traced_.contains(pair.scale);
    for (const int out : step.outputs)
      if (traced) traced_.insert(ValueId{out});
    return schedule(node, std::move(step));
  }

  /// A Relu's output, or what has no codes below 0, in one range for the tensor.
  bool has_clip(const Node& node, const QdqPair& pair) const {
    const Node* maker = graph_.producer(node.inputs[0]);
    const bool positive = pair.spec.low[0] == 0 || (maker != nullptr && maker->is("Relu"));
    return positive && pair.spec.axis < 0 && pair.spec.high[0] > 0;
  }

  /// Statistics change while training, so what reads them is not constant.
  void note_statistics(const Node& node) {
    const OpDef* op = find_op(node.domain, node.op_type);
    for (size_t i = 0; op != nullptr && i < node.inputs.size(); ++i) {
      const ValueId v = node.inputs[i];
      if (!v.valid() || !graph_.value(v).is_constant()) continue;
      if (op->roles.fn(node, i) != Role::kStatistic || !varying_.insert(v).second) continue;
      program_.statistics_.push_back(v);
      program_.slot(v) = program_.slot(v).clone(); // the graph's bytes stay as they are
    }
  }

  bool reads(const Node& node, const std::set<ValueId>& set) const {
    const auto in = [&](ValueId v) { return set.contains(v); };
    return std::any_of(node.inputs.begin(), node.inputs.end(), in) ||
           std::any_of(node.captures.begin(), node.captures.end(), in);
  }

  /// Runs a step of constants now, or puts it into the schedule.
  Status schedule(const Node& node, Program::Step step) {
    const bool reads_data =
        !is_deterministic(node) || std::any_of(step.inputs.begin(), step.inputs.end(),
                                               [&](int i) { return data_.contains(ValueId{i}); });
    for (const int out : step.outputs)
      if (reads_data) data_.insert(ValueId{out});
    if (program_.fp8_ != nullptr && has_fp8_product(node, step))
      step.fp8 = std::make_shared<const Fp8Layer>(*program_.fp8_);
    const bool varies = !is_deterministic(node) ||
                        std::any_of(step.inputs.begin(), step.inputs.end(),
                                    [&](int i) { return varying_.contains(ValueId{i}); });
    if (varies) {
      for (const int out : step.outputs)
        varying_.insert(ValueId{out});
      program_.steps_.push_back(std::move(step));
      return ok_status();
    }
    return guarded([&]() -> Status {
      const at::NoGradGuard no_gradient;
      const RunState run;
      Call call(program_.slots_, step.inputs, step.outputs, step.node.index, run);
      step.apply(call);
      return ok_status();
    });
  }

  /// A convolution of data with a weight, or a product of data and the matrix of a weight behind
  /// it: of a node, or of the group that ends with it.
  bool has_fp8_product(const Node& node, const Program::Step& step) const {
    const bool product = fusions_.contains(node.id) ? fusions_.at(node.id).is_linear
                                                    : node.is("MatMul") || node.is("Gemm");
    if (!product && !node.is("Conv")) return false;
    const ValueId x{step.inputs[0]}, w{step.inputs[1]};
    const TypeInfo& type = graph_.value(w).type;
    if (!data_.contains(x) || data_.contains(w) || type.type != DType::kFloat32) return false;
    return !product || (type.has_rank() && type.rank() == 2);
  }

  void find_releases() {
    std::set<int> kept;
    for (const ValueId v : program_.wanted_)
      kept.insert(v.index);
    std::set<int> transient;
    for (const ValueId v : graph_.inputs())
      transient.insert(v.index);
    for (const Program::Step& step : program_.steps_)
      for (const int out : step.outputs)
        if (out >= 0) transient.insert(out);
    std::set<int> seen;
    for (auto step = program_.steps_.rbegin(); step != program_.steps_.rend(); ++step)
      for (const std::vector<int>* list : {&step->inputs, &step->outputs})
        for (const int i : *list)
          if (transient.contains(i) && seen.insert(i).second)
            (kept.contains(i) ? step->release_wanted : step->release).push_back(i);
    program_.transient_.assign(transient.begin(), transient.end());
    find_makers();
  }

  void find_makers() {
    std::map<int, Program::Step*> makers;
    for (Program::Step& step : program_.steps_)
      for (const int out : step.outputs)
        if (out >= 0) makers[out] = &step;
    for (size_t i = 0; i < program_.wanted_.size(); ++i) {
      const auto maker = makers.find(program_.wanted_[i].index);
      (maker == makers.end() ? program_.wanted_at_start_ : maker->second->makes).push_back(i);
    }
  }

  Program& program_;
  Graph& graph_;
  const ProgramOptions& options_;
  Uses uses_;
  std::set<NodeId> needed_, fused_; ///< fused: part of another node's step
  std::map<NodeId, Fusion> fusions_;
  std::map<ValueId, ValueId> pair_scales_; ///< by what the DQ of a pair makes
  std::set<ValueId> used_;                 ///< values that a needed node reads, or that are wanted
  std::set<ValueId> data_;                 ///< values that follow from the graph's inputs
  std::set<ValueId> varying_;              ///< values that differ from run to run
  std::set<ValueId> traced_;               ///< values that a gradient may pass through
};

Result<std::unique_ptr<Program>> Program::create(const Graph& graph,
                                                 const ProgramOptions& options) {
  auto program = std::make_unique<Program>();
  program->graph_ = graph;
  OCTET_TRY(absorb_constant_nodes(program->graph_));
  OCTET_TRY(infer_types(program->graph_));
  program->device_ = options.device;
  ProgramBuilder builder(*program, options);
  OCTET_TRY(builder.build());
  return program;
}

} // namespace octet::train
