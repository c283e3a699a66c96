// SPDX-License-Identifier: Apache-2.0
// What a hub answers with and what names a model there: whatever the bytes are, files come out whose
// checksums are checksums and whose names lead out of no folder, or an error.
#include <cstdlib>

#include "data/hub.h"
#include "replay/seeds.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  const std::string commit(40, 'a'), sha256(64, 'b');
  return {"{\"sha\":\"" + commit +
              "\",\"siblings\":[{\"rfilename\":\"config.json\",\"size\":12,\"blobId\":\"" + commit +
              "\"},{\"rfilename\":\"model.safetensors\",\"size\":9223372036854775807,"
              "\"lfs\":{\"sha256\":\"" +
              sha256 + "\",\"size\":1}}]}",
          "{\"sha\":\"" + commit +
              "\",\"siblings\":[1,{\"lfs\":[],\"size\":1e3},null,{\"size\":-1}]}",
          R"({"metadata":{"total_size":1},"weight_map":{"a":"model-00001.safetensors","b":3}})",
          "{\"weight_map\":{\"a\":\"../model.safetensors\"}}",
          "owner/name@refs/pr/1",
          "bert-base-uncased@main"};
}

} // namespace octet::fuzz

namespace {

bool leads_away(std::string_view name) {
  return name.empty() || name.front() == '.' || name.find('/') != name.npos ||
         name.find('\\') != name.npos || name.find('\0') != name.npos;
}

void check(bool holds) {
  if (!holds) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto list = octet::parse_hub_list(text); list.ok()) {
    check(octet::is_hex(list->commit, 40));
    for (const octet::HubFile& file : list->files) {
      check(file.sha256.empty() || octet::is_hex(file.sha256, 64));
      check(file.git_id.empty() || octet::is_hex(file.git_id, 40));
    }
  }
  if (const auto parts = octet::parse_weight_index(text); parts.ok())
    for (const std::string& part : *parts)
      check(!leads_away(part));
  if (const auto model = octet::parse_hub_model(text)) {
    check(model->name.size() + model->revision.size() <= size + 4);
    const size_t slash = model->name.find('/');
    check(!leads_away(model->name.substr(0, slash)));
    if (slash != std::string::npos) check(!leads_away(model->name.substr(slash + 1)));
    check(model->revision.find("..") == std::string::npos || !model->revision.starts_with("."));
  }
  return 0;
}
