// SPDX-License-Identifier: Apache-2.0
#include "text/model.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/format.h"
#include "core/utf8.h"

namespace octet {
namespace text {
namespace {

std::vector<int32_t> sort_ids(const std::vector<std::string>& tokens) {
  std::vector<int32_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return tokens[static_cast<size_t>(a)] < tokens[static_cast<size_t>(b)];
  });
  return order;
}

int32_t find_sorted(const std::vector<std::string>& tokens,
                    const std::vector<int32_t>& sorted,
                    std::string_view token) {
  const auto at = std::partition_point(sorted.begin(), sorted.end(), [&](int32_t id) {
    return tokens[static_cast<size_t>(id)] < token;
  });
  return at != sorted.end() && tokens[static_cast<size_t>(*at)] == token ? *at : -1;
}

Status check_entries(const Description& d, const std::vector<int32_t>& sorted) {
  constexpr size_t kMaxTokens = size_t{1} << 28;
  if (d.tokens.size() > kMaxTokens)
    return error("the vocabulary has {} entries; at most {} are possible", d.tokens.size(),
                 kMaxTokens);
  for (size_t i = 0; i < sorted.size(); ++i) {
    const std::string& token = d.tokens[static_cast<size_t>(sorted[i])];
    if (token.empty())
      return error("entry {} of the vocabulary is empty; give every id a token", sorted[i]);
    if (!is_utf8(token))
      return error("entry {} of the vocabulary is not UTF-8; is it a vocabulary?", sorted[i]);
    if (i > 0 && token == d.tokens[static_cast<size_t>(sorted[i - 1])])
      return error("entries {} and {} of the vocabulary are both \"{}\"; remove one", sorted[i - 1],
                   sorted[i], token);
  }
  for (const std::string* name : {&d.unk, &d.cls, &d.sep, &d.pad})
    if (find_sorted(d.tokens, sorted, *name) < 0)
      return error("the vocabulary has {} entries but no {}; a BERT vocabulary needs {}, {}, {} "
                   "and {}",
                   d.tokens.size(), *name, d.unk, d.cls, d.sep, d.pad);
  return ok_status();
}

} // namespace

AddedTokens::AddedTokens(const std::vector<std::string>& tokens, std::vector<AddedToken> added)
    : added_(std::move(added)) {
  std::stable_sort(added_.begin(), added_.end(), [&](const AddedToken& a, const AddedToken& b) {
    return tokens[static_cast<size_t>(a.id)].size() > tokens[static_cast<size_t>(b.id)].size();
  });
  for (const AddedToken& token : added_) {
    contents_.push_back(tokens[static_cast<size_t>(token.id)]);
    first_[static_cast<unsigned char>(contents_.back().front())] = true;
  }
  if (std::count(first_.begin(), first_.end(), true) == 1) only_first_ = contents_.front().front();
}

Split AddedTokens::next(std::string_view text) const {
  for (size_t at = 0; at < text.size(); ++at) {
    if (only_first_) {
      const void* found = std::memchr(text.data() + at, *only_first_, text.size() - at);
      if (found == nullptr) break;
      at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    } else if (!first_[static_cast<unsigned char>(text[at])]) {
      continue;
    }
    for (size_t i = 0; i < contents_.size(); ++i)
      if (text.substr(at).starts_with(contents_[i]))
        return {text.substr(0, at), added_[i].id, contents_[i].size()};
  }
  return {text};
}

Result<Tokenizer> build(Description description) {
  std::vector<int32_t> sorted = sort_ids(description.tokens);
  OCTET_TRY(check_entries(description, sorted));
  std::vector<AddedToken> added = std::move(description.added);
  for (const std::string* name : {&description.pad, &description.unk, &description.cls,
                                  &description.sep, &description.mask}) {
    const int32_t id = find_sorted(description.tokens, sorted, *name);
    const bool known = std::any_of(added.begin(), added.end(),
                                   [&](const AddedToken& token) { return token.id == id; });
    if (id >= 0 && !known) added.push_back({id, true});
  }
  return Tokenizer(std::make_shared<Tokenizer::Impl>(std::move(description), std::move(sorted),
                                                     std::move(added)));
}

} // namespace text

Tokenizer::Impl::Impl(text::Description description,
                      std::vector<int32_t> order,
                      std::vector<text::AddedToken> all)
    : tokens(std::move(description.tokens)), sorted(std::move(order)), special(tokens.size()),
      in_model(description.in_model), unk(find(description.unk)), cls(find(description.cls)),
      sep(find(description.sep)), pad(find(description.pad)), mask(find(description.mask)),
      wordpiece(tokens, sorted, in_model, unk, description.max_characters, description.normalizer),
      added(tokens, std::move(all)) {
  for (const text::AddedToken& token : added.list())
    special[static_cast<size_t>(token.id)] = token.special;
}

int32_t Tokenizer::Impl::find(std::string_view token) const {
  return text::find_sorted(tokens, sorted, token);
}

} // namespace octet
