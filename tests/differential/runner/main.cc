// SPDX-License-Identifier: Apache-2.0
// Answers requests on the standard input, one model each, on the standard output, until the end of
// the input. A message is a number of blobs (u32), then each with its length (u64) before it.
// Request: {"sets": n, "variant": n, "bounds": bool}, the model, then for each set of inputs one TensorProto for
// each input of the model. Reply: {"blobs": [names], "refusals": {}, "findings": []}, then the
// blobs: "<what>/<set>/<output>" are TensorProtos, "file/<what>" is a model.
#include <cstdio>
#include <cstring>

#include "runner/answers.h"
#include <nlohmann/json.hpp>

#include "octet/onnx.h"

namespace octet::differential {
namespace {

using Blobs = std::vector<std::string>;

bool read_bytes(void* to, size_t size) {
  return std::fread(to, 1, size, stdin) == size;
}

/// False at the end of the input.
bool read_message(Blobs& out) {
  uint32_t count = 0;
  if (!read_bytes(&count, sizeof(count))) return false;
  out.assign(count, {});
  for (std::string& blob : out) {
    uint64_t size = 0;
    if (!read_bytes(&size, sizeof(size))) return false;
    blob.resize(size);
    if (!read_bytes(blob.data(), size)) return false;
  }
  return true;
}

void write_message(const Blobs& blobs) {
  const auto count = static_cast<uint32_t>(blobs.size());
  std::fwrite(&count, sizeof(count), 1, stdout);
  for (const std::string& blob : blobs) {
    const uint64_t size = blob.size();
    std::fwrite(&size, sizeof(size), 1, stdout);
    std::fwrite(blob.data(), 1, size, stdout);
  }
  std::fflush(stdout);
}

std::shared_ptr<const Buffer> buffer(const std::string& blob) {
  auto out = Buffer::allocate(blob.size());
  std::memcpy(out->writable(), blob.data(), blob.size());
  return out;
}

Result<Answers> answer_request(const Blobs& request) {
  const auto options = nlohmann::json::parse(request.at(0));
  const Graph graph = OCTET_TRY_WITH(parse_onnx(buffer(request.at(1))), "load");
  const size_t inputs = graph.inputs().size();
  InputSets sets(options.at("sets").get<size_t>());
  for (size_t set = 0; set < sets.size(); ++set)
    for (size_t i = 0; i < inputs; ++i)
      sets[set].push_back(
          OCTET_TRY(parse_tensor_proto(buffer(request.at(2 + set * inputs + i)))).tensor);
  return answer(graph, sets, options.at("variant").get<int64_t>(),
                options.at("bounds").get<bool>());
}

Blobs reply_to(const Blobs& request) {
  Result<Answers> answers = answer_request(request);
  if (!answers.ok()) {
    const std::string text = answers.error().text();
    answers = Answers{};
    answers->refusals["load"] = text;
  }
  Blobs reply(1);
  nlohmann::json names = nlohmann::json::array();
  const auto add = [&](const std::string& name, std::string blob) {
    names.push_back(name);
    reply.push_back(std::move(blob));
  };
  for (const auto& [what, sets] : answers->outputs)
    for (size_t set = 0; set < sets.size(); ++set)
      for (size_t k = 0; k < sets[set].size(); ++k)
        if (!sets[set][k].empty())
          add(what + "/" + std::to_string(set) + "/" + std::to_string(k),
              serialize_tensor_proto({"", sets[set][k]}));
  for (const auto& [what, file] : answers->files)
    add("file/" + what, file);
  reply[0] = nlohmann::json{{"blobs", names},
                            {"refusals", answers->refusals},
                            {"findings", answers->findings}}
                 .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return reply;
}

} // namespace
} // namespace octet::differential

int main() {
  octet::differential::Blobs request;
  while (octet::differential::read_message(request))
    octet::differential::write_message(octet::differential::reply_to(request));
  return 0;
}
