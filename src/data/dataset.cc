// SPDX-License-Identifier: Apache-2.0
// The kinds of data sets, by name.
#include "octet/dataset.h"

#include "core/format.h"
#include "core/string_util.h"
#include "data/arrays.h"
#include "data/images.h"
#include "data/kinds.h"
#include "data/token_tasks.h"

#include "octet/images.h"
#include "octet/text_source.h"

namespace octet {
namespace {

struct SourceKind {
  std::string_view name;
  std::string_view argument; ///< what stands behind the colon; empty: nothing
  Result<std::shared_ptr<const Dataset>> (*open)(const std::string& argument, Split split);
};

constexpr SourceKind kSources[] = {
    {"fashion-mnist", "DIR", open_fashion_mnist},
    {"mnist", "DIR", open_mnist},
    {"images", "DIR",
     [](const std::string& argument, Split split) {
       return open_images("images:" + argument, split);
     }},
    {"npz", "FILE", open_npz},
    {"npy", "x=FILE,y=FILE", open_npy},
    {"generated", "", [](const std::string&, Split split) { return open_generated(split); }},
    {"generated-tokens", "TASK", open_token_task},
};

} // namespace

std::vector<std::string> array_forms() {
  std::vector<std::string> out;
  for (const SourceKind& row : kSources)
    out.push_back(row.argument.empty() ? std::string(row.name)
                                       : fmt::format("{}:{}", row.name, row.argument));
  return out;
}

Result<Batch> Dataset::batch_at(std::span<const int64_t> indices, int64_t /*epoch*/) const {
  return batch(indices);
}

int64_t Dataset::length(int64_t /*index*/) const {
  return 1;
}

const ImagePreparation* Dataset::images() const {
  return nullptr;
}

std::string Dataset::file(int64_t /*index*/) const {
  return {};
}

int64_t Dataset::position(int64_t index) const {
  return index;
}

Result<std::shared_ptr<const Dataset>> open_dataset(std::string_view spec, Split split) {
  const size_t colon = spec.find(':');
  const std::string_view kind = spec.substr(0, colon);
  const std::string argument(colon == std::string_view::npos ? "" : spec.substr(colon + 1));
  for (const SourceKind& row : kSources) {
    if (row.name != kind) continue;
    if (argument.empty() != row.argument.empty()) {
      const char* colon_text = row.argument.empty() ? "" : ":";
      return error("data set \"{}\" is incomplete or says too much; write {}{}{}", spec, kind,
                   colon_text, row.argument);
    }
    return row.open(argument, split);
  }
  if (is_text_spec(spec)) {
    return error(ErrorCode::kUnsupported,
                 "data set \"{}\" is text; this needs a tokenizer: name a model folder that holds "
                 "one, or use the commands for text",
                 spec);
  }
  std::vector<std::string> forms = array_forms();
  const std::vector<std::string> texts = text_forms();
  forms.insert(forms.end(), texts.begin(), texts.end());
  return unknown_kind(spec, std::move(forms));
}

} // namespace octet
