// SPDX-License-Identifier: Apache-2.0
#include "protocol/serve.h"

#include <cstdio>
#include <cstring>

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

Result<Request> read_request(const Blobs& blobs) {
  const auto options = nlohmann::json::parse(blobs.at(0));
  Request request{.graph = OCTET_TRY_WITH(parse_onnx(buffer(blobs.at(1))), "load"),
                  .sets = InputSets(options.at("sets").get<size_t>()),
                  .variant = options.at("variant").get<int64_t>(),
                  .bounds = options.at("bounds").get<bool>()};
  const size_t inputs = request.graph.inputs().size();
  for (size_t set = 0; set < request.sets.size(); ++set)
    for (size_t i = 0; i < inputs; ++i)
      request.sets[set].push_back(
          OCTET_TRY(parse_tensor_proto(buffer(blobs.at(2 + set * inputs + i)))).tensor);
  return request;
}

Blobs reply_of(const Answers& answers) {
  Blobs reply(1);
  nlohmann::json names = nlohmann::json::array();
  const auto add = [&](const std::string& name, std::string blob) {
    names.push_back(name);
    reply.push_back(std::move(blob));
  };
  for (const auto& [what, sets] : answers.outputs)
    for (size_t set = 0; set < sets.size(); ++set)
      for (size_t k = 0; k < sets[set].size(); ++k)
        if (!sets[set][k].empty())
          add(what + "/" + std::to_string(set) + "/" + std::to_string(k),
              serialize_tensor_proto({"", sets[set][k]}));
  for (const auto& [what, file] : answers.files)
    add("file/" + what, file);
  reply[0] = nlohmann::json{{"blobs", names},
                            {"refusals", answers.refusals},
                            {"findings", answers.findings},
                            {"counts", answers.counts}}
                 .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return reply;
}

} // namespace

void serve(const std::function<Answers(const Request&)>& answer) {
  Blobs blobs;
  while (read_message(blobs)) {
    const Result<Request> request = read_request(blobs);
    Answers answers;
    if (request.ok())
      answers = answer(*request);
    else
      answers.refusals["load"] = request.error().text();
    write_message(reply_of(answers));
  }
}

} // namespace octet::differential
