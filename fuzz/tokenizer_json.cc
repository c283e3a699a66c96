// SPDX-License-Identifier: Apache-2.0
// tokenizer.json: whatever the bytes are, a tokenizer or an error comes out; what loads is written
// and read back as the same.
#include "text/tokenizer_json.h"

#include <cstdlib>

#include "replay/seeds.h"

namespace {

octet::Result<octet::Tokenizer> parse(const std::string& content) {
  octet::Result<octet::text::Description> description = octet::text::parse_tokenizer_json(content);
  if (!description.ok()) return std::move(description).error();
  return octet::text::build(std::move(*description));
}

} // namespace

namespace octet::fuzz {

std::vector<std::string> seeds() {
  const std::string rest =
      R"("normalizer":{"type":"BertNormalizer","lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},)"
      R"("model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"a":4,"##b":5}}})";
  return {
      R"({"added_tokens":[{"id":6,"content":"<x>","special":true}],)"
      R"("post_processor":{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]},)" +
          rest,
      R"({"post_processor":{"type":"TemplateProcessing",)"
      R"("single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
      R"({"SpecialToken":{"id":"[SEP]","type_id":0}}],)"
      R"("pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
      R"({"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},)"
      R"({"SpecialToken":{"id":"[SEP]","type_id":1}}]},)" +
          rest};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const octet::Result<octet::Tokenizer> tokenizer =
      parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!tokenizer.ok()) return 0;
  const octet::Result<octet::Tokenizer> again =
      parse(octet::text::write_tokenizer_json(tokenizer->impl()));
  if (!again.ok() || again->hash() != tokenizer->hash()) std::abort();
  return 0;
}
