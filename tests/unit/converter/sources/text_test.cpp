#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include <ffkit/converter/convert.h>
#include <ffkit/converter/merge.h>
#include <ffkit/converter/sources.h>
#include <ffkit/format/dataset.h>
#include <ffkit/text/token_data.h>

#include "expect_error.h"
#include "files_of.h"
#include "temp_dir.h"
#include "text_file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::files_of;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::read_file;
using testing::TempDir;
using testing::write_file;

TextOptions with_bytes() {
  return {.tokenizer = "bytes"};
}

// The documents of a split as texts, in its order; each must end with end-of-text.
std::vector<std::string> documents_of(const fs::path& data, const std::string& split = "train") {
  const Dataset dataset = Dataset::open(data, split);
  const Tokenizer tokenizer = stored_tokenizer(data);
  EXPECT_EQ(token_facts(dataset).tokenizer, tokenizer.fingerprint());
  std::vector<std::string> documents;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < dataset.num_records(); ++i) {
    dataset.read(i, bytes);
    const TokenBlock block(RecordView(dataset.schema(), bytes), dataset.schema());
    for (int64_t d = 0; d < block.num_documents(); ++d) {
      std::vector<uint32_t> ids = block.document(d);
      EXPECT_EQ(ids.back(), tokenizer.end_of_text());
      ids.pop_back();
      documents.push_back(tokenizer.decode(ids));
    }
  }
  return documents;
}

std::vector<std::vector<uint32_t>> tokens_of(const fs::path& data) {
  const Dataset dataset = Dataset::open(data, "train");
  std::vector<std::vector<uint32_t>> documents;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < dataset.num_records(); ++i) {
    dataset.read(i, bytes);
    const TokenBlock block(RecordView(dataset.schema(), bytes), dataset.schema());
    for (int64_t d = 0; d < block.num_documents(); ++d) documents.push_back(block.document(d));
  }
  return documents;
}

ConvertSummary convert_text(const fs::path& from, const fs::path& to, const TextOptions& options,
                            ConvertOptions how = {.order = RecordOrder::source}) {
  return convert(*open_text(from, options), to, how);
}

TEST(Text, TakesTheTextsOfJsonLines) {
  const TempDir dir;
  write_file(dir / "in/train-0.jsonl",
             "\xEF\xBB\xBF{\"text\": \"a\\nb\", \"id\": 1}\r\n\n{\"text\": \"\"}\n  \n{\"id\": 2, "
             "\"text\": \"\\u00fc\"}");
  write_file(dir / "in/val.jsonl", "{\"text\": \"v\"}\n");
  const ConvertSummary summary = convert_text(dir / "in", dir / "out", with_bytes());
  EXPECT_THAT(documents_of(dir / "out"), ElementsAre("a\nb", "\xC3\xBC"));
  EXPECT_THAT(documents_of(dir / "out", "val"), ElementsAre("v"));
  EXPECT_THAT(list_splits(dir / "out"), ElementsAre("tokenizer", "train", "val"));
  ASSERT_EQ(summary.splits.size(), 3U);
  EXPECT_THAT(summary.splits[0].totals, ElementsAre(Pair("num_documents", 2), Pair("num_tokens", 7),
                                                    Pair("text_bytes", 5), Pair("num_empty", 1)));
  EXPECT_TRUE(summary.splits[2].totals.empty());
  const TokenFacts facts = token_facts(Dataset::open(dir / "out", "train"));
  EXPECT_EQ(facts.vocabulary_size, 257);
  EXPECT_EQ(facts.end_of_text, 256U);
  EXPECT_THAT(Dataset::open(dir / "out", "train").string_column("id"),
              ElementsAre("train-0.jsonl:1"));
  EXPECT_EQ(stored_tokenizer(dir / "out/train").fingerprint(), Tokenizer::bytes().fingerprint());
}

TEST(Text, DocumentsAreFilesOrLines) {
  const TempDir dir;
  write_file(dir / "in/a/1.txt", "one\n");
  write_file(dir / "in/a/b/2.txt", "\xEF\xBB\xBFtwo");
  write_file(dir / "in/3.txt", "three\r\n\nmore");
  write_file(dir / "in/4.md", "not taken");
  convert_text(dir / "in", dir / "files", with_bytes());
  EXPECT_THAT(documents_of(dir / "files"), ElementsAre("three\r\n\nmore", "one\n", "two"));
  TextOptions lines = with_bytes();
  lines.document = "line";
  const ConvertSummary summary = convert_text(dir / "in", dir / "lines", lines);
  EXPECT_THAT(documents_of(dir / "lines"), ElementsAre("three", "more", "one", "two"));
  EXPECT_EQ(summary.splits[0].totals[3].second, 1);  // the empty line
  TextOptions other = with_bytes();
  other.ending = ".md";
  convert_text(dir / "in", dir / "md", other);
  EXPECT_THAT(documents_of(dir / "md"), ElementsAre("not taken"));
}

TEST(Text, FoldersWithNamesOfSplitsAreSplits) {
  const TempDir dir;
  write_file(dir / "in/train/x/1.txt", "t");
  write_file(dir / "in/validation/2.txt", "v");
  convert_text(dir / "in", dir / "out", with_bytes());
  EXPECT_THAT(documents_of(dir / "out", "train"), ElementsAre("t"));
  EXPECT_THAT(documents_of(dir / "out", "val"), ElementsAre("v"));
  write_file(dir / "in/books/3.txt", "b");
  convert_text(dir / "in", dir / "all", with_bytes());
  EXPECT_THAT(list_splits(dir / "all"), ElementsAre("tokenizer", "train"));
}

// 300 documents of 1 .. 100 bytes, and a long one.
std::string many_lines(std::vector<std::string>& expected) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    std::string document = std::to_string(i);
    document.resize(document.size() + static_cast<size_t>(i * 37 % 97),
                    static_cast<char>('a' + i % 26));
    if (i == 150) document.resize(5000, 'L');
    expected.push_back(document);
    text += "{\"text\": \"" + document + "\"}\n";
  }
  return text;
}

TEST(Text, BlocksDependOnNothingButTheTexts) {
  const TempDir dir;
  std::vector<std::string> expected;
  write_file(dir / "in/a.jsonl", many_lines(expected));
  TextOptions options = with_bytes();
  options.block_bytes = 2048;
  options.max_document_bytes = 1 << 14;
  const auto how = [](int threads, RecordOrder order) {
    return ConvertOptions{
        .num_threads = threads, .shard_bytes = 1 << 20, .order = order, .seed = 3};
  };
  convert_text(dir / "in", dir / "one", options, how(1, RecordOrder::source));
  EXPECT_EQ(documents_of(dir / "one"), expected);
  const Dataset split = Dataset::open(dir / "one", "train");
  EXPECT_GE(split.num_records(), 8);
  for (const int64_t tokens : split.int_column("num_tokens")) EXPECT_LE(tokens, 2048 + 5001);
  convert_text(dir / "in", dir / "shuffled", options, how(1, RecordOrder::shuffled));
  convert_text(dir / "in", dir / "threads", options, how(4, RecordOrder::shuffled));
  EXPECT_EQ(files_of(dir / "shuffled"), files_of(dir / "threads"));
  const auto shuffled = documents_of(dir / "shuffled");
  EXPECT_NE(shuffled, expected);
  EXPECT_EQ(std::multiset<std::string>(shuffled.begin(), shuffled.end()),
            std::multiset<std::string>(expected.begin(), expected.end()));
}

TEST(Text, TakesTokensThatAreReady) {
  const TempDir dir;
  write_file(dir / "in.jsonl", "{\"ids\": [5, 99999, 7]}\n{\"ids\": []}\n{\"ids\": [1, 0]}\n");
  TextOptions options{.tokens_field = "ids", .vocabulary_size = 100000, .end_of_text = 0};
  const ConvertSummary summary = convert_text(dir / "in.jsonl", dir / "out", options);
  // An end-of-text that is there is not doubled.
  EXPECT_THAT(tokens_of(dir / "out"), ElementsAre(ElementsAre(5, 99999, 7, 0), ElementsAre(1, 0)));
  EXPECT_EQ(summary.splits[0].totals[3].second, 1);
  const Dataset split = Dataset::open(dir / "out", "train");
  EXPECT_EQ(split.schema().fields[0].dtype, DType::u32);
  EXPECT_EQ(token_facts(split).vocabulary_size, 100000);
  EXPECT_ERROR(stored_tokenizer(dir / "out"), not_found, "has no tokenizer");
  options.vocabulary_size = 65536;
  EXPECT_ERROR(convert_text(dir / "in.jsonl", dir / "bad", options), invalid_argument,
               "in.jsonl:1: 'ids'[1] is 99999, which is not in the vocabulary of 65536 tokens");
  write_file(dir / "in.jsonl", "{\"ids\": [5, -1]}\n");
  EXPECT_ERROR(convert_text(dir / "in.jsonl", dir / "bad", options), invalid_argument,
               "in.jsonl:1: 'ids'[1] is -1");
}

TEST(Text, BadDocumentsAreErrorsOrLeftOut) {
  const TempDir dir;
  write_file(dir / "in.jsonl",
             "{\"text\": \"a\"}\nnonsense\n[1]\n{\"t\": \"b\"}\n{\"text\": 5}\n{\"text\": \"" +
                 std::string(2000, 'x') + "\"}\n{\"text\": \"c\"}\n");
  TextOptions options = with_bytes();
  options.max_document_bytes = 1024;
  EXPECT_ERROR(convert_text(dir / "in.jsonl", dir / "out", options), corrupt,
               "in.jsonl:2: is no JSON");
  options.skip_bad_documents = true;
  const ConvertSummary summary = convert_text(dir / "in.jsonl", dir / "out", options);
  EXPECT_THAT(documents_of(dir / "out"), ElementsAre("a", "c"));
  EXPECT_EQ(summary.num_reported, 5);
  EXPECT_EQ(summary.num_skipped(), 0);
  const std::string report = read_file(dir / "out/report.jsonl");
  for (const char* reason : {"in.jsonl:2: is no JSON", "in.jsonl:3: is no JSON object",
                             "in.jsonl:4: has no member 'text'", "in.jsonl:5: 'text' is no text",
                             "has 2012 bytes, and a document may have 1024"}) {
    EXPECT_THAT(report, HasSubstr(reason));
  }
  // What is finished is known again.
  EXPECT_TRUE(convert_text(dir / "in.jsonl", dir / "out", options,
                           {.order = RecordOrder::source, .resume = true})
                  .was_finished);
}

TEST(Text, LongDocumentsAreNotRead) {
  const TempDir dir;
  write_file(dir / "in.txt", "short\n" + std::string(9000, 'x') + "\nlast");
  write_file(dir / "files/1.txt", std::string(9000, 'x'));
  write_file(dir / "files/2.txt", "short");
  TextOptions options = with_bytes();
  options.block_bytes = 1024;
  options.max_document_bytes = 2048;
  options.skip_bad_documents = true;
  convert_text(dir / "files", dir / "out1", options);
  EXPECT_THAT(documents_of(dir / "out1"), ElementsAre("short"));
  options.document = "line";
  convert_text(dir / "in.txt", dir / "out2", options);
  EXPECT_THAT(documents_of(dir / "out2"), ElementsAre("short", "last"));
  options.skip_bad_documents = false;
  EXPECT_ERROR(convert_text(dir / "in.txt", dir / "out3", options), unsupported,
               "in.txt:2: has 9001 bytes, and a document may have 2048; cut it into several");
}

TEST(Text, RefusesWhatDoesNotFitTogether) {
  const TempDir dir;
  write_file(dir / "in/a.txt", "a");
  const auto refused = [&](TextOptions options, const char* text) {
    EXPECT_ERROR(open_text(dir / "in", options), invalid_argument, text);
  };
  refused({}, "texts need --tokenizer");
  refused({.tokens_field = "ids"},
          "--tokens-field needs --tokenizer, or --vocabulary-size and --end-of-text");
  refused({.tokenizer = "bytes", .vocabulary_size = 5},
          "--vocabulary-size is what --tokenizer says");
  refused({.tokenizer = "bytes", .end_of_text = 257},
          "--end-of-text 257 is not in the vocabulary of 257");
  refused({.tokenizer = "bytes", .document = "page"},
          "--document page: it must be one of line, file");
  refused({.tokenizer = "bytes", .tokens_field = "ids"}, "there are no .jsonl files");
  refused({.tokenizer = "bytes", .block_bytes = 5}, "--block-bytes is 5; it must be 1024");
  refused({.tokenizer = "bytes", .ending = ".jsonl", .document = "file"},
          "a document of JSON lines is a line");
  EXPECT_ERROR(open_text(dir / "none", with_bytes()), not_found, "there is no such file or folder");
  EXPECT_ERROR(open_text(dir / "in", {.tokenizer = dir / "in"}), not_found, "holds no tokenizer");
  TextOptions other = with_bytes();
  other.ending = ".rst";
  EXPECT_ERROR(open_text(dir / "in", other), not_found, "holds no .rst files, at any depth");
  write_file(dir / "empty/a.txt", "");
  EXPECT_ERROR(open_text(dir / "empty/a.txt", {.tokenizer = "bytes", .document = "line"}),
               not_found, "split 'train': its files are empty");
}

TEST(Text, PartsAndMergesKeepOneTokenizer) {
  const TempDir dir;
  std::vector<std::string> expected;
  std::string text = many_lines(expected);
  while (text.size() < 2500000) text += text.substr(0, text.size());
  write_file(dir / "a.jsonl", text);
  write_file(dir / "b.jsonl", "{\"text\": \"other\"}\n");
  const ConvertOptions how{.shard_bytes = 1 << 20, .order = RecordOrder::source};
  convert_text(dir / "a.jsonl", dir / "whole", with_bytes(), how);
  for (const int64_t part : {1, 2}) {
    ConvertOptions share = how;
    share.part = {.index = part, .count = 2};
    convert_text(dir / "a.jsonl", dir / ("part" + std::to_string(part)), with_bytes(), share);
  }
  merge_datasets(dir / "joined", {dir / "part1", dir / "part2"}, {});
  EXPECT_EQ(files_of(dir / "joined"), files_of(dir / "whole"));
  convert_text(dir / "b.jsonl", dir / "b", with_bytes());
  merge_datasets(dir / "merged", {dir / "whole", dir / "b"}, {});
  EXPECT_EQ(documents_of(dir / "merged").back(), "other");
  EXPECT_EQ(Dataset::open(dir / "merged", "tokenizer").num_records(), 1);
  TextOptions words = with_bytes();
  words.tokenizer = fs::path(FFKIT_GOLDEN_FOLDER) / "tokenizer";
  convert_text(dir / "b.jsonl", dir / "words", words);
  EXPECT_ERROR(merge_datasets(dir / "no", {dir / "b", dir / "words"}, {}), invalid_argument,
               "the tokens of split 'tokenizer' are others: tokenizer is");
  EXPECT_EQ(documents_of(dir / "words"), std::vector<std::string>{"other"});
}

}  // namespace
}  // namespace ffkit
