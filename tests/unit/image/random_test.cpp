#include <ffkit/image/random.h>

#include "test_prelude.h"

namespace ffkit {
namespace {

using Words4 = std::array<uint32_t, 4>;

// Known answers of the Random123 library (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox4x32, GivesTheKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(CounterRandom, IsTheDocumentedSequence) {
  CounterRandom random({0x299f31d0a4093822, 0x85a308d3, 0x0370734413198a2e});
  for (uint32_t block = 0; block < 3; ++block) {
    const Words4 words =
        philox4x32({block, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
    EXPECT_EQ(random.next(), words[0] | uint64_t{words[1]} << 32);
    EXPECT_EQ(random.next(), words[2] | uint64_t{words[3]} << 32);
  }
}

TEST(CounterRandom, DiffersForEveryPartOfTheKey) {
  std::set<uint64_t> first;
  for (uint64_t seed : {0ULL, 1ULL, 1ULL << 40}) {
    for (int64_t epoch : {0, 1, 77}) {
      for (int64_t record : {0LL, 1LL, 1LL << 33})
        first.insert(CounterRandom({seed, epoch, record}).next());
    }
  }
  EXPECT_EQ(first.size(), 27U);
  EXPECT_EQ(CounterRandom({5, 6, 7}).next(), CounterRandom({5, 6, 7}).next());
}

TEST(CounterRandom, StreamsAreApart) {
  CounterRandom random({1, 2, 3}, 7);
  const Words4 words = philox4x32({7U << 24, 2, 3, 0}, {1, 0});
  EXPECT_EQ(random.next(), words[0] | uint64_t{words[1]} << 32);
  EXPECT_NE(CounterRandom({1, 2, 3}, 0).next(), CounterRandom({1, 2, 3}, 255).next());
}

TEST(CounterRandom, IsUniform) {
  CounterRandom random({1, 2, 3});
  double sum = 0;
  int counts[7] = {};
  for (int i = 0; i < 70000; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
    const int64_t digit = random.below(7);
    ASSERT_GE(digit, 0);
    ASSERT_LT(digit, 7);
    ++counts[digit];
  }
  EXPECT_NEAR(sum / 70000, 0.5, 0.005);
  for (int count : counts) EXPECT_NEAR(count, 10000, 400);  // four standard deviations
  EXPECT_EQ(random.below(1), 0);
  EXPECT_EQ(random.uniform(0.25, 0.25), 0.25);
}

}  // namespace
}  // namespace ffkit
