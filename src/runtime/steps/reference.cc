// SPDX-License-Identifier: Apache-2.0
// An operator without a kernel runs by its eval, which looks at its operands where they lie; the
// bodies of If, Loop and Scan run by kernels.
#include <algorithm>
#include <cstring>

#include "core/format.h"
#include "core/spare_buffers.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "ops/op.h"
#include "ops/shared/seed.h"
#include "runtime/body_run.h"
#include "runtime/slot.h"
#include "runtime/step.h"

namespace octet::runtime {
namespace {

struct ReferenceNode {
  Node node;
  int64_t version;
  uint64_t seed;
  const OpDef* op;
  std::vector<PreparedBody> bodies;
};

class ReferenceEvaluation final : public Evaluation {
 public:
  explicit ReferenceEvaluation(std::shared_ptr<const ReferenceNode> of) : of_(std::move(of)) {
    for (const PreparedBody& body : of_->bodies)
      bodies_.emplace_back(body);
  }

  Result<std::vector<Tensor>> operator()(std::vector<Tensor> inputs,
                                         std::span<const Tensor> captures,
                                         ParallelFor& parallel) override {
    EvalContext context{.node = of_->node,
                        .version = of_->version,
                        .inputs = std::move(inputs),
                        .run_body = {},
                        .seed = of_->seed};
    // Of this call alone, so that no memory is kept between runs.
    std::vector<std::vector<SpareBuffers>> spare(bodies_.size());
    context.run_body = [&](const Graph& body, std::span<const Tensor> in) {
      return run(body, in, captures, spare, parallel);
    };
    return of_->op->eval.fn(context);
  }

  std::vector<PlannedNode> inside() const override {
    std::vector<PlannedNode> out;
    for (const BodyRun& body : bodies_) {
      const std::vector<PlannedNode> nodes = body.planned();
      out.insert(out.end(), nodes.begin(), nodes.end());
    }
    return out;
  }

 private:
  /// Copies: an operator that runs its body again reads what came out before. `spare`: memory for
  /// them, by body and output.
  Result<std::vector<Tensor>> run(const Graph& body,
                                  std::span<const Tensor> inputs,
                                  std::span<const Tensor> captures,
                                  std::vector<std::vector<SpareBuffers>>& spare,
                                  ParallelFor& parallel) {
    const auto found = std::find_if(bodies_.begin(), bodies_.end(),
                                    [&](const BodyRun& b) { return b.source() == &body; });
    if (found == bodies_.end()) return error(ErrorCode::kInternal, "a body that is not the node's");
    const std::span<const Tensor> results = OCTET_TRY((*found)(inputs, captures, parallel));
    auto& buffers = spare[static_cast<size_t>(found - bodies_.begin())];
    buffers.resize(results.size());
    std::vector<Tensor> out;
    out.reserve(results.size());
    for (size_t k = 0; k < results.size(); ++k)
      out.push_back(OCTET_TRY(copy_of(results[k], buffers[k])));
    return out;
  }

  static Result<Tensor> copy_of(const Tensor& t, SpareBuffers& spare) {
    if (t.empty() || t.type() == DType::kString) return t.clone();
    const auto from = t.bytes();
    std::shared_ptr<Buffer> buffer = spare.get(from.size());
    if (!buffer) return error("no memory for the {} bytes of a result of a body", from.size());
    if (!from.empty()) std::memcpy(buffer->writable(), from.data(), from.size());
    return Tensor::view(t.type(), t.shape(), std::move(buffer), 0);
  }

  std::shared_ptr<const ReferenceNode> of_;
  std::vector<BodyRun> bodies_;
};

class ReferenceStep final : public Step {
 public:
  ReferenceStep(const std::shared_ptr<const ReferenceNode>& of,
                std::span<const Operand> in,
                std::span<const Operand> out)
      : ReferenceStep(std::make_shared<ReferenceEvaluation>(of), of->node.inputs.size(), in, out) {}

  /// With the plans that its bodies have.
  std::unique_ptr<Step> again(std::span<const Operand> in,
                              std::span<const Operand> out) const override {
    return std::unique_ptr<Step>(new ReferenceStep(evaluation_, inputs_.size(), in, out));
  }

  std::vector<PlannedNode> inside() const override { return evaluation_->inside(); }

  Result<StepEnd> run(Slots slots, std::byte*, ParallelFor& parallel) const override {
    const std::vector<Tensor> captures = OCTET_TRY(view(captures_, slots));
    const std::vector<Tensor> results =
        OCTET_TRY((*evaluation_)(OCTET_TRY(view(inputs_, slots)), captures, parallel));
    for (size_t k = 0; k < out_.size(); ++k) {
      if (!out_[k].present()) continue;
      if (k >= results.size() || results[k].type() != out_[k].type ||
          results[k].shape() != out_[k].shape)
        return StepEnd::kOtherShape;
      std::byte* slot = slots[static_cast<size_t>(out_[k].id)];
      if (out_[k].type == DType::kString) {
        string_at(slot) = results[k];
        continue;
      }
      const auto from = results[k].bytes();
      if (!from.empty()) std::memcpy(slot, from.data(), from.size());
    }
    return StepEnd::kDone;
  }

 private:
  ReferenceStep(std::shared_ptr<ReferenceEvaluation> evaluation,
                size_t inputs,
                std::span<const Operand> in,
                std::span<const Operand> out)
      : evaluation_(std::move(evaluation)),
        inputs_(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(inputs)),
        captures_(in.begin() + static_cast<std::ptrdiff_t>(inputs), in.end()),
        out_(out.begin(), out.end()) {}

  static Result<std::vector<Tensor>> view(const std::vector<Operand>& operands, Slots slots) {
    std::vector<Tensor> out;
    out.reserve(operands.size());
    for (const Operand& o : operands)
      out.push_back(o.present() ? OCTET_TRY(tensor_at(o, slots)) : Tensor{});
    return out;
  }

  std::shared_ptr<ReferenceEvaluation> evaluation_;
  std::vector<Operand> inputs_, captures_, out_;
};

class ReferencePrepared final : public Prepared {
 public:
  explicit ReferencePrepared(std::shared_ptr<const ReferenceNode> of) : of_(std::move(of)) {}
  Result<std::unique_ptr<Step>> bind(std::span<const Operand> in,
                                     std::span<const Operand> out) const override {
    return std::unique_ptr<Step>(std::make_unique<ReferenceStep>(of_, in, out));
  }
  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<ReferenceEvaluation>(of_);
  }

 private:
  std::shared_ptr<const ReferenceNode> of_;
};

} // namespace

Choice prepare_reference(const PrepareContext& context) {
  const Node& node = context.node;
  auto of = std::make_shared<ReferenceNode>();
  of->node = node;
  of->version = context.graph.opset(node.domain);
  of->seed = random_seed(context.graph, node);
  of->op = find_op(node.domain, node.op_type);
  if (!of->op) return Choice::refuse("octet cannot run this operator");
  if (has_bodies(node)) of->bodies = prepare_bodies(context, of->node);
  Choice choice;
  for (const PreparedBody& body : of->bodies) {
    if (!body.prepared.ok()) continue;
    for (const PlannedNode& inside : (*body.prepared)->planned)
      choice.inside.push_back(
          {body.key + ": " + inside.node, inside.kernel, inside.why, inside.origin});
  }
  choice.name = of->bodies.empty() ? "reference" : "bodies";
  choice.prepared = std::make_unique<ReferencePrepared>(std::move(of));
  choice.by_reference = true;
  return choice;
}

std::unique_ptr<Evaluation>
evaluation_of(const PreparedGraph& prepared, const Graph& shaped, const Node& node) {
  const auto index = static_cast<size_t>(node.id.index);
  if (prepared.by_reference[index]) return prepared.nodes[index]->evaluation();
  return prepare_reference({shaped, node, prepared.isa, {}, prepared.store}).prepared->evaluation();
}

} // namespace octet::runtime
