// SPDX-License-Identifier: Apache-2.0
// Generated tokens: labels are what the tasks say, read off the tokens again.
#include <algorithm>
#include <map>
#include <numeric>

#include "data/token_tasks.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using Sequence = std::vector<int64_t>;

int64_t count_between(const Sequence& inner, int64_t lo, int64_t hi) {
  return std::count_if(inner.begin(), inner.end(), [&](int64_t t) { return t >= lo && t <= hi; });
}
ptrdiff_t place_of(const Sequence& inner, int64_t token) {
  return std::find(inner.begin(), inner.end(), token) - inner.begin();
}

/// The label of what stands between the first and the last token.
int64_t label_of(const std::string& task, const Sequence& inner) {
  if (task == "contains") return count_between(inner, 2, 2) > 0 ? 1 : 0;
  if (task == "majority") return count_between(inner, 10, 17) > count_between(inner, 2, 9) ? 1 : 0;
  if (task == "order") return place_of(inner, 3) < place_of(inner, 2) ? 1 : 0;
  if (task == "adjacent") return place_of(inner, 3) == place_of(inner, 2) + 1 ? 1 : 0;
  if (task == "ends") return inner.front() == inner.back() ? 1 : 0;
  return count_between(inner, 2, 2);
}

TEST(TokenTasks, LabelsAreWhatTheTasksSay) {
  for (const std::string& task : token_tasks()) {
    const auto data = open_dataset("generated-tokens:" + task, Split::kTest).value();
    std::vector<int64_t> all(static_cast<size_t>(data->size()));
    std::iota(all.begin(), all.end(), 0);
    const Batch batch = data->batch(all).value();
    ASSERT_EQ(batch.inputs.size(), 2U) << task;
    const auto ids = batch.inputs[0].second.data<int64_t>();
    const auto mask = batch.inputs[1].second.data<int64_t>();
    std::map<int64_t, int64_t> labels;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto row = ids.subspan(i * kTaskLength, kTaskLength);
      const auto seen = mask.subspan(i * kTaskLength, kTaskLength);
      const auto length = std::count(seen.begin(), seen.end(), 1);
      ASSERT_TRUE(std::is_sorted(seen.rbegin(), seen.rend()));
      ASSERT_EQ(row[0], 1);
      ASSERT_EQ(row[static_cast<size_t>(length) - 1], 31);
      ASSERT_EQ(std::count(row.begin() + length, row.end(), 0), kTaskLength - length);
      const int64_t label = batch.labels.data<int64_t>()[i];
      ASSERT_EQ(label, label_of(task, Sequence(row.begin() + 1, row.begin() + length - 1)))
          << task << " " << i;
      ++labels[label];
    }
    const auto classes = static_cast<int64_t>(data->classes().size());
    EXPECT_EQ(static_cast<int64_t>(labels.size()), classes) << task;
    for (const auto& [label, count] : labels)
      EXPECT_NEAR(static_cast<double>(count), 2000.0 / static_cast<double>(classes), 120) << task;
  }
}

TEST(TokenTasks, PartsDifferAndUnknownTasksAreTold) {
  const auto train = open_dataset("generated-tokens:order", Split::kTrain).value();
  const auto test = open_dataset("generated-tokens:order", Split::kTest).value();
  EXPECT_EQ(train->size(), 4000);
  const std::vector<int64_t> first = {0, 1, 2, 3};
  EXPECT_FALSE(train->batch(first).value().inputs[0].second.identical(
      test->batch(first).value().inputs[0].second));
  const auto unknown = open_dataset("generated-tokens:ordre", Split::kTest);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text().find("order"), std::string::npos);
}

} // namespace
} // namespace octet
