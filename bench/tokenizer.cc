// SPDX-License-Identifier: Apache-2.0
// The tokenizer alone, one thread: IMDB's test reviews and difficult scripts. bench/tokenizer.py
// compares with Hugging Face's.
#include "octet/tokenizer.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "data/gzip.h"
#include <benchmark/benchmark.h>

namespace octet {
namespace {

std::string data_folder() {
  const char* folder = std::getenv("OCTET_DATA");
  return folder != nullptr ? folder : "../shared/data";
}

Result<std::vector<std::string>> reviews() {
  DataFile file = OCTET_TRY(DataFile::open(data_folder() + "/imdb/test.tsv.gz", size_t{1} << 30));
  const std::string content = OCTET_TRY(file.read_all());
  std::vector<std::string> out;
  std::string_view rest = content;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    out.emplace_back(line.substr(line.rfind('\t') + 1));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return out;
}

void encode(benchmark::State& state, const Result<std::vector<std::string>>& texts, bool offsets) {
  const Result<Tokenizer> tokenizer = Tokenizer::load(data_folder() + "/vocab/bert-base-uncased");
  if (!tokenizer.ok() || !texts.ok()) {
    const Error& error = tokenizer.ok() ? texts.error() : tokenizer.error();
    state.SkipWithError(("set OCTET_DATA: " + error.text()).c_str());
    return;
  }
  size_t bytes = 0;
  size_t tokens = 0;
  for ([[maybe_unused]] auto _ : state)
    for (const std::string& text : *texts) {
      tokens += tokenizer->encode(text, {.offsets = offsets}).ids.size();
      bytes += text.size();
    }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  state.counters["tokens"] =
      benchmark::Counter(static_cast<double>(tokens), benchmark::Counter::kIsRate);
}

std::vector<std::string> repeated(std::string_view words) {
  std::vector<std::string> out(100);
  for (std::string& text : out)
    for (int i = 0; i < 20; ++i)
      text += words;
  return out;
}

void bm_reviews(benchmark::State& state) {
  encode(state, reviews(), state.range(0) != 0);
}
void bm_russian(benchmark::State& state) {
  encode(state, repeated("Фильм оказался на удивление хорошим, хотя начало было скучным. "), false);
}
void bm_chinese(benchmark::State& state) {
  encode(state, repeated("这部电影出人意料地好看，虽然开头有点无聊。"), false);
}
void bm_accents(benchmark::State& state) {
  encode(state, repeated("L'été où la fée s'éveilla à l'Opéra, déçue et gênée. "), false);
}

BENCHMARK(bm_reviews)->ArgName("offsets")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(bm_russian);
BENCHMARK(bm_chinese);
BENCHMARK(bm_accents);

} // namespace
} // namespace octet
