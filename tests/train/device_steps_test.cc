// SPDX-License-Identifier: Apache-2.0
// Steps of training wait for no device. They run on LibTorch's "meta" device, whose tensors have a
// shape and no bytes: an element that the host asks for, a tensor copied to it and a kernel that
// the host feeds by pointer are errors there. Beside that, what the training thread copies to the
// device is counted: the batch, and nothing else, however many steps there are.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "train/guard.h"
#include "train/ops/dropout.h"
#include "train/ops/mapping.h"
#include "train/runtime.h"
#include "train/trainer/session.h"
#include "training_support.h"
#include "training_ways.h"
#include <ATen/TensorOperators.h>
#include <ATen/core/op_registration/op_registration.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/library.h>

namespace octet {
namespace {

using Mask = std::array<bool, 3>;
using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using Bias = std::optional<at::Tensor>;

/// Operators whose results say what elements are.
bool tells_of_elements(const c10::OperatorHandle& op) {
  const std::string& name = op.schema().name();
  for (const char* teller : {"aten::nonzero", "aten::masked_select", "aten::_unique2"})
    if (name == teller) return true;
  return std::any_of(op.schema().returns().begin(), op.schema().returns().end(),
                     [](const c10::Argument& result) {
                       return !result.type()->isSubtypeOf(*c10::TensorType::get()) &&
                              !result.type()->isSubtypeOf(*c10::ListType::ofTensors());
                     });
}

/// The shape of a result: that of the operator on zeros in the host's memory.
class OnZeros {
 public:
  at::Tensor zeros(const at::Tensor& t) {
    if (!t.defined() || !t.is_meta()) return t;
    at::Tensor z = at::zeros(t.sizes(), t.options().device(at::kCPU));
    made_.emplace_back(z, t);
    return z;
  }
  /// An argument that was changed in place is itself.
  at::Tensor there(const at::Tensor& t) const {
    for (const auto& [z, original] : made_) {
      if (!t.is_same(z)) continue;
      if (t.sizes() != original.sizes()) original.resize_(t.sizes());
      return original;
    }
    return t.defined() ? at::empty(t.sizes(), t.options().device(at::kMeta)) : t;
  }
  template <class Fn>
  static c10::IValue each(const c10::IValue& value, const Fn& fn) {
    if (value.isTensor()) return fn(value.toTensor());
    if (value.isDevice() && value.toDevice().is_meta()) return c10::Device(at::kCPU);
    if (value.isTensorList()) {
      c10::List<at::Tensor> out;
      for (const at::Tensor& t : value.toTensorVector())
        out.push_back(fn(t));
      return out;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> out;
      for (const std::optional<at::Tensor>& t : value.toOptionalTensorVector())
        out.push_back(t ? std::optional(fn(*t)) : std::nullopt);
      return out;
    }
    return value;
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> made_;
};

void run_on_zeros(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  TORCH_CHECK(!tells_of_elements(op), op.schema().name(), " reads a meta tensor");
  const size_t arguments = op.schema().arguments().size(), results = op.schema().returns().size();
  OnZeros zeros;
  for (size_t i = stack->size() - arguments; i < stack->size(); ++i)
    (*stack)[i] = OnZeros::each((*stack)[i], [&](const at::Tensor& t) { return zeros.zeros(t); });
  op.callBoxed(stack);
  for (size_t i = stack->size() - results; i < stack->size(); ++i)
    (*stack)[i] = OnZeros::each((*stack)[i], [&](const at::Tensor& t) { return zeros.there(t); });
}

at::Tensor convolve(const at::Tensor& x,
                    const at::Tensor& w,
                    const Bias& /*bias*/,
                    at::IntArrayRef stride,
                    at::IntArrayRef padding,
                    at::IntArrayRef dilation,
                    bool /*transposed*/,
                    at::IntArrayRef /*output_padding*/,
                    int64_t /*groups*/) {
  std::vector<int64_t> shape = {x.size(0), w.size(0)};
  for (size_t i = 0; i < stride.size(); ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    const int64_t extent = dilation[i] * (w.size(axis) - 1) + 1;
    shape.push_back((x.size(axis) + 2 * padding[i] - extent) / stride[i] + 1);
  }
  return at::empty(shape, x.options());
}

at::Tensor like(const at::Tensor& t, bool wanted) {
  return wanted ? at::empty_like(t) : at::Tensor();
}

Gradients convolve_backward(const at::Tensor& g,
                            const at::Tensor& x,
                            const at::Tensor& w,
                            at::IntArrayRef /*stride*/,
                            at::IntArrayRef /*padding*/,
                            at::IntArrayRef /*dilation*/,
                            bool /*transposed*/,
                            at::IntArrayRef /*output_padding*/,
                            int64_t /*groups*/,
                            Mask mask) {
  return {like(x, mask[0]), like(w, mask[1]),
          mask[2] ? at::empty({w.size(0)}, g.options()) : at::Tensor()};
}

TORCH_LIBRARY_IMPL(aten, Meta, m) {
  m.impl("convolution_overrideable", convolve);
  m.impl("convolution_backward_overrideable", convolve_backward);
}

/// Gives the device those operators of the CPU that LibTorch's C++ part lacks there.
void complete_the_device() {
  using c10::DispatchKey;
  static torch::Library library(torch::Library::IMPL, "aten", DispatchKey::Meta, __FILE__,
                                __LINE__);
  static bool done = false;
  if (std::exchange(done, true)) return;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (!name.name.starts_with("aten::")) continue;
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    const auto has = [&](DispatchKey key) { return op->hasKernelForDispatchKey(key); };
    if (!op || !has(DispatchKey::CPU) || has(DispatchKey::Meta) ||
        has(DispatchKey::CompositeExplicitAutograd) ||
        has(DispatchKey::CompositeExplicitAutogradNonFunctional))
      continue;
    const std::string overload = name.overload_name.empty() ? "" : "." + name.overload_name;
    library.impl((name.name.substr(6) + overload).c_str(),
                 torch::CppFunction::makeFromBoxedFunction<&run_on_zeros>());
  }
}

/// Copies from the CPU to another device that this thread starts.
thread_local int64_t uploads = 0;

std::unique_ptr<at::ObserverContext> count_uploads(const at::RecordFunction& call) {
  if (std::string_view(call.name()) != "aten::copy_") return nullptr;
  const auto inputs = call.inputs();
  if (inputs.size() < 2 || !inputs[0].isTensor() || !inputs[1].isTensor()) return nullptr;
  if (!inputs[0].toTensor().is_cpu() && inputs[1].toTensor().is_cpu()) ++uploads;
  return nullptr;
}

struct Seen {
  int64_t steps = 0, readings = 0, uploads = 0; ///< the last over steps alone
  std::string ended;
};

Seen run_steps(const test::TrainingWay& c, int64_t steps, int64_t reads_every) {
  const at::CallbackHandle handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(count_uploads).needsInputs(true));
  Seen seen;
  const Graph graph = c.graph();
  const std::unique_ptr<Dataset> data = c.data();
  TrainOptions options = test::small_options();
  options.max_steps = steps;
  options.batch_size = 8;
  c.set(options);
  int64_t at_first = 0;
  options.on_step = [&](const TrainProgress&) {
    if (seen.steps++ == 0) at_first = uploads;
    seen.uploads = uploads - at_first;
  };
  train::SessionPlace place;
  place.device = c10::Device(c10::kMeta);
  place.reads_every = reads_every;
  place.read = [&](const at::Tensor& t) {
    ++seen.readings;
    return at::zeros(t.sizes(), at::kDouble);
  };
  train::TrainSession session(graph, *data, nullptr, options, std::move(place));
  const Status prepared = session.prepare(1);
  if (prepared.ok()) {
    const Result<TrainedModel> trained = train::guarded([&] { return session.run(); });
    seen.ended = trained.ok() ? "" : trained.error().text();
  } else {
    seen.ended = prepared.error().text();
  }
  at::removeCallback(handle);
  return seen;
}

class DeviceSteps : public testing::TestWithParam<test::TrainingWay> {};

TEST_P(DeviceSteps, ReadNothingAndCopyTheBatchAlone) {
  train::prepare_runtime(Device::kCpu, 1).value();
  complete_the_device();
  const test::TrainingWay& c = GetParam();
  constexpr int64_t kFew = 5, kMany = 21, kEvery = 8;
  const Seen few = run_steps(c, kFew, kEvery), many = run_steps(c, kMany, kEvery);
  // All steps ran; only then is there a model to copy, and it has no bytes.
  for (const auto& [seen, steps] : {std::pair(few, kFew), {many, kMany}}) {
    EXPECT_EQ(seen.steps, steps) << seen.ended;
    EXPECT_NE(seen.ended.find("meta"), std::string::npos) << seen.ended;
  }
  const int64_t a_step = many.uploads / (kMany - 1);
  EXPECT_EQ(many.uploads, a_step * (kMany - 1));
  EXPECT_EQ(few.uploads, a_step * (kFew - 1));
  const std::unique_ptr<Dataset> data = c.data();
  TrainOptions options;
  c.set(options);
  const auto tensors = std::ssize(data->features()) * (options.teacher.graph == nullptr ? 1 : 2) +
                       std::max<int64_t>(1, std::ssize(options.losses));
  EXPECT_EQ(a_step, tensors);
  // The first step, one of eight behind it, and the check of what the last step led to.
  EXPECT_LE(many.readings, 2 + (kMany + kEvery - 1) / kEvery + 5) << "a slow machine adds some";
}

INSTANTIATE_TEST_SUITE_P(Ways,
                         DeviceSteps,
                         testing::ValuesIn(test::training_ways()),
                         [](const auto& c) { return c.param.name; });

TEST(DeviceSteps, SeeAReading) {
  // The device refuses what these tests are there to find.
  complete_the_device();
  const at::Tensor there = at::ones({2}, at::TensorOptions(c10::kMeta));
  EXPECT_THROW(there.sum().item(), c10::Error);
  EXPECT_THROW(there.to(at::kCPU), c10::Error);
}

TEST(DeviceSteps, LossScaleIsAFactorOfTheDevice) {
  complete_the_device();
  train::LossScale scale(Precision::kFloat16, c10::Device(c10::kMeta));
  train::Optimizer optimizer({.kind = OptimizerKind::kAdam},
                             {at::ones({3}, at::TensorOptions(c10::kMeta)).set_requires_grad(true)},
                             {0.0});
  scale.update(optimizer.unscale(scale.factor().reciprocal()));
  SUCCEED();
}

TEST(LossScale, HalvesOnOverflowAndDoublesAfterTwoThousandSteps) {
  train::LossScale scale(Precision::kFloat16, c10::Device(c10::kCPU));
  const at::Tensor fine = at::zeros({1}), overflowed = at::ones({1});
  scale.update(overflowed);
  EXPECT_EQ(scale.read().factor, 32768);
  EXPECT_EQ(scale.read().skipped, 1);
  for (int i = 0; i < 1999; ++i)
    scale.update(fine);
  EXPECT_EQ(scale.read().factor, 32768);
  EXPECT_EQ(scale.read().steps, 1999);
  scale.update(fine);
  EXPECT_EQ(scale.read().factor, 65536);
  EXPECT_EQ(scale.read().steps, 0);
  for (int i = 0; i < 40; ++i)
    scale.update(overflowed);
  EXPECT_EQ(scale.read().factor, 1);
  EXPECT_EQ(scale.read().skipped, 41);
}

TEST(Dropout, DrawsTheSameByADevicesOperators) {
  for (const int64_t count : {1, 7, 8, 9, 1000, 40001})
    for (const double ratio : {0.1, 0.5, 0.9}) {
      train::RunState run;
      run.training = true;
      run.seed = 0x123456789abcdef0 + static_cast<uint64_t>(count);
      run.step = 0xfedcba98;
      const at::Tensor x = at::ones({count});
      EXPECT_TRUE(
          at::equal(train::keep_mask(x, ratio, run, 77), train::keep_mask_there(x, ratio, run, 77)))
          << count << " " << ratio;
    }
}

} // namespace
} // namespace octet
