#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "tasks/gpt2/generation/generated_text.h"

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

}  // namespace
}  // namespace ffkit
