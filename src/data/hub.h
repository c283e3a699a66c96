// SPDX-License-Identifier: Apache-2.0
// Models from a hub as Hugging Face runs it: a revision becomes a commit, files are downloaded from
// that commit, checked, and kept under it.
#pragma once

#include <optional>
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

} // namespace octet
