// SPDX-License-Identifier: Apache-2.0
// An operator without a kernel runs by its eval, on copies of its operands.
#include <cstring>

#include "core/format.h"
#include "ops/op.h"
#include "ops/shared/seed.h"
#include "runtime/step.h"

namespace octet::runtime {
namespace {

class ReferenceStep final : public Step {
 public:
  ReferenceStep(const Node& node,
                int64_t version,
                uint64_t seed,
                std::span<const Operand> in,
                std::span<const Operand> out)
      : node_(node), version_(version), seed_(seed), op_(find_op(node.domain, node.op_type)),
        in_(in.begin(), in.end()), out_(out.begin(), out.end()) {}

  Result<StepEnd> run(Slots slots, std::byte*, ParallelFor&) const override {
    EvalContext context{
        .node = node_, .version = version_, .inputs = {}, .run_body = {}, .seed = seed_};
    for (const Operand& o : in_) {
      if (!o.present()) {
        context.inputs.emplace_back();
        continue;
      }
      Tensor t = OCTET_TRY(Tensor::zeros(o.type, o.shape));
      const auto to = t.mutable_bytes();
      if (!to.empty()) std::memcpy(to.data(), slots[static_cast<size_t>(o.id)], to.size());
      context.inputs.push_back(std::move(t));
    }
    const std::vector<Tensor> results = OCTET_TRY(op_->eval.fn(context));
    for (size_t k = 0; k < out_.size(); ++k) {
      if (!out_[k].present()) continue;
      if (k >= results.size() || results[k].type() != out_[k].type ||
          results[k].shape() != out_[k].shape)
        return StepEnd::kOtherShape;
      const auto from = results[k].bytes();
      if (!from.empty())
        std::memcpy(slots[static_cast<size_t>(out_[k].id)], from.data(), from.size());
    }
    return StepEnd::kDone;
  }

 private:
  Node node_;
  int64_t version_;
  uint64_t seed_;
  const OpDef* op_;
  std::vector<Operand> in_, out_;
};

class ReferencePrepared final : public Prepared {
 public:
  ReferencePrepared(const Node& node, int64_t version, uint64_t seed)
      : node_(node), version_(version), seed_(seed) {}
  Result<std::unique_ptr<Step>> bind(std::span<const Operand> in,
                                     std::span<const Operand> out) const override {
    if (!node_.captures.empty())
      return error(ErrorCode::kUnsupported,
                   "bodies run in the reference executor only; run the model there");
    for (const Operand& o : in)
      if (o.type == DType::kString)
        return error(ErrorCode::kUnsupported, "strings run in the reference executor only");
    return std::unique_ptr<Step>(std::make_unique<ReferenceStep>(node_, version_, seed_, in, out));
  }

 private:
  Node node_;
  int64_t version_;
  uint64_t seed_;
};

} // namespace

std::unique_ptr<Prepared> prepare_reference(const PrepareContext& context) {
  return std::make_unique<ReferencePrepared>(context.node, context.graph.opset(context.node.domain),
                                             random_seed(context.graph, context.node));
}

} // namespace octet::runtime
