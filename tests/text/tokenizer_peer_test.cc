// SPDX-License-Identifier: Apache-2.0
// octet's half of tokenizer_peer.py, which runs it: encodes the texts of a file and writes what
// comes out. Both files are 32-bit words and bytes, in the order in which they are read here.
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/atomic_file.h"
#include <gtest/gtest.h>

#include "octet/tokenizer.h"

namespace octet {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string_view take_text(std::string_view& rest) {
  uint32_t size = 0;
  std::memcpy(&size, rest.data(), sizeof size);
  const std::string_view text = rest.substr(sizeof size, size);
  rest.remove_prefix(sizeof size + size);
  return text;
}

template <class T>
void put(std::ofstream& out, const std::vector<T>& values) {
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
}

TEST(TokenizerPeer, DISABLED_EncodesAFile) {
  const std::string folder = variable("OCTET_PEER_FOLDER");
  ASSERT_FALSE(folder.empty()) << "run tests/text/tokenizer_peer.py";
  const Result<Tokenizer> tokenizer = Tokenizer::load(variable("OCTET_PEER_TOKENIZER"));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().text();
  const std::string content = read_file(folder + "/texts", size_t{1} << 32).value();
  std::vector<std::string_view> texts;
  for (std::string_view rest = content; !rest.empty();)
    texts.push_back(take_text(rest));
  EncodeOptions options{.offsets = true, .words = true};
  options.max_length = std::atoi(variable("OCTET_PEER_MAX_LENGTH").c_str());
  std::vector<Encoding> encodings;
  if (variable("OCTET_PEER_PAIRS") == "1") {
    const size_t half = texts.size() / 2;
    encodings =
        tokenizer->encode_batch(std::span(texts).first(half), std::span(texts).last(half), options);
  } else {
    encodings = tokenizer->encode_batch(texts, options);
  }
  std::ofstream out(folder + "/encodings", std::ios::binary);
  std::ofstream decoded(folder + "/decoded", std::ios::binary);
  for (const Encoding& e : encodings) {
    put(out, std::vector<int32_t>{static_cast<int32_t>(e.ids.size())});
    put(out, e.ids);
    put(out, e.offsets);
    put(out, e.words);
    put(out, std::vector<int32_t>(e.type_ids.begin(), e.type_ids.end()));
    put(out, std::vector<int32_t>(e.special.begin(), e.special.end()));
    const std::string text = tokenizer->decode(e.ids);
    put(decoded, std::vector<uint32_t>{static_cast<uint32_t>(text.size())});
    decoded << text;
  }
  ASSERT_TRUE(out.good() && decoded.good());
}

} // namespace
} // namespace octet
