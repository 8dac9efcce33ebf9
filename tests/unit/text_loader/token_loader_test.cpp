#include <ffkit/text/token_loader.h>

#include "test_prelude.h"
#include "text/make_tokens.h"
#include "token_blocks.h"

namespace ffkit::text {
namespace {

using testing::make_tokens;
using testing::TokenDocuments;

constexpr uint32_t kEnd = 59999;

// Documents of 1 .. 12 tokens in blocks of 0 .. 9 documents; each token is there once.
std::vector<TokenDocuments> made_blocks(int num_blocks) {
  std::vector<TokenDocuments> blocks;
  uint32_t next = 0;
  for (int b = 0; b < num_blocks; ++b) {
    TokenDocuments documents;
    for (int d = 0; d < b * 7 % 10; ++d) {
      std::vector<uint32_t> document(static_cast<size_t>(1 + (b + 5 * d) % 12));
      for (uint32_t& token : document) token = next++;
      documents.push_back(document);
    }
    blocks.push_back(documents);
  }
  return blocks;
}

std::vector<TokenBatch> rest_of(TokenLoader& loader) {
  std::vector<TokenBatch> batches;
  while (auto batch = loader.next()) batches.push_back(std::move(*batch));
  return batches;
}

std::vector<TokenBatch> epoch_of(TokenLoader& loader, int64_t epoch) {
  loader.set_epoch(epoch);
  return rest_of(loader);
}

// Rows of context + 1 tokens, in order.
std::vector<std::vector<int64_t>> rows_of(const std::vector<TokenBatch>& batches) {
  std::vector<std::vector<int64_t>> rows;
  for (const TokenBatch& batch : batches) {
    const auto length = static_cast<size_t>(batch.context + 1);
    EXPECT_EQ(batch.tokens.size(), static_cast<size_t>(batch.size) * length);
    for (size_t n = 0; n < static_cast<size_t>(batch.size); ++n) {
      const auto begin = batch.tokens.begin() + static_cast<std::ptrdiff_t>(n * length);
      rows.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(length));
    }
  }
  return rows;
}

class TokenLoaderTest : public ::testing::Test {
 protected:
  TokenLoaderTest() {
    for (const TokenDocuments& documents : blocks_) {
      for (const auto& document : documents) {
        num_tokens_ += document.size() + 1;
        ++num_documents_;
      }
    }
  }

  TokenLoader loader(TokenLoaderOptions options) const { return {dataset_, options}; }

  // The samples of a stream in its order, joined: what the epoch went through.
  static std::vector<int64_t> stream_of(const std::vector<TokenBatch>& batches) {
    std::map<int64_t, std::vector<int64_t>> by_sample;
    const auto rows = rows_of(batches);
    size_t row = 0;
    for (const TokenBatch& batch : batches) {
      for (const int64_t sample : batch.samples) {
        EXPECT_TRUE(by_sample.emplace(sample, rows[row++]).second) << "sample " << sample;
      }
    }
    std::vector<int64_t> stream;
    for (const auto& [sample, tokens] : by_sample) {
      if (stream.empty()) stream.push_back(tokens[0]);
      EXPECT_EQ(stream.back(), tokens[0]);  // samples overlap by a token
      stream.insert(stream.end(), tokens.begin() + 1, tokens.end());
    }
    return stream;
  }

  TempDir dir_;
  const std::vector<TokenDocuments> blocks_ = made_blocks(40);
  size_t num_tokens_ = 0;
  size_t num_documents_ = 0;
  const Dataset dataset_ = make_tokens(dir_ / "train", blocks_);
};

TEST_F(TokenLoaderTest, StreamHoldsEveryDocumentOnceInEveryOrder) {
  std::set<std::vector<int64_t>> orders;
  for (const bool shuffle : {false, true}) {
    for (const int64_t epoch : {0, 1, 2}) {
      TokenLoader loader = this->loader({.batch_size = 4,
                                         .context = 7,
                                         .shuffle = shuffle,
                                         .window_tokens = 200,
                                         .tail = Tail::exact});
      EXPECT_EQ(loader.num_tokens(), static_cast<int64_t>(num_tokens_));
      EXPECT_EQ(loader.num_documents(), static_cast<int64_t>(num_documents_));
      EXPECT_EQ(loader.num_samples(), static_cast<int64_t>((num_tokens_ - 1) / 7));
      const std::vector<TokenBatch> batches = epoch_of(loader, epoch);
      EXPECT_EQ(loader.num_batches(), std::ssize(batches));
      const std::vector<int64_t> stream = stream_of(batches);
      ASSERT_EQ(std::ssize(stream), loader.num_samples() * 7 + 1);
      orders.insert(stream);
      // Document by document: each one of the set, none twice; the last may be cut.
      std::set<std::vector<uint32_t>> left;
      for (const auto& documents : blocks_) left.insert(documents.begin(), documents.end());
      std::vector<uint32_t> document;
      for (const int64_t token : stream) {
        if (token != kEnd) {
          document.push_back(static_cast<uint32_t>(token));
          continue;
        }
        EXPECT_EQ(left.erase(document), 1U) << ::testing::PrintToString(document);
        document.clear();
      }
      EXPECT_LE(left.size(), 7U);  // what is behind the last sample
    }
  }
  EXPECT_EQ(orders.size(), 4U);  // as stored it is the same in all epochs
}

TEST_F(TokenLoaderTest, SamplesAreShuffledInWindows) {
  TokenLoader narrow =
      loader({.batch_size = 1, .context = 7, .window_tokens = 70, .tail = Tail::exact});
  TokenLoader wide =
      loader({.batch_size = 1, .context = 7, .window_tokens = 1 << 20, .tail = Tail::exact});
  const auto moves = [](TokenLoader& loader) {
    int64_t farthest = 0, position = 0;
    for (const TokenBatch& batch : epoch_of(loader, 3)) {
      farthest = std::max(farthest, std::abs(batch.samples[0] - position++));
    }
    return farthest;
  };
  EXPECT_GE(moves(narrow), 3);
  EXPECT_LT(moves(narrow), 10);
  EXPECT_GT(moves(wide), 50);
  EXPECT_EQ(stream_of(epoch_of(narrow, 3)), stream_of(epoch_of(wide, 3)));
}

TEST_F(TokenLoaderTest, IsTheSameForEveryWorldSize) {
  const TokenLoaderOptions options{.batch_size = 12, .context = 5, .window_tokens = 300, .seed = 4};
  TokenLoader one = loader(options);
  const auto all = rows_of(epoch_of(one, 1));
  for (const int world_size : {2, 3, 4}) {
    std::vector<std::vector<std::vector<int64_t>>> rows;
    for (int rank = 0; rank < world_size; ++rank) {
      TokenLoaderOptions share = options;
      share.batch_size = 12 / world_size;
      share.world_size = world_size;
      share.rank = rank;
      TokenLoader loader = this->loader(share);
      rows.push_back(rows_of(epoch_of(loader, 1)));
      EXPECT_EQ(rows.back().size() * static_cast<size_t>(world_size), all.size());
    }
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t batch = i / 12, in_batch = i % 12, share = 12 / static_cast<size_t>(world_size);
      EXPECT_EQ(rows[in_batch / share][batch * share + in_batch % share], all[i]);
    }
  }
}

TEST_F(TokenLoaderTest, SeedsAndEpochsAreDifferentOrders) {
  const auto order = [&](uint64_t seed, int64_t epoch) {
    TokenLoader loader = this->loader({.batch_size = 8, .context = 5, .seed = seed});
    return rows_of(epoch_of(loader, epoch));
  };
  EXPECT_EQ(order(1, 2), order(1, 2));
  EXPECT_NE(order(1, 2), order(1, 3));
  EXPECT_NE(order(1, 2), order(2, 2));
}

TEST_F(TokenLoaderTest, RestoredLoaderGoesOnWithTheNextSample) {
  for (const TokenSamples samples : {TokenSamples::stream, TokenSamples::documents}) {
    const TokenLoaderOptions options{.batch_size = 6,
                                     .context = 5,
                                     .samples = samples,
                                     .window_tokens = 150,
                                     .tail = Tail::exact,
                                     .seed = 4};
    TokenLoader straight = loader(options);
    const auto all = rows_of(epoch_of(straight, 2));
    for (const int64_t k : {0, 1, 5}) {
      TokenLoader before = loader(options);
      before.set_epoch(2);
      for (int64_t i = 0; i < k; ++i) ASSERT_TRUE(before.next().has_value());
      before.prepare();  // takes nothing
      const LoaderState state = LoaderState::from_text(before.state().to_text());
      EXPECT_EQ(state.position, 6 * k);
      EXPECT_EQ(rows_of({*before.next()}).front(), all[static_cast<size_t>(6 * k)]);
      TokenLoaderOptions other = options;
      other.batch_size = 4;
      TokenLoader after = loader(other);
      after.restore(state);
      EXPECT_EQ(after.state(), state);
      const auto rest = rows_of(rest_of(after));
      EXPECT_EQ(rest, (std::vector(all.begin() + 6 * k, all.end()))) << k;
    }
    EXPECT_EQ(straight.state().position, straight.num_samples());
    TokenLoader done = loader(options);
    done.restore(straight.state());
    EXPECT_FALSE(done.next().has_value());
  }
}

TEST_F(TokenLoaderTest, RefusesStatesOfOtherOrders) {
  const TokenLoaderOptions options{.batch_size = 6, .context = 5, .seed = 4};
  TokenLoader loader = this->loader(options);
  loader.set_epoch(1);
  ASSERT_TRUE(loader.next().has_value());
  const LoaderState state = loader.state();
  const auto refused = [&](TokenLoaderOptions other) {
    TokenLoader another = this->loader(other);
    EXPECT_ERROR(another.restore(state), invalid_argument);
  };
  TokenLoaderOptions other = options;
  other.seed = 5;
  refused(other);
  other = options;
  other.context = 6;
  refused(other);
  other = options;
  other.samples = TokenSamples::documents;
  refused(other);
  other = options;
  other.shuffle = false;
  refused(other);
  other = options;
  other.window_tokens = 50;
  refused(other);
  LoaderState wrong = state;
  wrong.fingerprint = "0123456789abcdef";
  EXPECT_ERROR(loader.restore(wrong), invalid_argument);
  wrong = state;
  wrong.position = 1 << 20;
  EXPECT_ERROR(loader.restore(wrong), invalid_argument);
  EXPECT_EQ(loader.state(), state);
}

TEST_F(TokenLoaderTest, PadsDocumentsAndMasksWhatIsNoTarget) {
  TokenLoader loader = this->loader({.batch_size = 4,
                                     .context = 6,
                                     .samples = TokenSamples::documents,
                                     .window_tokens = 100,
                                     .tail = Tail::exact});
  EXPECT_EQ(loader.num_samples(), static_cast<int64_t>(num_documents_));
  std::map<uint32_t, std::vector<uint32_t>> left;  // by their first token
  for (const auto& documents : blocks_) {
    for (const auto& document : documents) left[document[0]] = document;
  }
  for (const TokenBatch& batch : epoch_of(loader, 1)) {
    ASSERT_EQ(batch.loss_mask.size(), static_cast<size_t>(batch.size) * 6);
    for (int64_t n = 0; n < batch.size; ++n) {
      const int64_t* tokens = batch.tokens.data() + n * 7;
      const uint8_t* mask = batch.loss_mask.data() + n * 6;
      const auto found = left.find(static_cast<uint32_t>(tokens[0]));
      ASSERT_NE(found, left.end());
      std::vector<uint32_t> document = found->second;
      document.push_back(kEnd);
      for (size_t i = 0; i < 7; ++i) {
        EXPECT_EQ(tokens[i], i < document.size() ? document[i] : kEnd);
        if (i == 0) continue;
        EXPECT_EQ(mask[i - 1], i < document.size() ? 1 : 0);
      }
      left.erase(found);
    }
  }
  EXPECT_TRUE(left.empty());
}

TEST_F(TokenLoaderTest, TakesLargeVocabulariesAndSubsets) {
  const Dataset large = make_tokens(dir_ / "large", {{{70000, 1}, {2}}, {{3, 4, 5}}}, 100000);
  TokenLoader loader(large, {.batch_size = 1, .context = 8, .shuffle = false});
  EXPECT_THAT(loader.next()->tokens, ElementsAre(70000, 1, 99999, 2, 99999, 3, 4, 5, 99999));
  EXPECT_FALSE(loader.next().has_value());
  TokenLoader second(large.subset({1}), {.batch_size = 1, .context = 3, .shuffle = false});
  EXPECT_THAT(second.next()->tokens, ElementsAre(3, 4, 5, 99999));
}

TEST_F(TokenLoaderTest, RefusesWhatCannotBeLoaded) {
  EXPECT_ERROR(loader({.context = static_cast<int64_t>(num_tokens_)}), invalid_argument);
  EXPECT_NO_THROW(loader({.batch_size = 1, .context = static_cast<int64_t>(num_tokens_) - 1}));
  EXPECT_ERROR(loader({.context = 0}), invalid_argument);
  EXPECT_ERROR(loader({.window_tokens = 0}), invalid_argument);
  EXPECT_ERROR(loader({.batch_size = 100000, .context = 8}), invalid_argument);
  EXPECT_ERROR(loader({.batch_size = 1, .context = 8, .rank = 2, .world_size = 2}),
               invalid_argument);
  TokenLoader good = loader({.batch_size = 1, .context = 8});
  EXPECT_ERROR(good.set_epoch(-1), invalid_argument);
}

TEST_F(TokenLoaderTest, NamesTheDamagedBlock) {
  // The tokens of the last block, which is longer than its neighbours' alignment.
  const std::filesystem::path shard = dir_ / "train/shard-00000.ffr";
  const Dataset::Location location = dataset_.locate(39);
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(location.record.offset + location.record.stored_bytes - 20);
  file.put('\x55');
  file.close();
  TokenLoader loader = this->loader({.batch_size = 4, .context = 7, .tail = Tail::exact});
  EXPECT_ERROR(epoch_of(loader, 0), corrupt, .record = 39, .subject = sample);
}

TEST_F(TokenLoaderTest, RefusesTokensOutsideOfTheVocabulary) {
  Manifest manifest = dataset_.manifest();
  manifest.options[kVocabularyOption] = "100";
  manifest.options[kEndOfTextOption] = "99";
  write_manifest(dir_ / "train/manifest.json", manifest);
  TokenLoader loader(Dataset::open(dir_ / "train"), {.batch_size = 4, .context = 7});
  EXPECT_ERROR(epoch_of(loader, 0), corrupt, .record = 8);
}

TEST(TokenOrder, FindsBlocksAmongEmptyOnes) {
  const TokenOrder order({0, 3, 0, 0, 2, 0}, 5, 1, 5, false, 0);
  EXPECT_EQ(order.place_of(0), 1);
  EXPECT_EQ(order.place_of(2), 1);
  EXPECT_EQ(order.place_of(3), 4);
  EXPECT_EQ(order.place_of(4), 4);
  EXPECT_EQ(order.num_places(), 6);
}

}  // namespace
}  // namespace ffkit::text
