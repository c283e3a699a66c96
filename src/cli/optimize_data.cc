// SPDX-License-Identifier: Apache-2.0
#include "cli/optimize_data.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/format.h"
#include "data/subset.h"

namespace octet::cli {
namespace {

using Indices = std::vector<int64_t>;

/// Keeps the data set that a part is of.
class Part final : public Dataset {
 public:
  Part(std::shared_ptr<const Dataset> all, Indices indices)
      : all_(std::move(all)), part_(*all_, std::move(indices)) {}
  std::string description() const override { return part_.description(); }
  int64_t size() const override { return part_.size(); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return part_.features();
  }
  const std::vector<std::string>& classes() const override { return part_.classes(); }
  int64_t length(int64_t index) const override { return part_.length(index); }
  const ImagePreparation* images() const override { return part_.images(); }
  std::string file(int64_t index) const override { return part_.file(index); }
  int64_t position(int64_t index) const override { return part_.position(index); }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    return part_.batch(indices);
  }
  Result<Batch> batch_at(std::span<const int64_t> indices, int64_t epoch) const override {
    return part_.batch_at(indices, epoch);
  }

 private:
  std::shared_ptr<const Dataset> all_;
  Subset part_;
};

/// Takes `count` of them out, evenly spaced.
Indices take_spaced(Indices& from, int64_t count) {
  const int64_t n = std::ssize(from);
  Indices out, rest;
  for (int64_t i = 0, next = 0; i < n; ++i) {
    const bool taken = next < count && i == next * n / count;
    (taken ? out : rest).push_back(from[static_cast<size_t>(i)]);
    if (taken) ++next;
  }
  from = std::move(rest);
  return out;
}

bool same_tensors(const std::vector<std::pair<std::string, Tensor>>& a,
                  const std::vector<std::pair<std::string, Tensor>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.identical(y.second);
  });
}

/// Whether two parts of the data are the same examples, as files without a split give them.
Result<bool> are_same(const Dataset& a, const Dataset& b) {
  if (a.description() != b.description() || a.size() != b.size()) return false;
  const Indices some = {0, a.size() / 2, a.size() - 1};
  return same_tensors(OCTET_TRY(a.batch(some)).inputs, OCTET_TRY(b.batch(some)).inputs);
}

int64_t whole_batches(int64_t count, int64_t batch) {
  return count / batch * batch;
}

std::shared_ptr<const Dataset> part(const std::shared_ptr<const Dataset>& all, Indices indices) {
  return std::make_shared<Part>(all, std::move(indices));
}

} // namespace

Result<OptimizeData> open_optimize_data(const ModelData& data,
                                        const OptimizeCounts& counts,
                                        bool training_alone,
                                        const Graph& graph,
                                        const std::string& model,
                                        const Common& common) {
  const auto open = [&](Split split, int64_t limit) {
    ModelData of = data;
    of.split = split;
    of.limit = limit;
    return open_model_data(of, graph, model, common);
  };
  const int64_t judged = counts.search + counts.held_out, all = judged + counts.calibration;
  auto train = OCTET_TRY(open(Split::kTrain, training_alone ? all : counts.calibration));
  auto test = training_alone ? train : OCTET_TRY(open(Split::kTest, judged));
  const bool one = training_alone || OCTET_TRY(are_same(*train, *test));
  if (one && !training_alone) test = train = OCTET_TRY(open(Split::kTest, all));

  Indices left(static_cast<size_t>(test->size()));
  std::iota(left.begin(), left.end(), int64_t{0});
  const int64_t n = test->size(), batch = batch_for(graph, *test, 1);
  const int64_t for_ranges = one ? std::min(counts.calibration, n / 3) : 0;
  const int64_t search = whole_batches(std::min(counts.search, (n - for_ranges) / 2), batch);
  const int64_t held_out = whole_batches(std::min(counts.held_out, n - for_ranges - search), batch);
  if (search < 1 || held_out < 1 || (one && for_ranges < 1))
    return error("{}: {} examples are too few to search with some and to check with others; a "
                 "batch takes {}",
                 test->description(), n, batch);
  OptimizeData out{.calibration = nullptr,
                   .search = part(test, take_spaced(left, search)),
                   .held_out = part(test, take_spaced(left, held_out)),
                   .training = train->description(),
                   .test = test->description(),
                   .labelled = false};
  Indices first(static_cast<size_t>(train->size()));
  std::iota(first.begin(), first.end(), int64_t{0});
  Indices& ranges_from = one ? left : first;
  out.calibration =
      part(train, take_spaced(ranges_from,
                              one ? for_ranges : std::min(counts.calibration, train->size())));
  out.labelled = !OCTET_TRY(out.search->batch(Indices{0})).labels.empty();
  return out;
}

} // namespace octet::cli
