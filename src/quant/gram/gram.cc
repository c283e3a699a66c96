// SPDX-License-Identifier: Apache-2.0
#include "quant/gram/gram.h"

#include <cmath>

#include "quant/channels.h"
#include "quant/gram/panels.h"

namespace octet {

Gram::Gram(LayerRows rows, ParallelFor& workers)
    : rows_(std::move(rows)), workers_(workers), width_(in_panels(rows_.columns())),
      row_(static_cast<size_t>(rows_.columns())) {
  for (Half& half : halves_) {
    half.sums.resize(static_cast<size_t>(rows_.groups() * width_ * width_));
    half.waiting.resize(static_cast<size_t>(rows_.groups() * width_ * kTogether));
  }
}

int64_t Gram::bytes_for(const LayerRows& rows) {
  const int64_t width = in_panels(rows.columns());
  return 2 * rows.groups() * width * (width + kTogether) * static_cast<int64_t>(sizeof(double));
}

Status Gram::observe(const Tensor& values, const Tensor* mask) {
  OCTET_TRY(check_batch(values, mask, std::nullopt));
  const LayerRows::Batch batch = OCTET_TRY(rows_.batch(values.shape()));
  const Floats floats = OCTET_TRY(Floats::of(values));
  const std::span<const float> x = floats.get();
  const Mask keep(values, mask);
  for (size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x[i]) && keep(static_cast<int64_t>(i)))
      return error("observer: element {} of shape {} is {}; fix the input or the model", i,
                   to_string(values.shape()), x[i]);
  for (int64_t e = 0; e < batch.examples(); ++e, ++examples_) {
    const int64_t first = e * batch.example_size();
    const auto example =
        x.subspan(static_cast<size_t>(first), static_cast<size_t>(batch.example_size()));
    Half& half = halves_[examples_ % 4 == 3 ? 1 : 0];
    batch.each(examples_, [&](int64_t place) {
      if (keep(first + batch.first_element(place))) add_row(half, batch, example, place);
    });
  }
  for (Half& half : halves_)
    flush(half);
  return ok_status();
}

void Gram::add_row(Half& half,
                   const LayerRows::Batch& batch,
                   std::span<const float> example,
                   int64_t place) {
  const int64_t panels = width_ / kPanel;
  for (int64_t g = 0; g < rows_.groups(); ++g) {
    batch.write(example, place, g, row_);
    for (size_t c = 0; c < row_.size(); ++c) {
      const auto column = static_cast<int64_t>(c);
      const int64_t panel = g * panels + column / kPanel;
      half.waiting[static_cast<size_t>((panel * kTogether + half.count) * kPanel +
                                       column % kPanel)] = static_cast<double>(row_[c]);
    }
  }
  ++half.total;
  if (++half.count == kTogether) flush(half);
}

void Gram::flush(Half& half) {
  if (half.count == 0) return;
  const int64_t panels = width_ / kPanel;
  // The upper triangle, a panel of columns at a time. Products of two f32 are exact in double.
  const double work = static_cast<double>(width_ * half.count * kPanel) / 2;
  workers_.run(rows_.groups() * panels, grain_for(work / 8), [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t group = at / panels, right = at % panels;
      const double* waiting = half.waiting.data() + group * panels * kTogether * kPanel;
      double* sums = half.sums.data() + at * width_ * kPanel;
      for (int64_t left = 0; left <= right; ++left)
        add_panel_product(half.count, waiting + left * kTogether * kPanel,
                          waiting + right * kTogether * kPanel, sums + left * kPanel * kPanel);
    }
  });
  half.count = 0;
}

Status Gram::merge(const Statistic& /*other*/) {
  return error(
      "sums of products of a layer's input depend on the order of the data: they cannot be "
      "merged, one has to see all of it");
}

const Gram::Half& Gram::half(Part part) const {
  const bool judged = part == Part::kJudged && halves_[1].total > 0;
  return halves_[judged ? 1 : 0];
}

int64_t Gram::row_count(Part part) const {
  return half(part).total;
}

std::vector<double> Gram::matrix(Part part, int64_t group) const {
  const int64_t columns = rows_.columns(), panels = width_ / kPanel;
  const std::vector<double>& sums = half(part).sums;
  const auto at = [&](int64_t r, int64_t c) {
    const int64_t panel = group * panels + c / kPanel;
    return sums[static_cast<size_t>((panel * width_ + r) * kPanel + c % kPanel)];
  };
  std::vector<double> out(static_cast<size_t>(columns * columns));
  for (int64_t r = 0; r < columns; ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[static_cast<size_t>(r * columns + c)] = r <= c ? at(r, c) : at(c, r);
  return out;
}

std::vector<std::pair<std::string, Tensor>> Gram::state() const {
  const Shape shape = {rows_.groups(), rows_.columns(), rows_.columns()};
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& [name, part] :
       {std::pair{"fitted", Part::kFitted}, std::pair{"judged", Part::kJudged}}) {
    std::vector<double> all;
    for (int64_t g = 0; g < rows_.groups(); ++g) {
      const std::vector<double> one = matrix(part, g);
      all.insert(all.end(), one.begin(), one.end());
    }
    out.emplace_back(name, Tensor::of<double>(shape, std::span<const double>(all)));
  }
  out.emplace_back("rows", Tensor::of<int64_t>({2}, {halves_[0].total, halves_[1].total}));
  return out;
}

} // namespace octet
