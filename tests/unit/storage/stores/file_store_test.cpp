#include "stores/store_kinds.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

class FileStoreTest : public ::testing::Test {
 protected:
  std::string address_of(const std::string& name) const {
    return "file://" + (folder_ / name).string();
  }
  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
  }

  testing::TempDir folder_;
  const std::shared_ptr<ObjectStore> store_ = make_file_store();
};

TEST_F(FileStoreTest, WritesAndReads) {
  const std::string address = address_of("set/a b%20");
  EXPECT_TRUE(store_->put(address, bytes("content"), false));
  EXPECT_EQ(testing::read_file(folder_ / "set/a b%20"), "content");
  EXPECT_EQ(store_->read_all(address, 10), "content");
  std::string part(3, '\0');
  const auto facts = store_->find(address);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->num_bytes, 7);
  store_->read(address, 2, std::as_writable_bytes(std::span(part)), *facts);
  EXPECT_EQ(part, "nte");
  store_->put(address, bytes("other"), false);
  EXPECT_ERROR(store_->read(address, 2, std::as_writable_bytes(std::span(part)), *facts), corrupt);
  EXPECT_ERROR(store_->read(address, 3, std::as_writable_bytes(std::span(part))), corrupt);
  EXPECT_ERROR(store_->read_all(address_of("none"), 10), not_found);
  EXPECT_FALSE(store_->find(address_of("none")).has_value());
  EXPECT_FALSE(store_->find(address_of("set")).has_value());
}

TEST_F(FileStoreTest, WritesOnlyWhatIsNew) {
  EXPECT_TRUE(store_->put(address_of("x"), bytes("1"), true));
  EXPECT_FALSE(store_->put(address_of("x"), bytes("2"), true));
  EXPECT_EQ(store_->read_all(address_of("x"), 10), "1");
  EXPECT_EQ(store_->list(address_of(""), true).objects.size(), 1U);
}

TEST_F(FileStoreTest, ShowsAnUploadWhenItIsFinished) {
  const auto upload = store_->upload(address_of("a/x"), 0);
  upload->add(bytes("1"));
  EXPECT_TRUE(store_->list(address_of("a"), true).objects.empty());
  upload->add(bytes("2"));
  upload->finish();
  EXPECT_EQ(store_->read_all(address_of("a/x"), 10), "12");
  store_->upload(address_of("a/y"), 0)->add(bytes("1"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "a"), {}), 1);
}

TEST_F(FileStoreTest, ListsAndRemoves) {
  for (const char* name : {"set/b", "set/a/1", "set/a/2"}) {
    store_->put(address_of(name), bytes("x"), false);
  }
  const Listing here = store_->list(address_of("set/"), false);
  ASSERT_EQ(here.objects.size(), 1U);
  EXPECT_EQ(here.objects[0].address, address_of("set/b"));
  EXPECT_EQ(here.folders, std::vector<std::string>{address_of("set/a")});
  const Listing all = store_->list(address_of("set"), true);
  ASSERT_EQ(all.objects.size(), 3U);
  EXPECT_EQ(all.objects[0].address, address_of("set/a/1"));
  EXPECT_TRUE(all.folders.empty());
  store_->remove(address_of("set/b"));
  store_->remove(address_of("set/b"));
  EXPECT_EQ(store_->list(address_of("set"), true).objects.size(), 2U);
  EXPECT_TRUE(store_->list(address_of("none"), true).objects.empty());
  EXPECT_ERROR(store_->remove(address_of("set/a")), io);
}

TEST(StoreOf, IsOneForEachPlace) {
  EXPECT_EQ(store_of("file:///a"), store_of("file:///b"));
  EXPECT_ERROR(store_of("/a"), invalid_argument);
}

}  // namespace
}  // namespace ffkit
