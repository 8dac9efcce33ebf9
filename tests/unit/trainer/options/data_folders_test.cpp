#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/train_options.h>

#include "options/stored_options.h"
#include "run_options.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

TEST(DataFolders, OneFolderHasNoWeight) {
  for (const char* word : {"a", "a:2"}) {
    const DataFolders one = DataFolders::parse({word});
    EXPECT_EQ(one, DataFolders("a"));
    EXPECT_FALSE(one.are_several());
    EXPECT_EQ(one.only(), "a");
    EXPECT_EQ(one.string(), "a");
    EXPECT_THAT(one.weights(), IsEmpty());
  }
  EXPECT_TRUE(DataFolders("").empty());
  EXPECT_TRUE(DataFolders::parse({""}).empty());
  EXPECT_EQ(DataFolders().only(), "");
}

TEST(DataFolders, SeveralHaveSharesOrWeights) {
  const DataFolders equal = DataFolders::parse({"a", "b"});
  EXPECT_TRUE(equal.are_several());
  EXPECT_THAT(equal.weights(), IsEmpty());
  EXPECT_EQ(equal.string(), "a and b");
  const DataFolders some = DataFolders::parse({"a", "b:0.5", "c:3"});
  EXPECT_THAT(some.weights(), ElementsAre(1, 0.5, 3));
  EXPECT_EQ(some.string(), "a, b:0.5 and c:3");
  EXPECT_EQ(DataFolders::parse(some.words()), some);
  EXPECT_ERROR(some.only(), invalid_argument);
}

// What is there wins over what could be a weight.
TEST(DataFolders, TheColonOfAPortIsNoWeight) {
  EXPECT_EQ(DataFolders::parse({"http://host:8080"}).only(), "http://host:8080");
  EXPECT_EQ(DataFolders::parse({"http://host:8080/set:2"}).only(), "http://host:8080/set");
  EXPECT_EQ(DataFolders::parse({"s3://bucket/set:2"}).only(), "s3://bucket/set");
  EXPECT_THAT(DataFolders::parse({"s3://bucket/a:2", "/data/b:1"}).weights(), ElementsAre(2, 1));
}

TEST(DataFolders, AColonMayBePartOfAName) {
  const testing::TempDir temp;
  const std::string plain = (temp / "set").string();
  std::filesystem::create_directory(temp / "set:1");
  const DataFolders one = DataFolders::parse({plain + ":1"});
  EXPECT_EQ(one.only(), plain + ":1");
  const DataFolders both = DataFolders::parse({plain + ":1:2", plain + ":3"});
  EXPECT_EQ(both.folders()[0].path, plain + ":1");
  EXPECT_EQ(both.folders()[1].path, plain);
  EXPECT_THAT(both.weights(), ElementsAre(2, 3));
  EXPECT_EQ(DataFolders::parse(both.words()), both);
  for (const char* word : {"host:path", "a:", ":1", "a:1x", "a: 1"}) {
    EXPECT_EQ(DataFolders::parse({word}).only(), word);
  }
}

TEST(DataFolders, AWeightIsMoreThanZero) {
  for (const char* word : {"a:0", "a:-1", "a:nan", "a:inf"}) {
    EXPECT_ERROR(DataFolders::parse({word, "b"}), invalid_argument);
  }
}

TEST(DataFolders, AreStoredAsOneTextOrSeveral) {
  TrainOptions o;
  o.data = "/data/a";
  EXPECT_THAT(options_to_json(o, TaskRegistry::instance()), HasSubstr(R"({"data":"/data/a",)"));
  o.data = "s3://bucket/a";
  EXPECT_THAT(options_to_json(o, TaskRegistry::instance()),
              HasSubstr(R"({"data":"s3://bucket/a",)"));
  o.data = DataFolders::parse({"/data/../data/a:1", "/data/b:2.5"});
  const std::string json = options_to_json(o, TaskRegistry::instance());
  EXPECT_THAT(json, HasSubstr(R"({"data":["/data/a:1","/data/b:2.5"],)"));
  EXPECT_EQ(options_from_json(json, "f", TaskRegistry::instance()).data,
            DataFolders::parse({"/data/a:1", "/data/b:2.5"}));
  EXPECT_EQ(options_from_json(R"({"data":"/data/a"})", "f", TaskRegistry::instance()).data,
            DataFolders("/data/a"));
  EXPECT_ERROR(options_from_json(R"({"data":[1]})", "run/file", TaskRegistry::instance()), corrupt);
}

TEST(DataFolders, StandInConfigToml) {
  TrainOptions o;
  o.data = DataFolders::parse({"/data/a:1", "/data/\"q\":2"});
  EXPECT_THAT(options_to_toml(o), HasSubstr("\ndata = [\"/data/a:1\", '/data/\"q\":2']\n"));
  o.data = DataFolders::parse({"/data/a:1", "/data/#:2"});
  EXPECT_THAT(options_to_toml(o), HasSubstr("\n# data: give it by --data\n"));
}

TEST(DataFolders, TheirTextIsInMessagesOfTheTable) {
  TrainOptions o;
  o.data = DataFolders::parse({"a:1", "\xff"});
  EXPECT_EQ(option_tables(o).general.find("data")->text(), "a:1 \xff");
  EXPECT_ERROR(validate(o), invalid_argument);
}

}  // namespace
}  // namespace ffkit
