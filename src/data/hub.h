// SPDX-License-Identifier: Apache-2.0
// Models from a hub as Hugging Face runs it: a revision becomes a commit, files are downloaded from
// that commit, checked, and kept under it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"

#include "octet/result.h"

namespace octet {

/// `owner/name`, or `name` as the oldest models have it, and a branch, tag or commit.
struct HubModel {
  std::string name;
  std::string revision = "main";
};

/// `owner/name[@revision]`; nullopt: no such name, but perhaps a path.
std::optional<HubModel> parse_hub_model(std::string_view text);

/// Where a hub is and who asks.
struct HubAccess {
  std::string endpoint = "https://huggingface.co";
  std::string token;  ///< empty: none
  std::string notice; ///< what to tell, such as a token that is not sent; empty: nothing
};
/// By HF_ENDPOINT, and HF_TOKEN or the file that HF_TOKEN_PATH, HF_HOME or the user's cache names. A
/// token goes over https alone, or to this machine. Errors: an endpoint that is no URL, a token with
/// what no token has.
Result<HubAccess> hub_access();

struct FetchedModel {
  std::string folder;
  std::string source; ///< `hf:owner/name@commit`
};
/// Downloads what an import takes (configuration, tokenizer, weights in safetensors, in parts too)
/// into the user's cache, and returns the folder. A commit that is there whole is not asked for
/// again. Errors: no such model or revision, one that wants a token, none of the weights as
/// safetensors, files that are not what the hub says of them.
Result<FetchedModel>
fetch_hub_model(const HubModel& model, const HubAccess& access, const Callbacks& callbacks = {});

/// One file as the hub lists it.
struct HubFile {
  std::string name;
  int64_t size = -1;  ///< below 0: it does not say
  std::string sha256; ///< 64 hexadecimal digits, or empty
  std::string git_id; ///< 40, or empty
};

/// The commit behind a revision and its files.
struct HubList {
  std::string commit; ///< 40 hexadecimal digits
  std::vector<HubFile> files;
};

/// Errors: no JSON, no commit, no list of files. What an entry says otherwise than hubs do is left
/// out.
Result<HubList> parse_hub_list(std::string_view text);

/// The files that an index of weights names: names alone, without folders. Errors: no JSON, no
/// object "weight_map", a part that is no such name.
Result<std::set<std::string>> parse_weight_index(std::string_view text);

/// A part of a model's name, a branch's, or a file's.
bool is_hub_word(std::string_view text);
bool is_hex(std::string_view text, size_t digits);

} // namespace octet
