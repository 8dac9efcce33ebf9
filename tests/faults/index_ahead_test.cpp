// Pages of the index are asked for before the loader's I/O thread reads them, so that it does not
// wait for one after another.
#include <ffkit/loader/loader.h>

#include "faults/system_calls.h"
#include "make_dataset.h"
#include "test_prelude.h"

namespace {

constexpr int64_t kPage = 4096;

std::mutex pages_mutex;  // guards what follows
int64_t num_index_calls = 0;
std::map<int64_t, int64_t> announced;                 // the offsets of pages, and in which call
std::vector<std::pair<int64_t, int64_t>> pages_read;  // likewise, of whole pages that were read

ssize_t noted_pread(int fd, void* data, size_t num_bytes, off_t offset) {
  {
    const std::scoped_lock lock(pages_mutex);
    ++num_index_calls;
    if (num_bytes == kPage) pages_read.emplace_back(offset, num_index_calls);
  }
  return ffkit::testing::real_calls.pread(fd, data, num_bytes, offset);
}
int noted_fadvise(int fd, off_t offset, off_t num_bytes, int advice) {
  {
    const std::scoped_lock lock(pages_mutex);
    ++num_index_calls;
    if (num_bytes == kPage) announced.try_emplace(offset, num_index_calls);
  }
  return ffkit::testing::real_calls.posix_fadvise(fd, offset, num_bytes, advice);
}

}  // namespace

namespace ffkit {
namespace {

class IndexAheadTest : public ::testing::Test {
 protected:
  void start() {
    const std::scoped_lock lock(pages_mutex);
    num_index_calls = 0;
    announced.clear();
    pages_read.clear();
  }
  static LoaderOptions options(Order order) {
    LoaderOptions out;
    out.batch_size = 2;
    out.num_threads = 1;
    out.memory.prefetch_batches = 1;
    out.image_field.clear();
    out.sampler = {.order = order, .tail = Tail::exact, .seed = 1};
    return out;
  }

  ffkit::testing::Replaced<&ffkit::testing::Calls::pread> pread_{noted_pread};
  ffkit::testing::Replaced<&ffkit::testing::Calls::posix_fadvise> posix_fadvise_{noted_fadvise};
  testing::TempDir dir_;
  // 5 pages of index, in one shard.
  Dataset dataset_ = testing::make_numbers(dir_ / "train", 635, "label");
};

TEST_F(IndexAheadTest, PagesAreAskedForBeforeTheyAreRead) {
  for (const Order order : {Order::shuffle, Order::sequential}) {
    const Dataset dataset = Dataset::open(dataset_.path());
    start();
    Loader loader(dataset, options(order));
    while (loader.next().has_value()) {
    }
    std::set<int64_t> pages;
    int64_t num_ahead = 0;
    for (const auto& [offset, call] : pages_read) {
      pages.insert(offset);
      ASSERT_TRUE(announced.contains(offset)) << "the page at " << offset << " was not asked for";
      EXPECT_LT(announced[offset], call);
      // Other calls in between: the records of the batch before were read meanwhile.
      num_ahead += call - announced[offset] > 2 ? 1 : 0;
    }
    EXPECT_EQ(pages.size(), 5U);
    EXPECT_GE(num_ahead, 2);
  }
}

// What is kept in memory is not asked for again: the next epoch says nothing to the kernel.
TEST_F(IndexAheadTest, PagesInMemoryAreNotAskedFor) {
  Loader loader(dataset_, options(Order::shuffle));
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    loader.set_epoch(epoch);
    while (loader.next().has_value()) {
    }
    start();
  }
  loader.set_epoch(2);
  while (loader.next().has_value()) {
  }
  EXPECT_TRUE(announced.empty());
}

}  // namespace
}  // namespace ffkit
