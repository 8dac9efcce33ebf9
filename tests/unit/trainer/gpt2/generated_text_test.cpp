#include "tasks/gpt2/generation/generated_text.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

// Shares of tokens among many draws.
std::map<int64_t, double> drawn_shares(const TokenChoice& choice,
                                       const std::vector<float>& logits) {
  constexpr int kDraws = 20000;
  NextToken next(choice);
  std::map<int64_t, double> shares;
  for (int i = 0; i < kDraws; ++i) {
    CounterRandom random({.seed = 1, .epoch = i, .record_index = 2}, 140);
    shares[next.choose(logits, random)] += 1.0 / kDraws;
  }
  return shares;
}

// Probabilities 0.1, 0.4, 0.2, 0.3.
const std::vector<float> kTokenLogits = {std::log(0.1F), std::log(0.4F), std::log(0.2F),
                                         std::log(0.3F)};

TEST(NextToken, TakesTheLikeliest) {
  EXPECT_EQ(drawn_shares({}, kTokenLogits).count(1), 1u);
  EXPECT_EQ(drawn_shares({}, kTokenLogits).size(), 1u);
  CounterRandom random({});
  EXPECT_EQ(NextToken({}).choose(std::vector<float>{1, 3, 3}, random), 1);
}

TEST(NextToken, DrawsByProbability) {
  const auto shares = drawn_shares({.temperature = 1}, kTokenLogits);
  EXPECT_NEAR(shares.at(0), 0.1, 0.01);
  EXPECT_NEAR(shares.at(1), 0.4, 0.015);
  EXPECT_NEAR(shares.at(3), 0.3, 0.015);
  // At half the temperature, by their squares: 0.01, 0.16, 0.04, 0.09 of 0.3.
  const auto cold = drawn_shares({.temperature = 0.5}, kTokenLogits);
  EXPECT_NEAR(cold.at(1), 0.16 / 0.3, 0.015);
  EXPECT_NEAR(cold.at(0), 0.01 / 0.3, 0.01);
}

TEST(NextToken, DrawsFromTheLikeliestAlone) {
  const auto two = drawn_shares({.temperature = 1, .top_k = 2}, kTokenLogits);
  EXPECT_EQ(two.size(), 2u);
  EXPECT_NEAR(two.at(1), 4.0 / 7, 0.015);
  // 0.4 is less than the share wanted, 0.4 + 0.3 is enough.
  const auto most = drawn_shares({.temperature = 1, .top_p = 0.6}, kTokenLogits);
  EXPECT_EQ(most.size(), 2u);
  EXPECT_NEAR(most.at(3), 3.0 / 7, 0.015);
  // Of the likeliest three, whose shares are 4, 3 and 2 ninths.
  const auto both = drawn_shares({.temperature = 1, .top_k = 3, .top_p = 0.78}, kTokenLogits);
  EXPECT_EQ(both.size(), 3u);
  EXPECT_EQ(drawn_shares({.temperature = 1, .top_p = 1e-9}, kTokenLogits).size(), 1u);
}

// Values of transformers 5.24: RepetitionPenaltyLogitsProcessor(1.5)(ids, scores).
TEST(NextToken, RepeatedTokensBecomeLessLikely) {
  std::vector<float> logits = {3, -2, 0, 6, -1};
  penalize_repetition(logits, std::vector<uint32_t>{3, 1, 3, 2, 99}, 1.5);
  EXPECT_EQ(logits, (std::vector<float>{3, -3, 0, 4, -1}));
}

TEST(StopStrings, EndWithinTheLastToken) {
  const StopStrings stops({"\n\n", "END"});
  EXPECT_FALSE(stops.find("a END b", 2));  // it was there before
  EXPECT_EQ(stops.find("a END b", 3)->begin, 2u);
  EXPECT_EQ(stops.find("a END\n\n", 7)->text, "END");
  EXPECT_EQ(stops.find("\n\nEND", 6)->text, "\n\n");
  EXPECT_FALSE(stops.find("END", 0));
  EXPECT_FALSE(StopStrings({}).find("END", 3));
  EXPECT_EQ(stops.num_begun("xEN"), 2u);
  EXPECT_EQ(stops.num_begun("x\n"), 1u);
  EXPECT_EQ(stops.num_begun("x"), 0u);
  EXPECT_EQ(stops.num_begun("xEND"), 0u);
}

// The texts behind each token of `continuation`, each a byte; 256 is the end.
std::vector<std::string> shown_texts(const std::vector<std::string>& stop, bool hides_stop,
                                     std::string_view prompt, std::string_view continuation) {
  const text::Tokenizer tokenizer = text::Tokenizer::bytes();
  const StopStrings stops(stop);
  std::vector<uint32_t> tokens;
  tokenizer.encode(prompt, tokens);
  GrowingText text(tokenizer, stops, hides_stop, tokens);
  std::vector<std::string> out = {text.text()};
  for (const char byte : continuation) {
    text.add(static_cast<unsigned char>(byte), false);
    out.push_back(text.text());
    if (!text.stop().empty()) break;
  }
  text.finish();
  out.push_back(text.text());
  return out;
}

TEST(GrowingText, GrowsByWholeCharacters) {
  EXPECT_EQ(shown_texts({}, false, "a", "\xC3\xA9\xC3"),
            (std::vector<std::string>{"a", "a", "a\u00e9", "a\u00e9", "a\u00e9\uFFFD"}));
}

TEST(GrowingText, EndsWithAStopString) {
  EXPECT_EQ(shown_texts({"END"}, false, "xE", "NDz"),
            (std::vector<std::string>{"xE", "xEN", "xEND", "xEND"}));
  // What may begin one is held back, and shown when it does not.
  EXPECT_EQ(shown_texts({"END"}, true, "x", "EaENDz"),
            (std::vector<std::string>{"x", "x", "xEa", "xEa", "xEa", "xEa", "xEa"}));
  // The prompt is shown in any case.
  EXPECT_EQ(shown_texts({"END"}, true, "xE", "ND"),
            (std::vector<std::string>{"xE", "xE", "xE", "xE"}));
  EXPECT_EQ(shown_texts({"END"}, true, "x", "EN"),
            (std::vector<std::string>{"x", "x", "x", "xEN"}));
}

TEST(GrowingText, HidesASpecialEnd) {
  const text::Tokenizer tokenizer = text::Tokenizer::bytes();
  const StopStrings stops({});
  GrowingText text(tokenizer, stops, false, {});
  text.add(256, /*is_end=*/false);
  text.add('.', /*is_end=*/true);
  text.add(256, /*is_end=*/true);
  text.finish();
  EXPECT_EQ(text.text(), "<|endoftext|>.");
}

}  // namespace

}  // namespace ffkit
