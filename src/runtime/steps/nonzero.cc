// SPDX-License-Identifier: Apache-2.0
// NonZero, whose output is as large as data says: it is evaluated, as by the reference, and what
// reads it is bound then.
#include "runtime/kernels/nonzero.h"

#include <numeric>

#include "core/format.h"
#include "core/spare_buffers.h"
#include "runtime/slot.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

bool may_be_zero(DType type) {
  switch (type) {
  case DType::kBool:
  case DType::kInt8:
  case DType::kUint8:
  case DType::kInt16:
  case DType::kUint16:
  case DType::kInt32:
  case DType::kUint32:
  case DType::kInt64:
  case DType::kUint64:
  case DType::kFloat16:
  case DType::kBfloat16:
  case DType::kFloat32:
  case DType::kFloat64:
    return true;
  default:
    return false;
  }
}

kernels::NonZeroArgs nonzero_args(const Tensor& x) {
  return {.shape = x.shape(),
          .width = bytes_for(x.type(), 1),
          .is_float = is_float(x.type()),
          .x = x.bytes().data()};
}

std::vector<int64_t> nonzero_counts(const kernels::NonZeroArgs& args, ParallelFor& parallel) {
  std::vector<int64_t> counts(static_cast<size_t>(kernels::nonzero_parts(args)));
  kernels::count_nonzero(args, counts, parallel);
  return counts;
}

class NonZeroEvaluation final : public Evaluation {
 public:
  Result<std::vector<Tensor>> operator()(std::vector<Tensor> inputs,
                                         std::span<const Tensor> /*captures*/,
                                         ParallelFor& parallel) override {
    const Tensor x = inputs[0].aligned();
    const kernels::NonZeroArgs args = nonzero_args(x);
    const std::vector<int64_t> counts = nonzero_counts(args, parallel);
    const int64_t found = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    const auto size_bytes = static_cast<size_t>(bytes_for(DType::kInt64, x.rank() * found));
    std::shared_ptr<Buffer> buffer = spare_.get(size_bytes);
    if (!buffer) return error("no memory for the {} bytes of coordinates", size_bytes);
    kernels::write_nonzero(args, counts,
                           static_cast<int64_t*>(static_cast<void*>(buffer->writable())), parallel);
    std::vector<Tensor> out;
    out.push_back(OCTET_TRY(Tensor::view(DType::kInt64, {x.rank(), found}, std::move(buffer), 0)));
    return out;
  }

 private:
  SpareBuffers spare_;
};

/// Where the size was told by other means.
class NonZeroStep final : public Step {
 public:
  NonZeroStep(Operand in, Operand out) : in_(std::move(in)), out_(std::move(out)) {}
  Result<StepEnd> run(Slots slots, std::byte*, ParallelFor& parallel) const override {
    const Tensor x = OCTET_TRY(tensor_at(in_, slots));
    const kernels::NonZeroArgs args = nonzero_args(x);
    const std::vector<int64_t> counts = nonzero_counts(args, parallel);
    if (out_.shape != Shape{x.rank(), std::accumulate(counts.begin(), counts.end(), int64_t{0})})
      return StepEnd::kOtherShape;
    std::byte* y = slots[static_cast<size_t>(out_.id)];
    kernels::write_nonzero(args, counts, static_cast<int64_t*>(static_cast<void*>(y)), parallel);
    return StepEnd::kDone;
  }

 private:
  Operand in_, out_;
};

class NonZeroPrepared final : public Prepared {
 public:
  Result<std::unique_ptr<Step>> bind(std::span<const Operand> in,
                                     std::span<const Operand> out) const override {
    return std::unique_ptr<Step>(std::make_unique<NonZeroStep>(in[0], out[0]));
  }
  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<NonZeroEvaluation>();
  }
};

} // namespace

Choice prepare_nonzero(const PrepareContext& c) {
  if (!may_be_zero(c.type(0).type)) return Choice::refuse("nonzero: neither numbers nor bool");
  Choice choice;
  choice.prepared = std::make_unique<NonZeroPrepared>();
  choice.name = "nonzero";
  choice.by_reference = true;
  return choice;
}

} // namespace octet::runtime
