// SPDX-License-Identifier: Apache-2.0
#include "data/token_tasks.h"

#include <algorithm>

#include "core/format.h"
#include "core/philox.h"
#include "core/string_util.h"
#include "data/arrays.h"

namespace octet {
namespace {

constexpr int64_t kTrainSequences = 4000;
constexpr int64_t kTestSequences = 2000;
constexpr int64_t kShortest = 8;
constexpr int64_t kBeginToken = 1, kEndToken = 31; ///< what every sequence begins and ends with
constexpr int64_t kTaskToken = 2, kOtherToken = 3; ///< tokens that tasks are about
constexpr int64_t kFillerToken = 18;               ///< the first of those that they are not about
constexpr uint64_t kTaskSeed = 20240911;

using Tokens = std::vector<int64_t>;

/// Two different places in [0, n), the smaller one first.
std::pair<size_t, size_t> two_places(Philox& random, size_t n) {
  const auto a = static_cast<size_t>(random.below(static_cast<int64_t>(n)));
  auto b = static_cast<size_t>(random.below(static_cast<int64_t>(n) - 1));
  if (b >= a) ++b;
  return std::minmax(a, b);
}

/// Each fills what stands between the first and the last token, which holds fillers, for a label.
void draw_contains(Philox& random, Tokens& inner, int64_t label) {
  if (label == 1)
    inner[static_cast<size_t>(random.below(static_cast<int64_t>(inner.size())))] = kTaskToken;
}

void draw_majority(Philox& random, Tokens& inner, int64_t label) {
  const auto size = static_cast<int64_t>(inner.size());
  const int64_t more = size / 2 + 1 + random.below(size / 4 + 1);
  for (size_t i = 0; i < inner.size(); ++i) {
    const bool high = (static_cast<int64_t>(i) < more) == (label == 1);
    inner[i] = (high ? 10 : 2) + random.below(8);
  }
  for (size_t i = inner.size(); i > 1; --i)
    std::swap(inner[i - 1], inner[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
}

void draw_order(Philox& random, Tokens& inner, int64_t label) {
  const auto [a, b] = two_places(random, inner.size());
  inner[a] = label == 1 ? kOtherToken : kTaskToken;
  inner[b] = label == 1 ? kTaskToken : kOtherToken;
}

void draw_adjacent(Philox& random, Tokens& inner, int64_t label) {
  if (label == 1) {
    const auto at = static_cast<size_t>(random.below(static_cast<int64_t>(inner.size()) - 1));
    inner[at] = kTaskToken;
    inner[at + 1] = kOtherToken;
    return;
  }
  auto [a, b] = two_places(random, inner.size());
  if (b == a + 1) std::swap(a, b);
  inner[a] = kTaskToken;
  inner[b] = kOtherToken;
}

void draw_ends(Philox& random, Tokens& inner, int64_t label) {
  constexpr int64_t kKinds = 4;
  const int64_t first = random.below(kKinds);
  const int64_t other = (first + 1 + random.below(kKinds - 1)) % kKinds;
  inner.front() = kTaskToken + first;
  inner.back() = kTaskToken + (label == 1 ? first : other);
}

void draw_count(Philox& random, Tokens& inner, int64_t label) {
  for (int64_t placed = 0; placed < label;) {
    int64_t& token = inner[static_cast<size_t>(random.below(static_cast<int64_t>(inner.size())))];
    if (token == kTaskToken) continue;
    token = kTaskToken;
    ++placed;
  }
}

struct TokenTask {
  std::string_view name;
  int64_t classes;
  void (*draw)(Philox& random, Tokens& inner, int64_t label);
};

constexpr TokenTask kTokenTasks[] = {
    {"contains", 2, draw_contains}, {"majority", 2, draw_majority}, {"order", 2, draw_order},
    {"adjacent", 2, draw_adjacent}, {"ends", 2, draw_ends},         {"count", 4, draw_count},
};

} // namespace

std::vector<std::string> token_tasks() {
  std::vector<std::string> out;
  for (const TokenTask& task : kTokenTasks)
    out.emplace_back(task.name);
  return out;
}

Result<std::shared_ptr<const Dataset>> open_token_task(const std::string& name, Split split) {
  const auto* task = std::find_if(std::begin(kTokenTasks), std::end(kTokenTasks),
                                  [&](const TokenTask& row) { return row.name == name; });
  if (task == std::end(kTokenTasks))
    return error(ErrorCode::kNotFound, "no task \"{}\" of generated tokens{}; known are {}", name,
                 suggestion(name, token_tasks()), join(token_tasks(), ", "));
  const bool train = split == Split::kTrain;
  const int64_t count = train ? kTrainSequences : kTestSequences;
  Tensor ids = OCTET_TRY(Tensor::zeros(DType::kInt64, {count, kTaskLength}));
  Tensor mask = OCTET_TRY(Tensor::zeros(DType::kInt64, {count, kTaskLength}));
  Tensor labels = OCTET_TRY(Tensor::zeros(DType::kInt64, {count}));
  Philox random(kTaskSeed,
                static_cast<uint64_t>(2 * (task - std::begin(kTokenTasks)) + (train ? 0 : 1)));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = random.below(task->classes);
    const int64_t length = kShortest + random.below(kTaskLength - kShortest + 1);
    Tokens inner(static_cast<size_t>(length - 2));
    for (int64_t& token : inner)
      token = kFillerToken + random.below(kEndToken - kFillerToken);
    task->draw(random, inner, label);
    int64_t* row = &ids.mutable_data<int64_t>()[static_cast<size_t>(i * kTaskLength)];
    row[0] = kBeginToken;
    std::copy(inner.begin(), inner.end(), row + 1);
    row[length - 1] = kEndToken;
    std::fill_n(&mask.mutable_data<int64_t>()[static_cast<size_t>(i * kTaskLength)], length, 1);
    labels.mutable_data<int64_t>()[static_cast<size_t>(i)] = label;
  }
  return make_array_dataset({{"input_ids", ids}, {"attention_mask", mask}, {"labels", labels}},
                            split, "generated-tokens:" + name);
}

} // namespace octet
