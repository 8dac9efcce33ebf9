#include <ffkit/converter/merge.h>
#include <ffkit/sources/text.h>
#include <ffkit/text/token_data.h>

#include "sources_prelude.h"

namespace ffkit {
namespace {

using testing::files_of;

TextOptions with_bytes() {
  return {.tokenizer = "bytes"};
}

// The documents of a split as texts, in its order; each must end with end-of-text.
std::vector<std::string> documents_of(const fs::path& data, const std::string& split = "train") {
  const Dataset dataset = Dataset::open(data, split);
  const text::Tokenizer tokenizer = text::stored_tokenizer(data);
  EXPECT_EQ(text::token_facts(dataset).tokenizer, tokenizer.fingerprint());
  std::vector<std::string> documents;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < dataset.num_records(); ++i) {
    dataset.read(i, bytes);
    const text::TokenBlock block(RecordView(dataset.schema(), bytes), dataset.schema());
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
    const text::TokenBlock block(RecordView(dataset.schema(), bytes), dataset.schema());
    for (int64_t d = 0; d < block.num_documents(); ++d) documents.push_back(block.document(d));
  }
  return documents;
}

ConvertSummary convert_text(const fs::path& from, const fs::path& to, const TextOptions& options,
                            ConvertOptions how = {.order = Order::sequential}) {
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
  const text::TokenFacts facts = text::token_facts(Dataset::open(dir / "out", "train"));
  EXPECT_EQ(facts.vocabulary_size, 257);
  EXPECT_EQ(facts.end_of_text, 256U);
  EXPECT_THAT(Dataset::open(dir / "out", "train").string_column("id"),
              ElementsAre("train-0.jsonl:1"));
  EXPECT_EQ(text::stored_tokenizer(dir / "out/train").fingerprint(),
            text::Tokenizer::bytes().fingerprint());
}

TEST(Text, DocumentsAreFilesOrLines) {
  const TempDir dir;
  write_file(dir / "in/a/1.txt", "one\n");
  write_file(dir / "in/a/b/2.txt", "\xEF\xBB\xBFtwo");
  write_file(dir / "in/3.txt", "three\r\n\nmore");
  write_file(dir / "in/4.md", "not taken");
  convert_text(dir / "in", dir / "files", with_bytes());
  EXPECT_THAT(documents_of(dir / "files"),
              ElementsAre("three\r\n\nmore", "one\n", "\xEF\xBB\xBFtwo"));
  TextOptions lines = with_bytes();
  lines.document = "line";
  const ConvertSummary summary = convert_text(dir / "in", dir / "lines", lines);
  EXPECT_THAT(documents_of(dir / "lines"), ElementsAre("three", "more", "one", "\xEF\xBB\xBFtwo"));
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
  const auto how = [](int threads, Order order) {
    return ConvertOptions{
        .num_threads = threads, .shard_bytes = 1 << 20, .order = order, .seed = 3};
  };
  convert_text(dir / "in", dir / "one", options, how(1, Order::sequential));
  EXPECT_EQ(documents_of(dir / "one"), expected);
  const Dataset split = Dataset::open(dir / "one", "train");
  EXPECT_GE(split.num_records(), 8);
  for (const int64_t tokens : split.int_column("num_tokens")) EXPECT_LE(tokens, 2048 + 5001);
  convert_text(dir / "in", dir / "shuffled", options, how(1, Order::shuffle));
  convert_text(dir / "in", dir / "threads", options, how(4, Order::shuffle));
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
  EXPECT_EQ(text::token_facts(split).vocabulary_size, 100000);
  EXPECT_ERROR(text::stored_tokenizer(dir / "out"), not_found, .subject = split);
  options.vocabulary_size = 65536;
  EXPECT_ERROR(convert_text(dir / "in.jsonl", dir / "bad", options), invalid_argument,
               .subject = sample);
  write_file(dir / "in.jsonl", "{\"ids\": [5, -1]}\n");
  EXPECT_ERROR(convert_text(dir / "in.jsonl", dir / "bad", options), invalid_argument,
               .subject = sample);
}

TEST(Text, BadDocumentsAreErrorsOrLeftOut) {
  const TempDir dir;
  write_file(dir / "in.jsonl",
             "{\"text\": \"a\"}\nnonsense\n[1]\n{\"t\": \"b\"}\n{\"text\": 5}\n{\"text\": \"" +
                 std::string(2000, 'x') + "\"}\n{\"text\": \"c\"}\n");
  TextOptions options = with_bytes();
  options.max_document_bytes = 1024;
  EXPECT_ERROR(convert_text(dir / "in.jsonl", dir / "out", options), corrupt, .subject = sample);
  std::vector<std::string> notes;
  ConvertOptions skip{.order = Order::sequential, .bad_samples = BadSamples::skip};
  skip.note = [&notes](const std::string& note) { notes.push_back(note); };
  const ConvertSummary summary = convert_text(dir / "in.jsonl", dir / "out", options, skip);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("5 bad documents were left out: see")));
  EXPECT_THAT(documents_of(dir / "out"), ElementsAre("a", "c"));
  EXPECT_EQ(summary.num_reported, 5);
  EXPECT_EQ(summary.num_skipped(), 0);
  const std::string report = read_file(dir / "out/report.jsonl");
  for (const char* reason :
       {"in.jsonl:2: the text is not valid JSON", "in.jsonl:3: is not a JSON object",
        "in.jsonl:4: the document has no member 'text'", "in.jsonl:5: 'text' is not text",
        "the document has 2012 bytes, more than the limit of 1024 bytes"}) {
    EXPECT_THAT(report, HasSubstr(reason));
  }
  // What is finished is known again.
  skip.resume = true;
  const ConvertSummary again = convert_text(dir / "in.jsonl", dir / "out", options, skip);
  EXPECT_TRUE(again.was_finished);
  EXPECT_EQ(again.reported.at(kDocumentLeftOut).count, 5);
  skip.bad_samples = BadSamples::fail;
  EXPECT_ERROR(convert_text(dir / "in.jsonl", dir / "out", options, skip), invalid_argument);
}

TEST(Text, LongDocumentsAreNotRead) {
  const TempDir dir;
  write_file(dir / "in.txt", "short\n" + std::string(9000, 'x') + "\nlast");
  write_file(dir / "files/1.txt", std::string(9000, 'x'));
  write_file(dir / "files/2.txt", "short");
  TextOptions options = with_bytes();
  options.block_bytes = 1024;
  options.max_document_bytes = 2048;
  const ConvertOptions skip{.order = Order::sequential, .bad_samples = BadSamples::skip};
  convert_text(dir / "files", dir / "out1", options, skip);
  EXPECT_THAT(documents_of(dir / "out1"), ElementsAre("short"));
  options.document = "line";
  convert_text(dir / "in.txt", dir / "out2", options, skip);
  EXPECT_THAT(documents_of(dir / "out2"), ElementsAre("short", "last"));
  EXPECT_ERROR(convert_text(dir / "in.txt", dir / "out3", options), unsupported, .subject = sample);
}

TEST(Text, RefusesWhatDoesNotFitTogether) {
  const TempDir dir;
  write_file(dir / "in/a.txt", "a");
  const auto refused = [&](TextOptions options) {
    EXPECT_ERROR(open_text(dir / "in", options), invalid_argument);
  };
  refused({});
  refused({.tokens_field = "ids"});
  refused({.tokenizer = "bytes", .vocabulary_size = 5});
  refused({.tokenizer = "bytes", .end_of_text = 257});
  refused({.tokenizer = "bytes", .document = "page"});
  refused({.tokenizer = "bytes", .tokens_field = "ids"});
  refused({.tokenizer = "bytes", .block_bytes = 5});
  write_file(dir / "lines.jsonl", "{}");
  EXPECT_ERROR(open_text(dir / "lines.jsonl", {.tokenizer = "bytes", .document = "file"}),
               invalid_argument);
  EXPECT_ERROR(open_text(dir / "none", with_bytes()), not_found);
  EXPECT_ERROR(open_text(dir / "in", {.tokenizer = dir / "in"}), not_found);
  TextOptions other = with_bytes();
  other.ending = ".rst";
  EXPECT_ERROR(open_text(dir / "in", other), not_found);
  write_file(dir / "empty/a.txt", "");
  EXPECT_ERROR(open_text(dir / "empty/a.txt", {.tokenizer = "bytes", .document = "line"}),
               not_found);
}

TEST(Text, PartsAndMergesKeepOneTokenizer) {
  const TempDir dir;
  std::vector<std::string> expected;
  std::string text = many_lines(expected);
  while (text.size() < 2500000) text += text.substr(0, text.size());
  write_file(dir / "a.jsonl", text);
  write_file(dir / "b.jsonl", "{\"text\": \"other\"}\n");
  const ConvertOptions how{.shard_bytes = 1 << 20, .order = Order::sequential};
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
  EXPECT_ERROR(merge_datasets(dir / "no", {dir / "b", dir / "words"}, {}), invalid_argument);
  EXPECT_EQ(documents_of(dir / "words"), std::vector<std::string>{"other"});
}

// What bad documents share a block with stays, and a stopped conversion goes on with --bad-samples
// skip.
TEST(Text, OneBadDocumentCostsItselfAlone) {
  const TempDir dir;
  std::vector<std::string> expected;
  std::string text = many_lines(expected);
  text.insert(text.find("{\"text\": \"200"), "{\"t\": 1}\n");
  write_file(dir / "a.jsonl", text);
  TextOptions options = with_bytes();
  options.block_bytes = 4096;
  ConvertOptions how{.shard_bytes = 1 << 20, .order = Order::sequential};
  EXPECT_ERROR(convert_text(dir / "a.jsonl", dir / "out", options, how), invalid_argument,
               .subject = sample);
  how.bad_samples = BadSamples::skip;
  how.resume = true;
  const ConvertSummary summary = convert_text(dir / "a.jsonl", dir / "out", options, how);
  EXPECT_EQ(documents_of(dir / "out"), expected);
  EXPECT_EQ(summary.num_skipped(), 0);
  EXPECT_EQ(summary.num_reported, 1);
}

TEST(Text, TakesWhatPythonTakes) {
  const TempDir dir;
  write_file(dir / "in.jsonl",
             "{\"text\": \"a\", \"x\": NaN}\n"
             "{\"x\": 123456789012345678901234567890, \"text\": \"b\"}\n"
             "{\"x\": [\"\\ud800\", -Infinity, 1e999], \"text\": \"c\\n\\u00fc\"}\n"
             "{\"text\": 5, \"text\": \"d\"}\n"
             "{\"t\\u0065xt\": \"e\", \"x\": \"\xFF\"}\n");
  convert_text(dir / "in.jsonl", dir / "out", with_bytes());
  EXPECT_THAT(documents_of(dir / "out"), ElementsAre("a", "b", "c\n\xC3\xBC", "d", "e"));
  const auto refused = [&](const std::string& line, ErrorCode code) {
    write_file(dir / "bad.jsonl", line);
    const auto convert = [&] { convert_text(dir / "bad.jsonl", dir / "bad", with_bytes()); };
    EXPECT_TRUE(testing::throws_error(convert, code)) << line;
  };
  using enum ErrorCode;
  refused(R"({"text": "a\ud800"})", invalid_argument);
  refused(R"({"text": NaN})", invalid_argument);
  refused("{\"text\": \"a\xE9\"}", invalid_argument);
  refused(R"({"text": "a", "x": [1, 2})", corrupt);
  refused(R"({"text": "a", "x": tru})", corrupt);
  refused(R"({"text": "a"} x)", corrupt);
  refused("{\"text\": \"a\", \"x\": \"\t\"}", corrupt);
  refused(R"({"text": "a", "text": 5})", invalid_argument);
}

TEST(Text, TakesJsonByEveryName) {
  const TempDir dir;
  write_file(dir / "lines/train/my-corpus.json", "{\"text\": \"1\"}\n{\"text\": \"2\"}\n");
  write_file(dir / "lines/train/deep/er/B.NDJSON", "{\"text\": \"3\"}\n");
  write_file(dir / "lines/val/array.json", "[{\"text\": \"[4]\"},\n {\"text\": \"5\"\n}]");
  write_file(dir / "lines/README.md", "not taken");
  const auto source = open_text(dir / "lines", with_bytes());
  EXPECT_THAT(source->notes(), ::testing::Contains(HasSubstr("1 file is left out, because of its "
                                                             "name: 1 .md")));
  convert(*source, dir / "out", {.order = Order::sequential});
  EXPECT_THAT(documents_of(dir / "out"), ElementsAre("3", "1", "2"));
  EXPECT_THAT(documents_of(dir / "out", "val"), ElementsAre("[4]", "5"));
  EXPECT_THAT(Dataset::open(dir / "out", "val").string_column("id"),
              ElementsAre("val/array.json[0]"));
  // By the first line, where the name says nothing.
  write_file(dir / "part-0", "{\"text\": \"6\"}\n");
  convert_text(dir / "part-0", dir / "named", with_bytes());
  EXPECT_THAT(documents_of(dir / "named"), ElementsAre("6"));
  TextOptions as_text = with_bytes();
  as_text.ending = ".json";
  as_text.document = "file";
  convert_text(dir / "lines/val", dir / "text", as_text);
  EXPECT_THAT(documents_of(dir / "text"), ElementsAre(HasSubstr("[{\"text\"")));
  write_file(dir / "mixed/a.txt", "a");
  write_file(dir / "mixed/a.json", "{\"text\": \"1\"}");
  EXPECT_ERROR(open_text(dir / "mixed", with_bytes()), invalid_argument);
  TextOptions ready{.tokens_field = "ids", .vocabulary_size = 10, .end_of_text = 0};
  write_file(dir / "ids.json", "[{\"ids\": [1, 12]}]");
  EXPECT_ERROR(convert_text(dir / "ids.json", dir / "no", ready), invalid_argument,
               .subject = sample);
}

TEST(Text, DecompressesFiles) {
  const TempDir dir;
  using namespace std::string_literals;
  const std::string bzip2 =
      "\102\132\150\071\061\101\131\046\123\131\157\006\216\377\000\000\006\131\200\000\020\120\000\000\020\022\000\004\112\040\000\061\000\060\041\063\106\247\352\011\241\270\105\005\160\273\222\051\302\204\203\170\064\167\370"s;
  const std::string xz =
      "\375\067\172\130\132\000\000\001\151\042\336\066\002\000\041\001\026\000\000\000\164\057\345\243\001\000\015\173\042\164\145\170\164\042\072\040\042\170\042\175\012\000\000\000\250\312\073\015\000\001\042\016\014\336\214\140\220\102\231\015\001\000\000\000\000\001\131\132"s;
  write_file(dir / "in/b.jsonl.bz2", bzip2);
  write_file(dir / "in/x.JSON.XZ", xz + xz);
  write_file(dir / "in/z.jsonl", xz);  // whatever its name
  const auto source = open_text(dir / "in", with_bytes());
  EXPECT_THAT(source->notes(),
              ::testing::Contains(HasSubstr("3 compressed files (0.0 MB) became")));
  convert(*source, dir / "out", {.order = Order::sequential});
  EXPECT_THAT(documents_of(dir / "out"), ElementsAre("b", "x", "x", "x"));
  write_file(dir / "cut/b.json.bz2", bzip2.substr(0, bzip2.size() - 5));
  EXPECT_ERROR(open_text(dir / "cut", with_bytes()), corrupt);
  write_file(dir / "cut/b.json.bz2", bzip2 + "BZX" + bzip2.substr(3));
  EXPECT_ERROR(open_text(dir / "cut", with_bytes()), corrupt);
  write_file(dir / "cut/b.json.bz2", xz.substr(0, xz.size() - 5));
  EXPECT_ERROR(open_text(dir / "cut", with_bytes()), corrupt);
}

TEST(Text, RefusesWhatIsNoTextByItsName) {
  const TempDir dir;
  using namespace std::string_literals;
  const auto refused = [&](const char* name, const std::string& bytes) {
    fs::remove_all(dir / "in");
    write_file(dir / "in" / name, bytes);
    for (const fs::path& from : {dir / "in", dir / "in" / name}) {
      EXPECT_ERROR(convert_text(from, dir / "out",
                                {.tokenizer = fs::path(FFKIT_GOLDEN_FOLDER) / "tokenizer"}),
                   unsupported);
    }
  };
  refused("a.txt", "\xFF\xFEh\0i\0"s);
  refused(
      "a.txt",
      "\037\213\010\000\000\000\000\000\002\003\313\310\004\000\254\052\223\330\002\000\000\000"s);
  refused("a.jsonl", "<!DOCTYPE html>");
  refused("a.jsonl", "PAR1\x15\0\x15"s);
  refused("a.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:1\n");
  write_file(dir / "p/a.parquet", "PAR1\x15\0\x15"s);
  EXPECT_ERROR(open_text(dir / "p", with_bytes()), unsupported);
  fs::create_symlink("nowhere", dir / "in/link.jsonl");
  EXPECT_ERROR(open_text(dir / "in", with_bytes()), not_found);
}

TEST(Text, CountsWhatIsNoUtf8AndKeepsBytes) {
  const TempDir dir;
  write_file(dir / "in/1.txt", "caf\xE9");
  write_file(dir / "in/2.txt", "\xEF\xBB\xBFtwo");
  std::vector<std::string> notes;
  ConvertOptions how{.order = Order::sequential};
  how.note = [&notes](const std::string& note) { notes.push_back(note); };
  TextOptions words{.tokenizer = fs::path(FFKIT_GOLDEN_FOLDER) / "tokenizer"};
  const ConvertSummary summary = convert_text(dir / "in", dir / "words", words, how);
  EXPECT_THAT(documents_of(dir / "words"), ElementsAre("caf\xEF\xBF\xBD", "two"));
  EXPECT_EQ(summary.reported.at(kBytesReplaced).count, 1);
  EXPECT_EQ(summary.reported.at(kMarkLeftOut).count, 1);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("1 byte order mark was left out"),
                                 HasSubstr("warning: 1 of 7 bytes (14 %) are not UTF-8")));
  notes.clear();
  convert_text(dir / "in", dir / "bytes", with_bytes(), how);
  EXPECT_THAT(documents_of(dir / "bytes"), ElementsAre("caf\xE9", "\xEF\xBB\xBFtwo"));
  EXPECT_THAT(notes, ElementsAre());
}

}  // namespace
}  // namespace ffkit
