// SPDX-License-Identifier: Apache-2.0
// Text data sets from files: what is read, and that every fault is one line with file and line.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "data/folder.h"
#include "data/gzip.h"
#include "data/kinds.h"
#include "support/backend.h"
#include "support/paths.h"
#include <gtest/gtest.h>

#include "octet/text_source.h"

namespace octet {
namespace {

using test::contains;
using test::Folder;
using Source = std::shared_ptr<const TextSource>;

Source opened(const std::string& spec, Split split = Split::kTrain) {
  Result<Source> source = open_text(spec, split);
  EXPECT_TRUE(source.ok()) << (source.ok() ? "" : source.error().text());
  return source.ok() ? *source : nullptr;
}

std::string failure(const std::string& spec, Split split = Split::kTrain) {
  const Result<Source> source = open_text(spec, split);
  EXPECT_FALSE(source.ok()) << spec;
  std::string text = source.ok() ? "" : source.error().text();
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  return text;
}

TextExample at(const Source& source, int64_t index) {
  return source->example(index).value();
}

TEST(Tsv, NamedColumnsAndNoQuoting) {
  const Folder folder;
  const std::string path = folder.write("a.tsv", "\xEF\xBB\xBFid\tsentence\tlabel\r\n"
                                                 "1\tsays \"well\r\n"
                                                 "\r\n");
  EXPECT_TRUE(contains(failure("tsv:" + path + "?text=sentence"), path + " line 2: 2 columns"));
  folder.write("a.tsv", "id\tsentence\tlabel\r\n1\tsays \"well\t1\r\n\r\n2\t caf\xC3\xA9 \t0");
  const Source source = opened("tsv:" + path + "?text=sentence");
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(at(source, 0).text, "says \"well");
  EXPECT_EQ(at(source, 0).label, 1);
  EXPECT_EQ(at(source, 1).text, " caf\xC3\xA9 ");
  EXPECT_EQ(source->classes(), (std::vector<std::string>{"0", "1"}));
  EXPECT_FALSE(source->pairs());
  EXPECT_FALSE(source->example(2).ok());
  EXPECT_FALSE(source->example(-1).ok());
}

TEST(Tsv, ColumnsByNumberWithoutAHeaderAndSeveralGzippedFiles) {
  const Folder folder;
  const std::string plain = folder.write("a.tsv", "0\tone\n1\ttwo\n");
  const std::string content = "1\tthree\n";
  const std::string packed =
      folder.write("b.tsv.gz", gzip_compress(std::as_bytes(std::span(content))));
  const Source source = opened("tsv:" + plain + "," + packed + "?text=2&label=1&header=no");
  ASSERT_EQ(source->size(), 3);
  EXPECT_EQ(at(source, 1).text, "two");
  EXPECT_EQ(at(source, 2).text, "three");
  EXPECT_EQ(at(source, 2).label, 1);
  EXPECT_TRUE(contains(failure("tsv:" + plain + "?text=3&header=no"), "no column 3 among 2"));
}

// The examples of RFC 4180, section 2, and what they mean.
TEST(Csv, ReadsTheExamplesOfTheStandard) {
  const Folder folder;
  const std::string path = folder.write("a.csv", "text,b,c\r\n"
                                                 "aaa,bbb,ccc\r\n"
                                                 "\"aaa\",\"b \r\nbb\",\"ccc\"\r\n"
                                                 "zzz,yyy,xxx\n"
                                                 "\"a\"\"aa\",\"b,bb\",\"\"");
  const Source source = opened("csv:" + path + "?text2=b");
  ASSERT_EQ(source->size(), 4);
  EXPECT_TRUE(source->pairs());
  EXPECT_TRUE(source->classes().empty());
  EXPECT_EQ(at(source, 1).text, "aaa");
  EXPECT_EQ(at(source, 1).text2, "b \r\nbb");
  EXPECT_EQ(at(source, 2).text2, "yyy");
  EXPECT_EQ(at(source, 3).text, "a\"aa");
  EXPECT_EQ(at(source, 3).text2, "b,bb");
  EXPECT_EQ(at(source, 3).label, -1);
}

TEST(Csv, ErrorsCountLinesAcrossQuotedOnes) {
  const Folder folder;
  const std::string path = folder.write("a.csv", "text,label\n\"two\nlines\",1\nmore,2,3\n");
  EXPECT_TRUE(contains(failure("csv:" + path), path + " line 4: 3 columns, line 1 has 2"));
  folder.write("a.csv", "text,label\nx,1\n\"open,2\nrest\n");
  EXPECT_TRUE(contains(failure("csv:" + path), "line 3: the quoted column 1 does not end"));
  folder.write("a.csv", "text,label\n\"x\"y,1\n");
  EXPECT_TRUE(contains(failure("csv:" + path), "line 2: column 1 goes on after its closing quote"));
}

TEST(Jsonl, ReadsStringsIntegersAndBooleans) {
  const Folder folder;
  const std::string path = folder.write(
      "a.jsonl", "{\"q\": \"caf\\u00e9\\n\", \"a\": \"b\", \"label\": true}\n\n"
                 "{\"label\": false, \"a\": \"c\", \"q\": \"d\", \"more\": [1, {}]}\n");
  const Source source = opened("jsonl:" + path + "?text=q&text2=a");
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(at(source, 0).text, "caf\xC3\xA9\n");
  EXPECT_EQ(at(source, 0).text2, "b");
  EXPECT_EQ(source->classes(), (std::vector<std::string>{"false", "true"}));
  EXPECT_EQ(at(source, 0).label, 1);
  EXPECT_TRUE(contains(source->description(), "classes in sorted order: false, true"));
  EXPECT_TRUE(contains(failure("jsonl:" + path + "?text=qq"), "line 1: no key \"qq\""));
  folder.write("a.jsonl", "{\"text\": \"a\"}\n{\"text\": \"a\"\n");
  EXPECT_TRUE(contains(failure("jsonl:" + path), "line 2: no valid JSON"));
  folder.write("a.jsonl", "{\"text\": \"a\"}\n[1]\n");
  EXPECT_TRUE(contains(failure("jsonl:" + path), "line 2: a JSON array"));
  folder.write("a.jsonl", "{\"text\": 3}\n");
  EXPECT_TRUE(contains(failure("jsonl:" + path), "line 1: \"text\" is a number"));
  folder.write("a.jsonl", "{\"text\": \"a\", \"label\": 0.5}\n");
  EXPECT_TRUE(contains(failure("jsonl:" + path), "labels are integers, strings or booleans"));
}

TEST(Labels, NamesAreSortedAndSharedWithTheTestFile) {
  const Folder folder;
  const std::string train = folder.write("a.tsv", "text\tlabel\na\tsport\nb\tart\nc\tsport\n");
  const std::string test_file = folder.write("b.tsv", "text\tlabel\nd\tsport\n");
  const std::string spec = "tsv:" + train + "?test=" + test_file;
  const Source source = opened(spec, Split::kTest);
  EXPECT_EQ(source->size(), 1);
  EXPECT_EQ(source->classes(), (std::vector<std::string>{"art", "sport"}));
  EXPECT_EQ(at(source, 0).label, 1);
  folder.write("b.tsv", "text\tlabel\nd\tsport\ne\tsports\n");
  const std::string text = failure(spec, Split::kTest);
  EXPECT_TRUE(contains(text, test_file + " line 3: label \"sports\" is none of the 2 classes"));
  EXPECT_TRUE(contains(text, "did you mean \"sport\""));
}

TEST(Labels, OutOfRangeIsAnError) {
  const Folder folder;
  const std::string path = folder.write("a.tsv", "text\tlabel\na\t0\nb\t2\n");
  EXPECT_EQ(opened("tsv:" + path)->classes().size(), 3U);
  EXPECT_EQ(at(opened("tsv:" + path + "?classes=no,yes,maybe"), 1).label, 2);
  EXPECT_TRUE(contains(failure("tsv:" + path + "?classes=no,yes"),
                       path + " line 3: label 2 is out of range; there are 2 classes"));
  folder.write("a.tsv", "text\tlabel\na\t0\nb\t-2\n");
  EXPECT_TRUE(contains(failure("tsv:" + path), "line 3: label -2 is out of range"));
  folder.write("a.tsv", "text\tlabel\na\t0\nb\t123456789\n");
  EXPECT_TRUE(contains(failure("tsv:" + path), "label 123456789 is out of range"));
  folder.write("a.tsv", "text\tlabel\na\t0\nb\t-1\n");
  EXPECT_TRUE(contains(failure("tsv:" + path), "line 3: the row is unlabelled (-1)"));
  folder.write("a.tsv", "text\tlabel\na\t0\nb\t \n");
  EXPECT_TRUE(contains(failure("tsv:" + path), "line 3: the label is empty"));
  folder.write("a.tsv", "text\tlabel\na\t-1\nb\t-1\n");
  EXPECT_TRUE(opened("tsv:" + path)->classes().empty());
}

TEST(TextFiles, FaultsNameFileAndLine) {
  const Folder folder;
  const std::string path = folder.write("a.tsv", "text\tlabel\na\t0\n \t1\n");
  EXPECT_TRUE(contains(failure("tsv:" + path), path + " line 3: the text is empty"));
  EXPECT_TRUE(contains(failure("tsv:" + path + "?text=txt"), "did you mean \"text\""));
  EXPECT_TRUE(contains(failure("tsv:" + path + "?text=a&txt=b"), "did you mean \"text\""));
  EXPECT_TRUE(contains(failure("tsv:" + path + "?test=0%"), "test=1% to test=99%"));
  folder.write("a.tsv", "");
  EXPECT_TRUE(contains(failure("tsv:" + path), path + " is empty"));
  EXPECT_TRUE(contains(failure("jsonl:" + path), path + " is empty"));
  EXPECT_TRUE(contains(failure("text:" + path), path + " has no text"));
  folder.write("a.tsv", "text\tlabel\n");
  EXPECT_TRUE(contains(failure("tsv:" + path), path + " has no rows"));
  folder.write("a.tsv", "text\ttext\na\tb\n");
  EXPECT_TRUE(contains(failure("tsv:" + path), "two columns are named \"text\""));
  const std::string content = "text\n" + std::string(1000, 'a');
  const std::string packed = gzip_compress(std::as_bytes(std::span(content)));
  folder.write("a.tsv", packed.substr(0, packed.size() - 9));
  EXPECT_TRUE(contains(failure("tsv:" + path), path + " is truncated"));
  EXPECT_TRUE(contains(failure("tsv:/no/such.tsv"), "/no/such.tsv"));
  EXPECT_TRUE(contains(failure("tsv"), "write tsv:FILE"));
  EXPECT_TRUE(contains(failure("imbd:x"), "did you mean \"imdb\""));
  EXPECT_TRUE(contains(failure("reviews:x"), "write reviews"));
  EXPECT_TRUE(contains(failure("tsv:a,,b"), "names an empty file"));
  EXPECT_TRUE(contains(failure("tsv:a?text="), "write key=value"));
}

TEST(Corpus, DocumentsAreApartByBlankLines) {
  const Folder folder;
  const std::string path = folder.write("a.txt", "\n\nOne. Two.\nThree.\n \t\n\nFour.\r\nFive.");
  const Source source = opened("text:" + path);
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(at(source, 0).text, "One. Two.\nThree.");
  EXPECT_EQ(at(source, 1).text, "Four.\r\nFive.");
  EXPECT_EQ(opened("text:" + path + "?documents=lines")->size(), 4);
  std::string lines;
  for (int i = 0; i < 3000; ++i)
    lines += std::string(999, 'a') + "\n";
  folder.write("a.txt", lines);
  EXPECT_EQ(opened("text:" + path)->size(), 3); // 1 MiB holds 1048 such lines
}

TEST(HeldOut, PartsAreDisjointCompleteAndStable) {
  const Folder folder;
  std::string rows = "text\n";
  for (int i = 0; i < 2000; ++i)
    rows += "row " + std::to_string(i) + "\n";
  const std::string path = folder.write("a.tsv", rows);
  const std::string spec = "tsv:" + path + "?test=10%";
  const Source train = opened(spec);
  const Source held_out = opened(spec, Split::kTest);
  EXPECT_EQ(train->size() + held_out->size(), 2000);
  EXPECT_NEAR(static_cast<double>(held_out->size()), 200, 54); // four standard deviations
  std::vector<std::string> all;
  for (const Source& part : {train, held_out}) {
    for (int64_t i = 0; i < part->size(); ++i)
      all.push_back(at(part, i).text);
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
  EXPECT_TRUE(contains(opened("tsv:" + path)->description(), "the same for training and testing"));
}

std::string imdb_rows(const std::string& label, int count) {
  std::string rows;
  for (int i = 0; i < count; ++i)
    rows += std::to_string(i) + "\t7\t" + label + "\tA \"film\"<br />number " + std::to_string(i) +
            "\n";
  return rows;
}

TEST(Imdb, ReadsTablesWithoutAHeader) {
  const Folder folder;
  folder.write("train.tsv", imdb_rows("0", 2) + imdb_rows("1", 3));
  folder.write("test.tsv", imdb_rows("1", 1));
  folder.write("unsup.tsv", imdb_rows("-1", 4));
  const std::string spec = "imdb:" + folder.path();
  const Source train = opened(spec);
  EXPECT_EQ(train->size(), 5);
  EXPECT_EQ(train->description(), "IMDB, 5 training reviews");
  EXPECT_EQ(train->classes(), (std::vector<std::string>{"negative", "positive"}));
  EXPECT_EQ(at(train, 0).text, "A \"film\"<br />number 0");
  EXPECT_EQ(at(train, 0).label, 0);
  EXPECT_EQ(at(train, 4).label, 1);
  EXPECT_EQ(opened(spec, Split::kTest)->description(), "IMDB, 1 test review");
  const Source unlabelled = opened(spec + "?split=unsup");
  EXPECT_EQ(unlabelled->size(), 4);
  EXPECT_TRUE(unlabelled->classes().empty());
  EXPECT_EQ(at(unlabelled, 0).label, -1);
  EXPECT_EQ(open_corpus(spec, Split::kTrain).value()->size(), 4);
  EXPECT_EQ(open_corpus(spec, Split::kTest).value()->size(), 1);
  EXPECT_TRUE(contains(failure("imdb:/no/such"), "no train.tsv.gz"));
  folder.write("test.tsv", imdb_rows("2", 1));
  EXPECT_TRUE(contains(failure(spec, Split::kTest), "line 1: label 2 is out of range"));
}

/// Sizes and balance as Maas et al. state them.
TEST(Imdb, TheRealReviewsAreComplete) {
  const std::string folder = test::data_dir() + "/imdb";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "no IMDB reviews in " << folder << "; set OCTET_DATA to run this test";
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const Source source = opened("imdb:" + folder, split);
    ASSERT_EQ(source->size(), 25000);
    int64_t positive = 0;
    for (int64_t i = 0; i < source->size(); ++i)
      positive += at(source, i).label;
    EXPECT_EQ(positive, 12500);
  }
  EXPECT_EQ(open_corpus("imdb:" + folder, Split::kTrain).value()->size(), 50000);
}

TEST(Imdb, ReadsTheFolderOfSingleFiles) {
  const Folder folder;
  for (const char* name : {"train/neg", "train/pos", "train/unsup", "test/neg", "test/pos"}) {
    std::filesystem::create_directories(folder.path(name));
    folder.write(std::string(name) + "/10_8.txt", std::string(name) + " ten");
    folder.write(std::string(name) + "/9_7.txt", std::string(name) + " nine");
  }
  const Source train = opened("imdb:" + folder.path());
  ASSERT_EQ(train->size(), 4);
  EXPECT_EQ(at(train, 0).text, "train/neg nine");
  EXPECT_EQ(at(train, 1).text, "train/neg ten");
  EXPECT_EQ(at(train, 3).text, "train/pos ten");
  EXPECT_EQ(at(train, 3).label, 1);
  EXPECT_EQ(open_corpus("imdb:" + folder.path(), Split::kTrain).value()->size(), 2);
  folder.write("test/pos/9_7.txt", "");
  EXPECT_TRUE(contains(failure("imdb:" + folder.path(), Split::kTest), "9_7.txt is empty"));
}

TEST(TextSpecs, UnknownKindsAreToldWhatThereIs) {
  const Folder folder;
  const std::string path = folder.write("reviews.tsv", "label\ttext\n0\ta\n");
  const auto unknown = [](const std::string& spec) {
    return open_dataset(spec, Split::kTrain).error().text();
  };
  EXPECT_TRUE(contains(unknown(path), "write tsv:" + path)) << unknown(path);
  EXPECT_TRUE(contains(unknown(folder.path() + "/gone.csv"), "there is no "));
  EXPECT_TRUE(contains(unknown(folder.path()), "a path without its kind; write one of "));
  folder.write("train.tsv", "");
  folder.write("unsup.tsv.gz", "");
  EXPECT_TRUE(contains(unknown(folder.path()), "write imdb:" + folder.path()));
  const Folder images;
  images.write("train-images-idx3-ubyte.gz", "");
  EXPECT_TRUE(
      contains(unknown(images.path()), "write fashion-mnist:" + images.path() + " or mnist:"));
  EXPECT_TRUE(contains(unknown("imbd:x"), "did you mean \"imdb\"?")) << unknown("imbd:x");
  EXPECT_TRUE(contains(unknown("imbd:x"), "jsonl:FILE")) << unknown("imbd:x");
  EXPECT_TRUE(contains(unknown("imbd:x"), "fashion-mnist:DIR")) << unknown("imbd:x");
  EXPECT_TRUE(contains(unknown_text("generated").text(), "names no texts; use imdb:DIR"));
}

TEST(TextSpecs, AreToldFromOthers) {
  EXPECT_TRUE(is_text_spec("imdb:x"));
  EXPECT_TRUE(is_text_spec("reviews"));
  EXPECT_FALSE(is_text_spec("npz:x"));
  EXPECT_FALSE(is_text_spec("generated"));
  const auto wrong = open_dataset("imdb:x", Split::kTrain);
  EXPECT_TRUE(contains(wrong.error().text(), "needs a tokenizer"));
}

} // namespace
} // namespace octet
