// SPDX-License-Identifier: Apache-2.0
// Fake quantization: one pass over the data forward and at most one backward for f32 on the CPU;
// built from LibTorch operators for other types and devices.
//
// Few elements are clipped, often none, so forward lists them, and backward sets their gradients to
// 0 in the gradient tensor itself where nothing else holds it.
#include "train/fake_quant.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/codec.h"
#include "ops/qdq/quant_layout.h"
#include "quant/scheme.h"
#include "train/fake_quant_rows.h"
#include "train/ops/mapping.h"
#include "train/ops/widened.h"
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/round.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/custom_function.h>

namespace octet::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Elements that one task works on: places in it fit 16 bits.
constexpr int64_t kBlock = 16384;

int64_t blocks_of(int64_t count) {
  return (count + kBlock - 1) / kBlock;
}

/// A dense tensor seen as [outer, channels, inner], cut into rows that one loop takes at once.
class Rows {
 public:
  Rows(const at::Tensor& x, const float* scale, const FakeQuant& spec)
      : x_(x.const_data_ptr<float>()), scale_(scale), spec_(spec), count_(x.numel()) {
    if (spec.axis < 0) {
      inner_ = count_;
      return;
    }
    channels_ = x.size(spec.axis);
    for (int64_t i = spec.axis + 1; i < x.dim(); ++i)
      inner_ *= x.size(i);
  }
  int64_t channels() const { return channels_; }

  /// Calls fn(row, first element, channel of it) over the rows of one block.
  template <class Fn>
  void for_block(int64_t block, const Fn& fn) const {
    int64_t begin = block * kBlock;
    const int64_t end = std::min(count_, begin + kBlock);
    const RowScales scales = inner_ == 1 ? RowScales::kEach : RowScales::kOne;
    const int64_t period = inner_ == 1 ? channels_ : inner_;
    while (begin < end) {
      const int64_t stop = std::min(end, (begin / period + 1) * period);
      const int64_t channel = inner_ == 1 ? begin % channels_ : begin / inner_ % channels_;
      const FakeQuantRow row{
          x_ + begin, scale_ + channel, spec_.low.data() + channel, spec_.high.data() + channel,
          scales,     stop - begin};
      fn(row, begin, channel);
      begin = stop;
    }
  }

 private:
  const float *x_, *scale_;
  const FakeQuant& spec_;
  int64_t count_, channels_ = 1, inner_ = 1;
};

bool fused(const at::Tensor& x, const FakeQuant& spec) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && is_integer(spec.type);
}

/// Places of clipped elements: how many in each block, and where in it. Undefined: none.
struct Clipped {
  at::Tensor counts, places;
};

/// y, and where x is clipped when `clipped` asks for it.
at::Tensor fused_forward(const at::Tensor& x,
                         const at::Tensor& scale,
                         const FakeQuant& spec,
                         Clipped* clipped) {
  at::Tensor y = at::empty_like(x, at::MemoryFormat::Contiguous);
  float* out = y.mutable_data_ptr<float>();
  const Rows rows(x, scale.const_data_ptr<float>(), spec);
  const FakeQuantLoops& loops = fake_quant_loops();
  const int64_t blocks = blocks_of(x.numel());
  std::vector<std::vector<uint16_t>> lists(clipped == nullptr ? 0 : static_cast<size_t>(blocks));
  at::parallel_for(0, blocks, 1, [&](int64_t first, int64_t last) {
    std::vector<uint16_t> places(clipped == nullptr ? 0 : kBlock);
    for (int64_t block = first; block < last; ++block) {
      uint16_t* end = clipped == nullptr ? nullptr : places.data();
      rows.for_block(block, [&](const FakeQuantRow& row, int64_t begin, int64_t) {
        end = loops.forward(row, out + begin, begin % kBlock, end);
      });
      if (clipped != nullptr) lists[static_cast<size_t>(block)].assign(places.data(), end);
    }
  });
  int64_t total = 0;
  for (const auto& list : lists)
    total += static_cast<int64_t>(list.size());
  if (total == 0) return y;
  clipped->counts = at::empty({blocks}, at::kLong);
  clipped->places = at::empty({total}, at::kShort);
  auto* place = static_cast<uint16_t*>(clipped->places.mutable_data_ptr());
  for (size_t block = 0; block < lists.size(); ++block) {
    clipped->counts.mutable_data_ptr<int64_t>()[block] = static_cast<int64_t>(lists[block].size());
    place = std::copy(lists[block].begin(), lists[block].end(), place);
  }
  return y;
}

/// The gradient as a dense tensor that may be written: itself where nothing else holds it.
at::Tensor writable(at::Tensor& gradient) {
  const bool own = gradient.is_contiguous() && gradient.use_count() == 1 &&
                   gradient.storage().use_count() == 1 && !gradient.requires_grad();
  return own ? std::move(gradient) : gradient.contiguous().clone();
}

void clear_clipped(at::Tensor& gradient, const Clipped& clipped) {
  float* g = gradient.mutable_data_ptr<float>();
  const int64_t* counts = clipped.counts.const_data_ptr<int64_t>();
  const auto* place = static_cast<const uint16_t*>(clipped.places.const_data_ptr());
  for (int64_t block = 0; block < clipped.counts.numel(); ++block)
    for (int64_t i = 0; i < counts[block]; ++i)
      g[block * kBlock + *place++] = 0;
}

/// Per-channel values in a shape that broadcasts against x.
at::Tensor broadcast(const at::Tensor& values, const at::Tensor& x, const FakeQuant& spec) {
  if (spec.axis < 0) return values.reshape({});
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(spec.axis)] = -1;
  return values.reshape(shape);
}
at::Tensor copied(const std::vector<float>& values, c10::Device device) {
  const auto count = static_cast<int64_t>(values.size());
  return at::from_blob(const_cast<float*>(values.data()), {count}, at::kFloat)
      .to(device, at::kFloat, false, /*copy=*/true);
}
at::Tensor low_of(const at::Tensor& x, const FakeQuant& spec) {
  return spec.placed_low.defined() ? spec.placed_low : copied(spec.low, x.device());
}
at::Tensor high_of(const at::Tensor& x, const FakeQuant& spec) {
  return spec.placed_high.defined() ? spec.placed_high : copied(spec.high, x.device());
}
/// Smallest and largest codes: a half holds few codes of 16 bits.
struct Bounds {
  at::Tensor low, high;
};
Bounds bounds(const at::Tensor& x, const FakeQuant& spec) {
  return {broadcast(low_of(x, spec), x, spec), broadcast(high_of(x, spec), x, spec)};
}
/// x over the scale, rounded to x's type as QuantizeLinear rounds it, in a type that holds codes.
at::Tensor quotient(const at::Tensor& x, const at::Tensor& scale, const FakeQuant& spec) {
  return widened(x / broadcast(scale, x, spec));
}

at::Tensor
composed_code(const at::Tensor& r, const at::Tensor& low, const at::Tensor& high, DType type) {
  const at::Tensor c = at::minimum(at::maximum(r, low), high);
  if (is_integer(type)) return at::round(at::nan_to_num(c, 0)) + 0.0; // + 0.0 makes -0 positive
  return c.to(scalar_type(type)).to(r.scalar_type());
}
at::Tensor composed(const at::Tensor& x, const at::Tensor& scale, const FakeQuant& spec) {
  const auto [low, high] = bounds(x, spec);
  const at::Tensor code = composed_code(quotient(x, scale, spec), low, high, spec.type);
  return (code * broadcast(widened(scale), x, spec)).to(x.scalar_type());
}

std::vector<int64_t> axes_but(const at::Tensor& x, int64_t axis) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.dim(); ++i)
    if (i != axis) axes.push_back(i);
  return axes;
}

struct StraightThrough : torch::autograd::Function<StraightThrough> {
  static at::Tensor forward(AutogradContext* ctx,
                            const at::Tensor& x,
                            const at::Tensor& scale,
                            const FakeQuant* spec) {
    if (fused(x, *spec)) {
      Clipped clipped;
      at::Tensor y = fused_forward(x, scale, *spec, &clipped);
      if (clipped.counts.defined()) ctx->save_for_backward({clipped.counts, clipped.places});
      return y;
    }
    const at::Tensor r = quotient(x, scale, *spec);
    const auto [low, high] = bounds(x, *spec);
    const double slack = is_integer(spec->type) ? 0.5 : 0.0;
    ctx->save_for_backward(
        {slack > 0 ? (r > low - slack) & (r < high + slack) : (r >= low) & (r <= high)});
    return composed(x, scale, *spec);
  }
  static variable_list backward(AutogradContext* ctx, variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    if (saved.empty() || !gradients[0].defined()) return {std::move(gradients[0]), {}, {}};
    if (saved.size() == 1) return {gradients[0] * saved[0], {}, {}};
    at::Tensor dx = writable(gradients[0]);
    clear_clipped(dx, {saved[0], saved[1]});
    return {dx, {}, {}};
  }
};

/// Gradients of x (in g) and of the scale, before the latter's factor.
at::Tensor
fused_learned(const at::Tensor& x, const at::Tensor& scale, const FakeQuant& spec, at::Tensor& g) {
  const Rows rows(x, scale.const_data_ptr<float>(), spec);
  const FakeQuantLoops& loops = fake_quant_loops();
  float* gradient = g.mutable_data_ptr<float>();
  const int64_t blocks = blocks_of(x.numel()), channels = rows.channels();
  // Each block sums for itself, then blocks are added in order: the same for any number of threads.
  std::vector<float> parts(static_cast<size_t>(blocks * channels), 0.0F);
  at::parallel_for(0, blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block)
      rows.for_block(block, [&](const FakeQuantRow& row, int64_t begin, int64_t channel) {
        loops.backward(row, gradient + begin, parts.data() + block * channels + channel);
      });
  });
  at::Tensor ds = at::empty({channels}, at::kFloat);
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (int64_t block = 0; block < blocks; ++block)
      sum += parts[static_cast<size_t>(block * channels + c)];
    ds.mutable_data_ptr<float>()[c] = static_cast<float>(sum);
  }
  return ds;
}

at::Tensor composed_learned(const at::Tensor& x,
                            const at::Tensor& scale,
                            const FakeQuant& spec,
                            at::Tensor& g) {
  const at::Tensor r = quotient(x, scale, spec);
  const auto [low, high] = bounds(x, spec);
  const double slack = is_integer(spec.type) ? 0.5 : 0.0;
  const at::Tensor below = r <= low - slack, above = r >= high + slack;
  at::Tensor ds =
      at::where(below, low, at::where(above, high, composed_code(r, low, high, spec.type) - r)) * g;
  const std::vector<int64_t> axes = axes_but(x, spec.axis);
  if (!axes.empty()) ds = ds.sum(axes);
  g = g.masked_fill(below | above, 0);
  return ds;
}

/// The clip of PACT is a = high * s, and dy/da = 1 from x = a on, else 0; x gets no gradient there.
/// Dividing by `high` makes a step of s by gradient descent the published step of a.
struct TrainedClip : torch::autograd::Function<TrainedClip> {
  static at::Tensor forward(AutogradContext* ctx,
                            const at::Tensor& x,
                            const at::Tensor& scale,
                            const FakeQuant* spec) {
    const at::Tensor r = quotient(x, scale, *spec);
    const auto [low, high] = bounds(x, *spec);
    ctx->save_for_backward({r >= high, r < low});
    ctx->saved_data["high"] = static_cast<double>(spec->high[0]);
    ctx->saved_data["shape"] = scale.sizes().vec();
    return fused(x, *spec) ? fused_forward(x, scale, *spec, nullptr) : composed(x, scale, *spec);
  }
  static variable_list backward(AutogradContext* ctx, variable_list& gradients) {
    if (!gradients[0].defined()) return {{}, {}, {}};
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &g = gradients[0], &above = saved[0];
    const at::Tensor ds =
        (g * above.to(g.scalar_type())).sum() / ctx->saved_data["high"].toDouble();
    return {
        g.masked_fill(above | saved[1], 0), ds.reshape(ctx->saved_data["shape"].toIntVector()), {}};
  }
};

struct LearnedStep : torch::autograd::Function<LearnedStep> {
  static at::Tensor forward(AutogradContext* ctx,
                            const at::Tensor& x,
                            const at::Tensor& scale,
                            const FakeQuant* spec) {
    ctx->save_for_backward({x, scale});
    ctx->saved_data["spec"] = reinterpret_cast<int64_t>(spec);
    return fused(x, *spec) ? fused_forward(x, scale, *spec, nullptr) : composed(x, scale, *spec);
  }
  static variable_list backward(AutogradContext* ctx, variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1];
    // NOLINTNEXTLINE(performance-no-int-to-ptr): forward put it there; saved_data takes no pointers
    const FakeQuant& spec = *reinterpret_cast<const FakeQuant*>(ctx->saved_data["spec"].toInt());
    if (!gradients[0].defined()) return {{}, {}, {}};
    const bool one_pass = fused(x, spec) && gradients[0].scalar_type() == at::kFloat;
    at::Tensor g = one_pass ? writable(gradients[0]) : gradients[0];
    at::Tensor ds =
        one_pass ? fused_learned(x, scale, spec, g) : composed_learned(x, scale, spec, g);
    const int64_t batch = spec.is_weight || x.dim() == 0 ? 1 : std::max<int64_t>(1, x.size(0));
    const double shared =
        static_cast<double>(x.numel()) /
        static_cast<double>(batch * (spec.axis == 0 && !spec.is_weight ? 1 : scale.numel()));
    // Of values that are never positive no code is above the zero point.
    const double highest = std::max(1.0, static_cast<double>(spec.high[0]));
    ds = ds / std::sqrt(std::max(1.0, shared) * highest);
    return {g, ds.reshape(scale.sizes()), {}};
  }
};

} // namespace

bool can_fake_quantize(DType type) {
  return (is_integer(type) && bits(type) <= 16) || type == DType::kFloat8E4M3FN ||
         type == DType::kFloat8E5M2;
}

std::pair<double, double> code_range(DType type) {
  if (const auto codes = octet::code_range(type))
    return {static_cast<double>(codes->lo), static_cast<double>(codes->hi)};
  const double largest = max_finite(*float_format(type));
  return {-largest, largest};
}

at::Tensor fake_quantize(const at::Tensor& x, const at::Tensor& scale, const FakeQuant& spec) {
  TORCH_CHECK(scale.numel() == static_cast<int64_t>(spec.low.size()), "the scale has ",
              scale.numel(), " elements and the zero point ", spec.low.size());
  TORCH_CHECK(spec.axis < 0 ? scale.numel() == 1 : x.size(spec.axis) == scale.numel(),
              "the scale has ", scale.numel(), " elements, which does not fit axis ", spec.axis);
  // Mixed precision may hand in less than f32.
  const at::Tensor dense = x.to(scale.scalar_type()).contiguous(), factor = scale.contiguous();
  if (at::GradMode::is_enabled() && scale.requires_grad())
    return spec.clips ? TrainedClip::apply(dense, factor, &spec)
                      : LearnedStep::apply(dense, factor, &spec);
  if (at::GradMode::is_enabled() && x.requires_grad())
    return StraightThrough::apply(dense, factor, &spec);
  return fused(dense, spec) ? fused_forward(dense, factor, spec, nullptr)
                            : composed(dense, factor, spec);
}

at::Tensor published_scale(const at::Tensor& x, const at::Tensor& like, const FakeQuant& spec) {
  const at::NoGradGuard no_gradient;
  const at::Tensor size = at::abs(x.detach());
  const std::vector<int64_t> axes = axes_but(x, spec.axis);
  const at::Tensor mean =
      (axes.empty() ? size : at::mean(size, axes)).to(at::kDouble).reshape({-1});
  const at::Tensor codes =
      at::maximum(high_of(x, spec), -low_of(x, spec) - 1).clamp_min(1).to(at::kDouble);
  const at::Tensor usable = (mean > 0) & (mean < std::numeric_limits<double>::infinity());
  const at::Tensor old = like.detach().to(at::kDouble).reshape({-1});
  return at::where(usable, mean * 2 / at::sqrt(codes), old)
      .reshape(like.sizes())
      .to(like.scalar_type());
}

at::Tensor largest_scale(const at::Tensor& x, const at::Tensor& like, const FakeQuant& spec) {
  const at::NoGradGuard no_gradient;
  const at::Tensor weight = x.detach();
  const std::vector<int64_t> axes = axes_but(weight, spec.axis);
  const Codes ends = reach({spec.low[0], spec.high[0]});
  const at::Tensor above = (axes.empty() ? weight : at::amax(weight, axes)).to(at::kDouble),
                   below = (axes.empty() ? weight : at::amin(weight, axes)).to(at::kDouble);
  const at::Tensor steps = at::maximum(above / ends.highest, below / ends.lowest);
  const at::Tensor positive = steps > 0;
  const at::Tensor smallest =
      at::where(positive, steps, std::numeric_limits<double>::infinity()).amin();
  const at::Tensor spare = at::where(positive.any(), smallest, 1.0);
  return at::where(steps == 0, spare, steps).reshape(like.sizes()).to(like.scalar_type());
}

void FakeQuant::place(c10::Device device) {
  placed_low = copied(low, device);
  placed_high = copied(high, device);
}

} // namespace octet::train
