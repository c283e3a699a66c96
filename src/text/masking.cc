// SPDX-License-Identifier: Apache-2.0
#include "text/masking.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace octet {
namespace {

constexpr int64_t kIgnored = -100;

bool is_share(double value) {
  return value >= 0 && value <= 1;
}

/// [PAD], [unused12] and the like.
bool is_bracketed(std::string_view token) {
  return token.size() > 2 && token.front() == '[' && token.back() == ']';
}

} // namespace

Result<MaskingRule> MaskingRule::create(const Tokenizer& tokenizer, const MaskingOptions& options) {
  if (tokenizer.mask() < 0) {
    return error("the vocabulary of {} tokens has no [MASK]; pretraining needs one: add it to "
                 "vocab.txt or train a vocabulary",
                 tokenizer.size());
  }
  const bool shares = is_share(options.rate) && is_share(options.mask) &&
                      is_share(options.random) && is_share(options.mask + options.random) &&
                      is_share(options.short_rate);
  if (!shares || options.max_predictions < 0) {
    return error("masking rates {} ({} masked, {} random) and {} short rows are not all shares; "
                 "choose numbers from 0 to 1",
                 options.rate, options.mask, options.random, options.short_rate);
  }
  MaskingRule out(SpecialTokens(tokenizer), options);
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string_view token = tokenizer.token(id);
    out.continuation_.push_back(token.substr(0, 2) == "##");
    if (!is_bracketed(token)) out.ordinary_.push_back(id);
  }
  if (out.ordinary_.empty())
    return error("the vocabulary has special tokens only; train one from text");
  return out;
}

std::vector<std::vector<size_t>> MaskingRule::groups_of(const Row& row) const {
  std::vector<std::vector<size_t>> groups;
  bool joins = false; // whether a continuation belongs to the group before it
  for (size_t i = 0; i < row.ids.size(); ++i) {
    const int32_t id = row.ids[i];
    if (id == special_.cls || id == special_.sep || id == special_.pad) {
      joins = false;
      continue;
    }
    const bool same = options_.whole_word && joins && continuation_[static_cast<size_t>(id)];
    if (same)
      groups.back().push_back(i);
    else
      groups.push_back({i});
    joins = true;
  }
  return groups;
}

std::vector<int64_t> MaskingRule::apply(Row& row, Philox& random) const {
  std::vector<int64_t> labels(row.ids.size(), kIgnored);
  std::vector<std::vector<size_t>> groups = groups_of(row);
  size_t ordinary = 0;
  for (const auto& group : groups)
    ordinary += group.size();
  const double wanted = options_.rate * static_cast<double>(ordinary);
  double count = std::floor(wanted);
  if (random.uniform() < wanted - count) ++count;
  if (options_.rate > 0) count = std::max(count, 1.0);
  auto left = static_cast<size_t>(count);
  if (options_.max_predictions > 0)
    left = std::min(left, static_cast<size_t>(options_.max_predictions));
  // The front of a random order, drawn as far as it is needed.
  for (size_t i = 0; i < groups.size() && left > 0; ++i) {
    const auto j = i + static_cast<size_t>(random.below(static_cast<int64_t>(groups.size() - i)));
    std::swap(groups[i], groups[j]);
    if (groups[i].size() > left) continue;
    left -= groups[i].size();
    for (const size_t at : groups[i]) {
      labels[at] = row.ids[at];
      const double draw = random.uniform();
      if (draw < options_.mask) {
        row.ids[at] = special_.mask;
      } else if (draw < options_.mask + options_.random) {
        const auto other = random.below(static_cast<int64_t>(ordinary_.size()));
        row.ids[at] = ordinary_[static_cast<size_t>(other)];
      }
    }
  }
  return labels;
}

} // namespace octet
