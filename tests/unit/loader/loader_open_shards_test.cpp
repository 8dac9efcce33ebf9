// Loaders of data sets with more shards than may be open.
#include "loader_prelude.h"

namespace ffkit {
namespace {

struct Way {
  IoEngine engine;
  DirectIo direct;
};

class LoaderOpenShards : public ::testing::TestWithParam<Way> {
 protected:
  static LoaderOptions options(Way way) {
    LoaderOptions options;
    options.batch_size = 8;
    options.num_threads = 2;
    options.image.transform = RandomResizedCrop{.size = 24};
    options.image.output = {.dtype = DType::u8, .normalize = false};
    options.sampler.seed = 5;
    options.sampler.tail = Tail::exact;
    options.io.engine = way.engine;
    options.io.direct = way.direct;
    return options;
  }

  Dataset open(int64_t max_open_shards) const {
    return Dataset::open(dir_ / "train", "", {.max_open_shards = max_open_shards});
  }

  testing::TempDir dir_;
  const Dataset all_ =
      testing::make_dataset(dir_ / "train", {.num_records = 100, .num_shards = 25});
};

TEST_P(LoaderOpenShards, GivesTheSameBatches) {
  std::optional<Loader> plain;
  try {
    plain.emplace(all_, options(GetParam()));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  Loader few(open(2), options(GetParam()));
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(collect_epoch(few, epoch), collect_epoch(*plain, epoch));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Engines, LoaderOpenShards,
    ::testing::Values(Way{IoEngine::io_uring, DirectIo::off}, Way{IoEngine::io_uring, DirectIo::on},
                      Way{IoEngine::pread, DirectIo::off}, Way{IoEngine::pread, DirectIo::on}),
    [](const auto& way) {
      const bool is_ring = way.param.engine == IoEngine::io_uring;
      const bool is_direct = way.param.direct == DirectIo::on;
      return std::string(is_ring ? "io_uring" : "pread") + (is_direct ? "_direct" : "");
    });

using LoaderFewOpenShards = LoaderOpenShards;

void take_all(Loader& loader) {
  while (loader.next().has_value()) continue;
}

TEST_F(LoaderFewOpenShards, NameTheShardThatIsMissing) {
  const std::filesystem::path gone = all_.shard(20).path();
  std::filesystem::remove(gone);
  for (const bool skip : {false, true}) {
    LoaderOptions wanted = options({IoEngine::automatic, DirectIo::off});
    // A whole shard is not a bad sample.
    if (skip) wanted.bad_samples = BadSamples::skip;
    Loader loader(open(2), wanted);
    loader.set_epoch(0);
    EXPECT_ERROR(take_all(loader), not_found, .path = gone.string(), .subject = shard);
  }
}

TEST_F(LoaderFewOpenShards, BringTheirDescriptorsToAUsersEngine) {
  class Reader : public ReadEngine {
   public:
    std::string description() const override { return "test"; }
    int num_in_flight() const override { return static_cast<int>(done_.size()); }
    void submit(const ReadRequest& request) override {
      done_.push_back({request.tag, ::pread(request.shard->descriptor, request.buffer,
                                            request.num_bytes, request.offset)});
    }
    std::span<const ReadCompletion> wait(int) override {
      given_.swap(done_);
      done_.clear();
      return given_;
    }

   private:
    std::vector<ReadCompletion> done_;
    std::vector<ReadCompletion> given_;
  };
  LoaderOptions own = options({IoEngine::automatic, DirectIo::off});
  int64_t num_files = 0;
  own.io.make_engine = [&](const std::vector<ReadFile>& files, const ReadEngineOptions&) {
    num_files = std::ssize(files);
    EXPECT_EQ(files.front().descriptor, -1);
    return std::make_unique<Reader>();
  };
  own.io.decoders_read_cache = false;
  Loader loader(open(2), own);
  Loader plain(all_, options({IoEngine::automatic, DirectIo::off}));
  EXPECT_EQ(num_files, all_.num_shards());
  EXPECT_EQ(collect_epoch(loader, 0), collect_epoch(plain, 0));
}

}  // namespace
}  // namespace ffkit
