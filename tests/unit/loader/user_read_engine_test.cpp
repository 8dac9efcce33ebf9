// A read engine of the user's own (IoOptions::make_engine).
#include <deque>

#include <ffkit/loader/read_engine.h>

#include "loader_prelude.h"

namespace ffkit {
namespace {

using ReadCall = std::function<int64_t(const ReadRequest& request)>;  // bytes or -errno

// Reads when it is waited for, the newest first, `at_once` at most.
class CallEngine final : public ReadEngine {
 public:
  CallEngine(std::string name, ReadCall read, size_t at_once)
      : name_(std::move(name)), read_(std::move(read)), at_once_(at_once) {}
  std::string description() const override { return name_; }
  int num_in_flight() const override { return static_cast<int>(requests_.size()); }
  void submit(const ReadRequest& request) override { requests_.push_back(request); }
  std::span<const ReadCompletion> wait(int /*wanted*/) override {
    completions_.clear();
    while (!requests_.empty() && completions_.size() < at_once_) {
      const ReadRequest request = requests_.back();
      requests_.pop_back();
      completions_.push_back({request.tag, read_(request)});
    }
    return completions_;
  }

 private:
  std::string name_;
  ReadCall read_;
  size_t at_once_;
  std::vector<ReadRequest> requests_;
  std::vector<ReadCompletion> completions_;
};

// All shards in memory.
std::unique_ptr<ReadEngine> make_memory_engine(const std::vector<ReadFile>& files,
                                               const ReadEngineOptions& /*options*/) {
  auto contents = std::make_shared<std::vector<std::vector<char>>>();
  for (const ReadFile& file : files) {
    std::ifstream in(file.path, std::ios::binary);
    contents->emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  const ReadCall read = [contents](const ReadRequest& request) -> int64_t {
    const std::vector<char>& content = contents->at(static_cast<size_t>(request.file));
    const auto size = std::ssize(content);
    const int64_t begin = std::min(request.offset, size);
    const int64_t end = std::min(begin + static_cast<int64_t>(request.num_bytes), size);
    if (end > begin) std::memcpy(request.buffer, content.data() + begin, size_t(end - begin));
    return end - begin;
  };
  return std::make_unique<CallEngine>("memory", read, 3);
}

// By another API than the loader's: stdio, which has no descriptor of ours.
std::unique_ptr<ReadEngine> make_stdio_engine(const std::vector<ReadFile>& files,
                                              const ReadEngineOptions& /*options*/) {
  auto opened = std::make_shared<std::deque<std::unique_ptr<FILE, int (*)(FILE*)>>>();
  for (const ReadFile& file : files) opened->emplace_back(fopen(file.path.c_str(), "rb"), fclose);
  const ReadCall read = [opened](const ReadRequest& request) -> int64_t {
    FILE* file = opened->at(static_cast<size_t>(request.file)).get();
    if (fseek(file, request.offset, SEEK_SET) != 0) return -errno;
    return static_cast<int64_t>(fread(request.buffer, 1, request.num_bytes, file));
  };
  return std::make_unique<CallEngine>("stdio", read, 1);
}

class UserReadEngineTest : public ::testing::Test {
 protected:
  static LoaderOptions options() {
    LoaderOptions out{.batch_size = 7};
    out.image.transform = ResizeCenterCrop{.resize = 20, .size = 16};
    out.sampler = {.tail = Tail::even, .seed = 3};
    out.num_threads = 2;
    out.io = {.engine = IoEngine::pread, .direct = DirectIo::off, .queue_depth = 5};
    return out;
  }
  // An engine that reads by `read`.
  LoaderOptions with(const ReadCall& read) {
    LoaderOptions out = options();
    out.io.make_engine = [read](const std::vector<ReadFile>&, const ReadEngineOptions&) {
      return std::make_unique<CallEngine>("call", read, 2);
    };
    return out;
  }
  testing::TempDir dir_;
  const Dataset dataset_ = testing::make_dataset(dir_ / "train");
};

TEST_F(UserReadEngineTest, BatchesAreTheSame) {
  Loader reference(dataset_, options());
  const auto expected = testing::collect_epoch(reference, 1);
  for (const MakeReadEngine& make :
       {MakeReadEngine(make_memory_engine), MakeReadEngine(make_stdio_engine)}) {
    LoaderOptions own = options();
    own.io.make_engine = make;
    Loader loader(dataset_, own);
    EXPECT_EQ(testing::collect_epoch(loader, 1), expected);
    const LoaderStatistics stats = loader.statistics();
    EXPECT_TRUE(stats.io_engine == "memory" || stats.io_engine == "stdio") << stats.io_engine;
    EXPECT_GT(stats.num_reads, 0);
    EXPECT_EQ(loader.options().io.decoders_read_cache, false);
  }
}

TEST_F(UserReadEngineTest, IsToldWhatItIsFor) {
  LoaderOptions own = options();
  own.io.num_retries = 9;
  own.io.direct = DirectIo::automatic;
  bool was_made = false;
  own.io.make_engine = [&](const std::vector<ReadFile>& files, const ReadEngineOptions& told) {
    was_made = true;
    EXPECT_EQ(std::ssize(files), dataset_.num_shards());
    for (int64_t i = 0; i < dataset_.num_shards(); ++i) {
      EXPECT_EQ(files[static_cast<size_t>(i)].path, dataset_.shard(i).path());
      EXPECT_GE(files[static_cast<size_t>(i)].descriptor, 0);
    }
    EXPECT_EQ(told.queue_depth, 5);
    EXPECT_EQ(told.num_retries, 9);
    EXPECT_EQ(told.alignment, 1U) << "automatic is off";
    return make_memory_engine(files, told);
  };
  const Loader loader(dataset_, own);
  EXPECT_TRUE(was_made);
}

TEST_F(UserReadEngineTest, ItsErrorsAreThoseOfReads) {
  Loader broken(dataset_, with([](const ReadRequest&) { return -ESTALE; }));
  EXPECT_ERROR(broken.next(), io, .record = 8, .subject = shard);
  // An unreadable sector: the record is read alone, from the data set's file.
  Loader reference(dataset_, options());
  LoaderOptions sectors = with([](const ReadRequest&) { return -EIO; });
  sectors.bad_samples = BadSamples::skip;
  sectors.on_warning = [](std::string_view) {};
  Loader skipping(dataset_, sectors);
  EXPECT_EQ(skipping.next()->size(), reference.next()->size());
  Loader cut(dataset_,
             with([](const ReadRequest& request) { return int64_t(request.num_bytes) - 1; }));
  EXPECT_ERROR(cut.next(), io, .record = 8, .subject = shard);
}

TEST_F(UserReadEngineTest, WhatItThrowsComesOutOfNext) {
  bool has_thrown = false;
  Loader loader(dataset_, with([&](const ReadRequest&) -> int64_t {
                  if (std::exchange(has_thrown, true)) return -ESTALE;
                  throw std::runtime_error("the store is away");
                }));
  EXPECT_THROW(loader.next(), std::runtime_error);
}

TEST_F(UserReadEngineTest, WrongEnginesAreFound) {
  LoaderOptions none = options();
  none.io.make_engine = [](const std::vector<ReadFile>&, const ReadEngineOptions&) {
    return std::unique_ptr<ReadEngine>();
  };
  EXPECT_ERROR(Loader(dataset_, none), invalid_argument);
  Loader more(dataset_,
              with([](const ReadRequest& request) { return int64_t(request.num_bytes) + 1; }));
  EXPECT_ERROR(more.next(), invalid_argument);

  // Completes every read under another tag.
  class Confused final : public ReadEngine {
   public:
    std::string description() const override { return "confused"; }
    int num_in_flight() const override { return num_; }
    void submit(const ReadRequest&) override { ++num_; }
    std::span<const ReadCompletion> wait(int) override {
      num_ = 0;
      return {&completion_, 1};
    }

   private:
    int num_ = 0;
    ReadCompletion completion_{.tag = 1000, .result = 1};
  };
  LoaderOptions confused = options();
  confused.io.make_engine = [](const std::vector<ReadFile>&, const ReadEngineOptions&) {
    return std::make_unique<Confused>();
  };
  Loader loader(dataset_, confused);
  EXPECT_ERROR(loader.next(), invalid_argument);
}

}  // namespace
}  // namespace ffkit
