// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

#include "core/format.h"
#include "core/string_util.h"

namespace octet {
namespace {

constexpr size_t kMaxDocumentBytes = size_t{1} << 20;
constexpr size_t kMaxLineBytes = size_t{1} << 24;

struct DocumentSpan {
  uint64_t begin = 0, end = 0;
  uint32_t file = 0;
};

class Corpus final : public TextSource {
 public:
  Corpus(std::vector<TextFile> files, std::vector<DocumentSpan> documents, std::string description)
      : files_(std::move(files)), documents_(std::move(documents)),
        description_(std::move(description)) {}

  std::string description() const override { return description_; }
  int64_t size() const override { return static_cast<int64_t>(documents_.size()); }
  bool pairs() const override { return false; }
  const std::vector<std::string>& classes() const override { return classes_; }

  Result<TextExample> example(int64_t index) const override {
    if (index < 0 || index >= size())
      return error("document {} is asked for, {} has {}; ask for 0 to {}", index, description_,
                   size(), size() - 1);
    const DocumentSpan& place = documents_[static_cast<size_t>(index)];
    TextExample out;
    out.text = files_[place.file].text().substr(place.begin, place.end - place.begin);
    return out;
  }

 private:
  std::vector<TextFile> files_;
  std::vector<DocumentSpan> documents_;
  std::string description_;
  std::vector<std::string> classes_;
};

/// Calls `emit(begin, end)` for every document.
template <class Emit>
Status split_documents(const TextFile& file, Documents documents, const Emit& emit) {
  const std::string_view text = file.text();
  size_t begin = 0, end = 0; // of the document so far; empty when equal
  const auto flush = [&] {
    if (end > begin) emit(begin, end);
    begin = end = 0;
  };
  for (size_t at = 0; at < text.size();) {
    const size_t line_begin = at;
    const std::string_view line = next_line(text, at);
    if (line.size() > kMaxLineBytes) {
      return error("{}the line has {} bytes, above the limit of {}; break it into sentences",
                   file.place(line_begin), line.size(), kMaxLineBytes);
    }
    if (is_blank(line)) {
      flush();
      continue;
    }
    if (end > begin && line_begin + line.size() - begin > kMaxDocumentBytes) flush();
    if (end == begin) begin = line_begin;
    end = line_begin + line.size();
    if (documents == Documents::kLines) flush();
  }
  flush();
  return ok_status();
}

} // namespace

Result<std::shared_ptr<const TextSource>> make_corpus(std::vector<TextFile> files,
                                                      Documents documents,
                                                      const HeldOut& held_out,
                                                      const Wording& wording) {
  std::vector<DocumentSpan> places;
  int64_t count = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    OCTET_TRY(split_documents(files[i], documents, [&](size_t begin, size_t end) {
      if (belongs_to(held_out, count++)) places.push_back({begin, end, static_cast<uint32_t>(i)});
    }));
  }
  if (places.empty()) {
    return error("{} {}; name a file with text", wording.name,
                 count == 0 ? "has no text" : "has too few documents to hold some out");
  }
  std::string description = fmt::format("{}, {}{}", wording.name,
                                        counted(std::ssize(places), wording.noun), wording.note);
  return std::shared_ptr<const TextSource>(
      std::make_shared<Corpus>(std::move(files), std::move(places), std::move(description)));
}

} // namespace octet
