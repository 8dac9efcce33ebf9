#include "loader_prelude.h"

namespace ffkit {
namespace {

class LoaderTest : public ::testing::Test {
 protected:
  static LoaderOptions small_options() {
    LoaderOptions options;
    options.batch_size = 6;
    options.num_threads = 2;
    options.image.transform = RandomResizedCrop{.size = 24};
    options.image.output = {.dtype = DType::u8, .normalize = false};
    options.sampler.seed = 5;
    options.sampler.tail = Tail::exact;
    return options;
  }
  static std::vector<int64_t> sorted(std::vector<int64_t> values) {
    std::sort(values.begin(), values.end());
    return values;
  }

  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train");
};

TEST_F(LoaderTest, GivesEveryRecordOnceWithItsLabel) {
  Loader loader(dataset_, small_options());
  const auto batches = collect_epoch(loader, 0);
  EXPECT_EQ(static_cast<int64_t>(batches.size()), loader.num_batches());
  EXPECT_EQ(batches.back().record_indices.size(), 4U);  // 40 = 6 * 6 + 4
  std::vector<int64_t> all(40);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted(testing::records_of(batches)), all);
  for (size_t step = 0; step < batches.size(); ++step) {
    const CollectedBatch& batch = batches[step];
    EXPECT_EQ(batch.step, static_cast<int64_t>(step));
    for (size_t i = 0; i < batch.labels.size(); ++i) {
      EXPECT_EQ(batch.labels[i], testing::label_of(batch.record_indices[i]));
    }
  }
}

TEST_F(LoaderTest, SaysWhenAllBatchesAreTaken) {
  Loader loader(dataset_, small_options());
  EXPECT_FALSE(loader.at_end());
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    loader.set_epoch(epoch);
    for (int64_t step = 0; step < loader.num_batches(); ++step) {
      EXPECT_FALSE(loader.at_end());
      loader.next();
    }
    EXPECT_TRUE(loader.at_end());
  }
  const LoaderState end = loader.state();
  loader.set_epoch(3);
  EXPECT_FALSE(loader.at_end());
  loader.restore(end);
  EXPECT_TRUE(loader.at_end());
  EXPECT_FALSE(loader.next().has_value());
}

TEST_F(LoaderTest, RefusesAnEpochWithoutABatch) {
  LoaderOptions options = small_options();
  options.sampler.tail = Tail::drop;
  options.batch_size = 41;
  EXPECT_ERROR(Loader(dataset_, options), invalid_argument);
  options.batch_size = 20;
  EXPECT_EQ(Loader(dataset_, options).num_batches(), 2);
  options.sampler.world_size = 3;
  EXPECT_ERROR(Loader(dataset_, options), invalid_argument);
  options.sampler.tail = Tail::pad;
  EXPECT_EQ(Loader(dataset_, options).num_batches(), 1);
  // What is left of an epoch may be less than a batch.
  options = small_options();
  options.sampler.tail = Tail::drop;
  Loader loader(dataset_, options);
  LoaderState state = loader.state();
  state.position = 36;
  loader.restore(state);
  EXPECT_FALSE(loader.next().has_value());
}

TEST_F(LoaderTest, BatchesAreTheSameForAnyThreadsEnginesAndLimits) {
  Loader reference(dataset_, small_options());
  const auto expected = collect_epoch(reference, 3);
  for (IoEngine engine : {IoEngine::automatic, IoEngine::pread}) {
    for (int num_threads : {1, 2, 4}) {
      for (int variant = 0; variant < 4; ++variant) {
        LoaderOptions options = small_options();
        options.io.decoders_read_cache = variant == 3;  // else all goes through the engine
        options.io.engine = engine;
        options.num_threads = num_threads;
        if (variant == 1) {
          options.memory.prefetch_batches = 1;
          options.memory.held_batches = 1;
          options.io.queue_depth = 1;
          options.io.max_bytes_in_flight = 64 << 10;
        }
        if (variant == 2) {
          options.memory.prefetch_batches = 20;
          options.io.verify_checksums = false;
        }
        Loader loader(dataset_, options);
        EXPECT_EQ(collect_epoch(loader, 3), expected)
            << loader.statistics().io_engine << " threads " << num_threads << " variant "
            << variant;
      }
    }
  }
}

TEST_F(LoaderTest, DirectIoGivesTheSameBatches) {
  for (Order order : {Order::shuffle, Order::sequential}) {
    LoaderOptions options = small_options();
    options.sampler.order = order;
    options.io.direct = DirectIo::off;
    Loader buffered(dataset_, options);
    const auto expected = collect_epoch(buffered, 0);
    EXPECT_FALSE(buffered.statistics().direct_io);
    for (IoEngine engine : {IoEngine::automatic, IoEngine::pread}) {
      options.io.engine = engine;
      options.io.direct = DirectIo::on;
      std::unique_ptr<Loader> direct;
      try {
        direct = std::make_unique<Loader>(dataset_, options);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::unsupported);
        GTEST_SKIP() << error.what();
      }
      EXPECT_EQ(collect_epoch(*direct, 0), expected);
      EXPECT_TRUE(direct->statistics().direct_io);
    }
  }
}

TEST_F(LoaderTest, EpochsDifferAndRepeat) {
  Loader loader(dataset_, small_options());
  const auto first = collect_epoch(loader, 0);
  const auto second = collect_epoch(loader, 1);
  EXPECT_NE(testing::records_of(first), testing::records_of(second));
  EXPECT_EQ(second[0].epoch, 1);
  EXPECT_EQ(collect_epoch(loader, 0), first);
}

TEST_F(LoaderTest, ReadingAheadAcrossEpochsChangesNothingButTheTime) {
  for (const Tail tail : {Tail::drop, Tail::pad, Tail::exact}) {
    LoaderOptions options = small_options();
    options.sampler.tail = tail;
    options.memory.prefetch_batches = 9;  // more than an epoch has
    options.io.read_ahead_epochs = false;
    Loader without(dataset_, options);
    options.io.read_ahead_epochs = true;
    Loader with(dataset_, options);
    for (int64_t epoch = 2; epoch < 6; ++epoch) {
      EXPECT_EQ(collect_epoch(with, epoch), collect_epoch(without, epoch));
      EXPECT_EQ(with.state(), without.state());
      EXPECT_FALSE(with.next().has_value()) << "until the next epoch is started";
    }
    EXPECT_EQ(collect_epoch(with, 3), collect_epoch(without, 3)) << "another than the one read";
  }
}

TEST_F(LoaderTest, FirstBatchesOfTheNextEpochAreReadBeforeItStarts) {
  LoaderOptions options = small_options();
  options.io.read_ahead_epochs = false;
  Loader alone(dataset_, options);
  collect_epoch(alone, 0);
  const int64_t of_one_epoch = alone.statistics().num_reads;
  options.io.read_ahead_epochs = true;
  Loader ahead(dataset_, options);
  collect_epoch(ahead, 0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(200);
  while (ahead.statistics().num_reads <= of_one_epoch &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_GT(ahead.statistics().num_reads, of_one_epoch);
  EXPECT_EQ(alone.statistics().num_reads, of_one_epoch);
}

TEST_F(LoaderTest, RanksWithoutBatchesEndEveryEpochAtOnce) {
  LoaderOptions options = small_options();
  options.batch_size = 40;
  options.sampler.world_size = 2;
  options.sampler.rank = 1;
  Loader loader(dataset_, options);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    loader.set_epoch(epoch);
    EXPECT_FALSE(loader.next().has_value());
    EXPECT_EQ(loader.state().position, 40);
  }
}

TEST_F(LoaderTest, FirstNextStartsEpochZero) {
  Loader a(dataset_, small_options());
  Loader b(dataset_, small_options());
  EXPECT_EQ(testing::collect_rest(a), collect_epoch(b, 0));
  EXPECT_FALSE(a.next().has_value());
}

TEST_F(LoaderTest, RanksShareTheEpochUnderEveryTail) {
  const int world_size = 3;
  for (Tail tail : {Tail::drop, Tail::pad, Tail::exact}) {
    std::vector<int64_t> all;
    std::vector<size_t> num_batches;
    for (int rank = 0; rank < world_size; ++rank) {
      LoaderOptions options = small_options();
      options.sampler = {.tail = tail, .seed = 5, .rank = rank, .world_size = world_size};
      Loader loader(dataset_, options);
      const auto batches = collect_epoch(loader, 0);
      EXPECT_EQ(static_cast<int64_t>(batches.size()), loader.num_batches());
      num_batches.push_back(batches.size());
      const auto records = testing::records_of(batches);
      all.insert(all.end(), records.begin(), records.end());
    }
    // 40 records in steps of 3 * 6: two full ones, and 4 records that only rank 0 gets.
    const bool exact = tail == Tail::exact;
    const size_t full = tail == Tail::drop ? 2 : 3;
    EXPECT_EQ(num_batches, (std::vector<size_t>{full, exact ? 2U : full, exact ? 2U : full}));
    const std::map<Tail, size_t> num_samples = {
        {Tail::drop, 36}, {Tail::pad, 54}, {Tail::exact, 40}};
    EXPECT_EQ(all.size(), num_samples.at(tail));
    const auto in_order = sorted(all);
    const bool repeats = std::adjacent_find(in_order.begin(), in_order.end()) != in_order.end();
    EXPECT_EQ(repeats, tail == Tail::pad);
  }
}

TEST_F(LoaderTest, SampleLooksTheSameOnAnyRank) {
  std::map<int64_t, std::vector<std::byte>> views;
  const auto add = [&](const std::vector<CollectedBatch>& batches) {
    for (const CollectedBatch& batch : batches) {
      const size_t bytes = batch.images.size() / batch.record_indices.size();
      for (size_t i = 0; i < batch.record_indices.size(); ++i) {
        const std::vector<std::byte> view(
            batch.images.begin() + static_cast<ptrdiff_t>(i * bytes),
            batch.images.begin() + static_cast<ptrdiff_t>((i + 1) * bytes));
        const auto [it, is_new] = views.emplace(batch.record_indices[i], view);
        EXPECT_TRUE(is_new || it->second == view) << "record " << batch.record_indices[i];
      }
    }
  };
  Loader alone(dataset_, small_options());
  add(collect_epoch(alone, 2));
  for (int rank = 0; rank < 2; ++rank) {
    LoaderOptions options = small_options();
    options.batch_size = 5;
    options.sampler.rank = rank;
    options.sampler.world_size = 2;
    Loader loader(dataset_, options);
    add(collect_epoch(loader, 2));
  }
  EXPECT_EQ(views.size(), 40U);
}

TEST_F(LoaderTest, ReadsLabelsOfAnyIntegerType) {
  const Dataset other = testing::make_dataset(dir_ / "u16", {.label_dtype = DType::u16});
  Loader loader(other, small_options());
  for (const CollectedBatch& batch : collect_epoch(loader, 0)) {
    for (size_t i = 0; i < batch.labels.size(); ++i) {
      EXPECT_EQ(batch.labels[i], testing::label_of(batch.record_indices[i]));
    }
  }
}

TEST_F(LoaderTest, HoldingMoreBatchesThanPromisedIsAnError) {
  LoaderOptions options = small_options();
  options.memory.held_batches = 2;
  options.memory.prefetch_batches = 1;
  Loader loader(dataset_, options);
  auto a = loader.next();
  auto b = loader.next();
  const CollectedBatch before = testing::collect(*a);
  EXPECT_ERROR(loader.next(), invalid_argument);
  EXPECT_EQ(testing::collect(*a), before);
  b.reset();
  const auto c = loader.next();  // nothing is lost
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(c->step(), 2);
  EXPECT_EQ(testing::collect(*a), before);
}

TEST_F(LoaderTest, RecordLargerThanTheReadBuffersIsReadAlone) {
  const Dataset large = testing::make_dataset(
      dir_ / "large", {.num_records = 6, .num_shards = 1, .width = 400, .height = 400});
  ASSERT_GT(large.locate(0).record.stored_bytes, 64 << 10);
  Loader plain(large, small_options());
  LoaderOptions options = small_options();
  options.io.max_bytes_in_flight = 64 << 10;
  Loader tight(large, options);
  EXPECT_EQ(collect_epoch(tight, 0), collect_epoch(plain, 0));
}

TEST_F(LoaderTest, MemoryIsBoundedByWhatItSays) {
  class Allocator : public SlabAllocator {
   public:
    void* allocate(size_t num_bytes) override {
      total += static_cast<int64_t>(num_bytes);
      return inner_->allocate(num_bytes);
    }
    void deallocate(void* slab, size_t num_bytes) noexcept override {
      inner_->deallocate(slab, num_bytes);
    }
    int64_t total = 0;

   private:
    std::shared_ptr<SlabAllocator> inner_ = default_slab_allocator();
  };
  auto allocator = std::make_shared<Allocator>();
  LoaderOptions options = small_options();
  options.memory.allocator = allocator;
  options.io.max_bytes_in_flight = 1 << 20;
  Loader loader(dataset_, options);
  const int64_t at_construction = allocator->total;
  // Slabs, the ring of reads, and what threads keep for records, of which none is larger than its
  // shard.
  const int64_t in_use = at_construction + (1 << 20);
  EXPECT_GT(loader.memory_bound(), in_use);
  EXPECT_LE(loader.memory_bound(),
            in_use + 6 * options.num_threads * dataset_.manifest().file_bytes());
  collect_epoch(loader, 0);
  collect_epoch(loader, 1);
  EXPECT_EQ(allocator->total, at_construction);
}

TEST_F(LoaderTest, RefusesOptionsOutOfRange) {
  const auto with = [&](auto change) {
    LoaderOptions options = small_options();
    change(options);
    return Loader(dataset_, options);
  };
  EXPECT_ERROR(with([](auto& o) { o.batch_size = 0; }), invalid_argument);
  EXPECT_ERROR(with([](auto& o) { o.num_threads = -1; }), invalid_argument);
  EXPECT_ERROR(with([](auto& o) { o.memory.prefetch_batches = 0; }), invalid_argument);
  EXPECT_ERROR(with([](auto& o) { o.memory.held_batches = 0; }), invalid_argument);
  EXPECT_ERROR(with([](auto& o) { o.io.queue_depth = 5000; }), invalid_argument);
  EXPECT_ERROR(with([](auto& o) { o.io.max_bytes_in_flight = 1; }), invalid_argument);
  EXPECT_ERROR(with([](auto& o) { o.io.num_retries = -1; }), invalid_argument);
  EXPECT_ERROR(with([](auto& o) { o.sampler.rank = 1; }), invalid_argument);
  EXPECT_ERROR(with([](auto& o) { o.image.output.normalize = true; }), invalid_argument);
  EXPECT_ERROR(with([](auto& o) { o.label_field = "nope"; }), not_found, .subject = field);
  EXPECT_ERROR(with([](auto& o) { o.image_field = "nope"; }), not_found, .subject = field);
  EXPECT_ERROR(with([](auto& o) { o.image_field = "label"; }), invalid_argument);
  EXPECT_ERROR(with([](auto& o) { o.label_field = "id"; }), invalid_argument);
  Loader loader(dataset_, small_options());
  EXPECT_ERROR(loader.set_epoch(-1), invalid_argument);
}

TEST_F(LoaderTest, FloatLabelsAreRefused) {
  const Dataset other = testing::make_dataset(dir_ / "f32", {.label_dtype = DType::f32});
  EXPECT_ERROR(Loader(other, small_options()), invalid_argument);
}

TEST_F(LoaderTest, ThreadsAreCountedWhenLeftToTheLoader) {
  LoaderOptions options = small_options();
  options.num_threads = 0;
  EXPECT_GE(Loader(dataset_, options).options().num_threads, 1);
}

TEST_F(LoaderTest, StatisticsCountReadsOfDecoders) {
  LoaderOptions options = small_options();
  options.io.read_ahead_epochs = false;
  options.io.engine = IoEngine::pread;
  options.io.direct = DirectIo::off;
  options.io.decoders_read_cache = true;
  Loader loader(dataset_, options);
  collect_epoch(loader, 0);
  EXPECT_GT(loader.statistics().num_reads, 0);
  EXPECT_GT(loader.statistics().read_seconds, 0);
  EXPECT_GE(loader.statistics().bytes_read, dataset_.manifest().shards[0].record_bytes);
}

TEST_F(LoaderTest, StatisticsTellWhatHappened) {
  LoaderOptions options = small_options();
  options.sampler.order = Order::sequential;
  options.io.read_ahead_epochs = false;  // nothing is under way when the numbers are read
  options.io.decoders_read_cache = false;
  Loader loader(dataset_, options);
  EXPECT_EQ(loader.statistics().elapsed_seconds, 0);
  EXPECT_EQ(loader.statistics().verdict(), "no batch has been taken yet");
  collect_epoch(loader, 0);
  const LoaderStatistics stats = loader.statistics();
  EXPECT_EQ(stats.num_batches, 7);
  EXPECT_EQ(stats.num_samples, 40);
  EXPECT_EQ(stats.num_replaced, 0);
  EXPECT_GE(stats.bytes_read, dataset_.manifest().shards[0].record_bytes);
  EXPECT_GE(stats.num_reads, 7);
  EXPECT_LT(stats.num_reads, 40) << "neighbours share reads";
  EXPECT_GT(stats.read_seconds, 0);
  EXPECT_GT(stats.checksum_seconds, 0);
  EXPECT_GT(stats.decode_seconds, 0);
  EXPECT_GT(stats.transform_seconds, 0);
  EXPECT_GT(stats.wait_seconds, 0);
  EXPECT_GE(stats.busy_seconds,
            stats.checksum_seconds + stats.decode_seconds + stats.transform_seconds);
  EXPECT_EQ(stats.num_threads, 2);
  EXPECT_EQ(stats.prefetch_batches, 3);
  EXPECT_LE(stats.ready_batches, 3);
  EXPECT_GT(stats.reads_in_flight, 0);
  EXPECT_GT(stats.elapsed_seconds, 0);
  const std::string text = to_string(stats);
  for (const char* word : {"40 in 7 batches", "checksum", "decode", "transform", "ready", "wait",
                           "page cache", "-bound"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << " in\n" << text;
  }
  options.io.verify_checksums = false;
  Loader trusting(dataset_, options);
  collect_epoch(trusting, 0);
  EXPECT_EQ(trusting.statistics().checksum_seconds, 0);
}

}  // namespace
}  // namespace ffkit
