// A loader over several data sets: which set a sample is of, exact shares, masks, states, repeated
// records and replacements.
#include "loader_prelude.h"

namespace ffkit {
namespace {

using testing::collect_rest;
using testing::records_of;

const Field kNumber{.name = "n", .type = FieldType::scalar, .dtype = DType::i64, .column = true};
const Field kDepth{.name = "depth", .type = FieldType::scalar, .dtype = DType::f32};

// The first of the random numbers of the sample.
class DrawDecoder final : public FieldDecoder {
 public:
  DType dtype() const override { return DType::u64; }
  std::vector<int64_t> shape() const override { return {}; }
  void decode(const RecordView&, const SampleKey& key, Scratch*, void* out) const override {
    const uint64_t number = CounterRandom(key, 1).next();
    std::memcpy(out, &number, sizeof(number));
  }
};

// Record i has n = first + i, or null where it is one of `bad`; and depth = n + 0.5, where the set
// has a depth.
Dataset write_numbers(const std::filesystem::path& folder, const std::vector<Field>& fields,
                      int64_t first, int64_t count, const std::set<int64_t>& bad = {}) {
  const Schema schema{fields};
  DatasetWriter writer(folder, {.split = "train", .schema = schema});
  for (int64_t i = 0; i < count; ++i) {
    RecordBuilder builder(schema);
    if (!bad.contains(i)) builder.set_scalar<int64_t>(schema.require("n"), first + i);
    const int depth = schema.index_of("depth");
    if (depth >= 0) {
      builder.set_scalar<float>(static_cast<size_t>(depth), static_cast<float>(first + i) + 0.5F);
    }
    writer.append(testing::encoded(builder));
  }
  writer.finish();
  return Dataset::open(folder);
}

class LoaderMixtureTest : public ::testing::Test {
 protected:
  LoaderOptions options(std::vector<double> weights = {}) const {
    LoaderOptions out;
    out.batch_size = 6;
    out.num_threads = 2;
    out.image_field = "";
    out.label_field = "n";
    const Schema& schema = both_.schema();
    out.fields = {{"depth", zeros_where_null(schema, "depth", copy_field(schema, "depth"))},
                  {"depth_valid", decode_valid(schema, "depth")},
                  {"draw", std::make_shared<DrawDecoder>()}};
    out.sampler = {
        .tail = Tail::exact, .seed = 4, .mixture = Mixture{.weights = std::move(weights)}};
    return out;
  }
  template <typename T>
  static std::span<const T> field(const Batch& batch, const char* name) {
    return {static_cast<const T*>(batch.field(name).data), static_cast<size_t>(batch.size())};
  }

  testing::TempDir dir_;
  Dataset flat_ = write_numbers(dir_ / "flat", {kNumber}, 0, 30);
  Dataset deep_ = write_numbers(dir_ / "deep", {kDepth, kNumber}, 100, 10);
  Dataset both_ = Dataset::chain({flat_, deep_});
};

TEST_F(LoaderMixtureTest, SamplesKnowTheirSetAndAMaskSaysWhichFieldsTheyHave) {
  Loader loader(both_, options());
  EXPECT_THAT(loader.options().sampler.mixture->num_records, ElementsAre(30, 10));
  int64_t num_samples = 0, num_deep = 0;
  while (const std::optional<Batch> batch = loader.next()) {
    ASSERT_EQ(std::ssize(batch->source()), batch->size());
    for (size_t i = 0; i < batch->source().size(); ++i) {
      const bool is_deep = batch->source()[i] == 1;
      const int64_t record = batch->record_indices()[i];
      const int64_t number = batch->labels()[i];
      ASSERT_EQ(batch->source()[i], both_.source_of(record));
      ASSERT_EQ(number, is_deep ? 100 + record - 30 : record);
      ASSERT_EQ(field<float>(*batch, "depth")[i], is_deep ? static_cast<float>(number) + 0.5F : 0);
      ASSERT_EQ(field<uint8_t>(*batch, "depth_valid")[i], is_deep ? 1 : 0);
      num_deep += is_deep ? 1 : 0;
    }
    num_samples += batch->size();
  }
  EXPECT_EQ(num_samples, 60);  // twice the larger set
  EXPECT_EQ(num_deep, 30);
}

TEST_F(LoaderMixtureTest, WeightsAreExactInEveryEpoch) {
  Loader loader(both_, options({1, 3}));
  for (const int64_t epoch : {0, 1, 4}) {
    const std::vector<int64_t> records = records_of(collect_epoch(loader, epoch));
    std::map<int64_t, int64_t> uses;
    for (const int64_t record : records) ++uses[record];
    EXPECT_EQ(std::ranges::count_if(records, [](int64_t r) { return r < 30; }), 10);
    EXPECT_EQ(std::ssize(records), 40);
    for (int64_t record = 30; record < 40; ++record) EXPECT_EQ(uses[record], 3) << record;
  }
}

// Zeros are for those who ask for them.
TEST_F(LoaderMixtureTest, AFieldThatASetLacksIsABadSampleUnlessAskedFor) {
  LoaderOptions strict = options();
  strict.fields = {{"depth", copy_field(both_.schema(), "depth")}};
  Loader loader(both_, strict);
  EXPECT_ERROR(loader.next(), not_found, .record = 5, .subject = field);
}

TEST_F(LoaderMixtureTest, ARepeatedRecordIsAnotherSample) {
  Loader loader(both_, options());
  std::map<int64_t, std::set<uint64_t>> draws;
  while (const std::optional<Batch> batch = loader.next()) {
    for (size_t i = 0; i < batch->source().size(); ++i) {
      draws[batch->record_indices()[i]].insert(field<uint64_t>(*batch, "draw")[i]);
    }
  }
  for (int64_t record = 0; record < 40; ++record) {
    EXPECT_EQ(draws[record].size(), record < 30 ? 1U : 3U) << record;
    // One of them is what the record draws where nothing is repeated.
    EXPECT_TRUE(draws[record].contains(CounterRandom({4, 0, record}, 1).next())) << record;
  }
}

TEST_F(LoaderMixtureTest, BatchesAreTheSameForAnyThreadsAndEngine) {
  Loader first(both_, options({2, 5}));
  const std::vector<CollectedBatch> expected = collect_epoch(first, 1);
  ASSERT_EQ(expected.size(), 7U);
  LoaderOptions other = options({2, 5});
  other.num_threads = 5;
  other.io.engine = IoEngine::pread;
  other.io.decoders_read_cache = false;
  Loader second(both_, other);
  EXPECT_TRUE(collect_epoch(second, 1) == expected);
}

TEST_F(LoaderMixtureTest, GoesOnAtAnotherBatchSizeAndWorldSize) {
  LoaderOptions whole = options({1, 2});
  whole.batch_size = 1;
  Loader all(both_, whole);
  const std::vector<int64_t> expected = records_of(collect_epoch(all, 2));
  ASSERT_EQ(expected.size(), 40U);

  Loader before(both_, options({1, 2}));
  before.set_epoch(2);
  ASSERT_TRUE(before.next() && before.next());
  const LoaderState state = LoaderState::from_text(before.state().to_text());
  EXPECT_EQ(state.position, 12);
  EXPECT_EQ(state.order, "mixture of 13/30 + 27/10, 40 samples");
  std::vector<std::vector<CollectedBatch>> by_rank;
  for (const int rank : {0, 1}) {
    LoaderOptions half = options({1, 2});
    half.batch_size = 5;
    half.sampler.rank = rank;
    half.sampler.world_size = 2;
    Loader after(both_, half);
    after.restore(state);
    by_rank.push_back(collect_rest(after));
  }
  std::vector<int64_t> rest;
  for (size_t step = 0; step < by_rank[0].size(); ++step) {
    for (const auto& batches : by_rank) {
      if (step >= batches.size()) continue;
      const auto& records = batches[step].record_indices;
      rest.insert(rest.end(), records.begin(), records.end());
    }
  }
  EXPECT_EQ(rest, (std::vector<int64_t>(expected.begin() + 12, expected.end())));
}

TEST_F(LoaderMixtureTest, AStateOfOtherWeightsOrSetsIsRefused) {
  Loader loader(both_, options({1, 2}));
  ASSERT_TRUE(loader.next());
  Loader other(both_, options({1, 3}));
  EXPECT_ERROR(other.restore(loader.state()), invalid_argument);
  LoaderOptions without = options();
  without.sampler.mixture.reset();
  Loader plain(both_, without);
  EXPECT_ERROR(plain.restore(loader.state()), invalid_argument);
  Loader swapped(Dataset::chain({deep_, flat_}), [&] {
    LoaderOptions o = options({2, 1});
    o.fields.clear();
    return o;
  }());
  EXPECT_ERROR(swapped.restore(loader.state()), invalid_argument);
}

TEST_F(LoaderMixtureTest, ReplacementsAreOfTheSameSet) {
  const Dataset bad = write_numbers(dir_ / "bad", {kDepth, kNumber}, 100, 10, {2, 7});
  LoaderOptions skipping = options();
  skipping.bad_samples = BadSamples::skip;
  int64_t num_replaced = 0;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    Loader loader(Dataset::chain({flat_, bad}), skipping);
    loader.set_epoch(epoch);
    std::vector<int64_t> counts(2);
    while (const std::optional<Batch> batch = loader.next()) {
      for (const int32_t source : batch->source()) ++counts[static_cast<size_t>(source)];
      for (const Replacement& r : batch->replacements()) {
        const auto at = static_cast<size_t>(r.index_in_batch);
        EXPECT_TRUE(r.bad_record == 32 || r.bad_record == 37);
        EXPECT_GE(batch->record_indices()[at], 30);
        EXPECT_EQ(batch->source()[at], 1);
        EXPECT_EQ(batch->labels()[at], 100 + batch->record_indices()[at] - 30);
        ++num_replaced;
      }
    }
    EXPECT_THAT(counts, ElementsAre(30, 30));
  }
  EXPECT_EQ(num_replaced, 4 * 2 * 3);
}

// All records once, as of one data set.
TEST_F(LoaderMixtureTest, AChainWithoutAMixtureIsOneDataSet) {
  LoaderOptions plain = options();
  plain.sampler.mixture.reset();
  plain.sampler.order = Order::sequential;
  Loader loader(both_, plain);
  const auto batches = collect_epoch(loader, 0);
  const std::vector<int64_t> records = records_of(batches);
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(records[static_cast<size_t>(i)], i);
  EXPECT_EQ(loader.state().order, "sequential, 40 samples");
  // A replacement may be of another set, and says so.
  const Dataset bad = write_numbers(dir_ / "bad", {kNumber}, 0, 2, {0, 1});
  plain.bad_samples = BadSamples::skip;
  plain.sampler.tail = Tail::even;  // where records may repeat, others stand in
  Loader replacing(Dataset::chain({bad, deep_}), plain);
  const std::optional<Batch> batch = replacing.next();
  ASSERT_EQ(batch->replacements().size(), 2U);
  EXPECT_THAT(batch->source(), Each(1));
}

TEST_F(LoaderMixtureTest, OneDataSetIsSourceZero) {
  LoaderOptions plain = options();
  plain.fields.clear();
  plain.sampler.mixture.reset();
  Loader loader(flat_, plain);
  const std::optional<Batch> batch = loader.next();
  EXPECT_THAT(batch->source(), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_TRUE(Batch().source().empty());
  // A mixture of one repeats it.
  LoaderOptions repeated = plain;
  repeated.sampler.epoch_size = 70;
  repeated.sampler.mixture.emplace();
  Loader again(flat_, repeated);
  EXPECT_EQ(std::ssize(records_of(collect_epoch(again, 0))), 70);
  // A copy has its own.
  Loader mixed(both_, options());
  const std::optional<Batch> original = mixed.next();
  const Batch copy = original->copy();
  EXPECT_TRUE(std::ranges::equal(copy.source(), original->source()));
}

TEST_F(LoaderMixtureTest, RefusesWhatItCannotMix) {
  EXPECT_ERROR(Loader(both_, options({1})), invalid_argument);
  EXPECT_ERROR(Loader(both_.subset({35, 1}), options()), invalid_argument);
  EXPECT_ERROR(Loader(both_.subset({0, 1}), options()), invalid_argument, .path = dir_ / "deep");
  LoaderOptions windowed = options();
  windowed.sampler.order = Order::windowed;
  EXPECT_ERROR(Loader(both_, windowed), invalid_argument);
}

}  // namespace
}  // namespace ffkit
