#include <ffkit/base/option_table.h>

#include "base/other_words.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

struct TableValues {
  int side = 8;
  double low = 0.5, high = 1;
  bool is_on = true;
  std::string kind = "round";
  std::filesystem::path file;
};

OptionTable table_of(TableValues& v) {
  OptionTable table;
  table.group("Shape");
  table.add("side", v.side, "Side").require(v.side >= 1, "at least 1");
  table.add_list<double>("range", {{"range_low", &v.low}, {"range_high", &v.high}}, "LOW HIGH",
                         "Range");
  table.add("is-on", v.is_on, "On");
  table.store_behind("first");
  table.add("kind", v.kind, "Kind").set_choices({"round", "square"});
  table.add("file", v.file, "File");
  return table;
}

TEST(OptionTable, ReadsAndWritesTheValuesItIsBuiltOver) {
  TableValues values;
  const OptionTable table = table_of(values);
  const Option& side = *table.find("side");
  EXPECT_EQ(side.text(), "8");
  side.parts[0].set(int64_t{9});
  EXPECT_EQ(values.side, 9);
  EXPECT_ERROR(side.parts[0].set(std::numeric_limits<int64_t>::max()), invalid_argument);
  EXPECT_EQ(table.find("range")->text(), "0.5 1");
  table.find("range")->parts[1].set(2.5);
  EXPECT_EQ(values.high, 2.5);
  EXPECT_EQ(table.find("is-on")->parts[0].key, "is_on");
  EXPECT_EQ(table.find("none"), nullptr);
}

TEST(OptionTable, TakesValuesByName) {
  using Words = std::vector<std::string>;
  NamedValues values;
  OptionTable table;
  Option& option = table.add_named("folders", values, "Folders").set_argument();
  EXPECT_TRUE(option.is_argument && option.is_named && option.is_repeated);
  EXPECT_EQ(option.text(), "");
  option.give(Words{"mask=a=b", "image=c"});
  EXPECT_EQ(values, (NamedValues{{"mask", "a=b"}, {"image", "c"}}));
  EXPECT_EQ(option.text(), "mask=a=b image=c");
  EXPECT_ERROR(option.give(Words{"mask"}), invalid_argument, .name = "folders");
  EXPECT_ERROR(option.give(Words{"=a"}), invalid_argument);
  option.give(Words{"mask="});
  EXPECT_EQ(values, (NamedValues{{"mask", ""}}));
  EXPECT_ERROR(option.give(Words{"mask=a", "mask=b"}), invalid_argument);
}

TEST(OptionTable, ChecksEveryOption) {
  TableValues values;
  table_of(values).check();
  values.side = 0;
  EXPECT_ERROR(table_of(values).check(), invalid_argument);
  values.side = 1;
  values.kind = "oval";
  EXPECT_ERROR(table_of(values).check(), invalid_argument);
  values.kind = "square";
  values.file = "\xff";
  EXPECT_ERROR(table_of(values).check(), invalid_argument);
}

TEST(OptionTable, ChecksWhatIsGiven) {
  int64_t size = 256 << 20;
  int64_t step = -1;
  double share = 0.5;
  bool is_on = false;
  std::string kind = "round";
  std::vector<std::string> names;
  OptionTable table;
  table.add("shard-size", size, "Size").set_size().set_range_or_zero(1 << 20, 1LL << 40);
  table.add("step", step, "Step").set_range(1, 10).set_unset(-1, "by the set");
  table.add("share", share, "Share").set_range(0, 1);
  table.add("is-on", is_on, "On");
  table.add("kind", kind, "Kind").set_choices({"round", "square"});
  table.add_names("names", names, "Names");
  table.check();

  Option& shard_size = *table.find("shard-size");
  EXPECT_EQ(shard_size.default_text(), "256M");
  EXPECT_EQ(shard_size.range_text(), "0, or 1M .. 1T");
  EXPECT_EQ(table.find("step")->default_text(), "by the set");
  EXPECT_EQ(table.find("is-on")->default_text(), "off");
  EXPECT_EQ(table.find("kind")->range_text(), "round, square");
  shard_size.give(int64_t{0});
  EXPECT_EQ(size, 0);
  EXPECT_TRUE(table.is_given("shard-size"));
  EXPECT_FALSE(table.is_given("step"));
  EXPECT_ERROR(shard_size.give(int64_t{1000}), invalid_argument, .subject = argument);
  EXPECT_ERROR(table.find("step")->give(int64_t{-1}), invalid_argument, .subject = argument);
  EXPECT_ERROR(table.find("share")->give(std::numeric_limits<double>::quiet_NaN()),
               invalid_argument, .subject = argument);
  EXPECT_ERROR(table.find("kind")->give(std::string("oval")), invalid_argument,
               .subject = argument);
  table.find("names")->give(std::vector<std::string>{"a", "b"});
  EXPECT_EQ(table.find("names")->text(), "a,b");
  EXPECT_ERROR(table.refuse({"step", "names"}, "has no effect"), invalid_argument,
               .subject = argument);
  step = 11;
  EXPECT_ERROR(table.check(), invalid_argument, .subject = argument);
}

TEST(OptionTable, StoresATasksOptionsWhereItSays) {
  int64_t number = 0;
  OptionTable general;
  general.add("first", number, "");
  general.add("hidden", number, "").set_stored(false);
  general.add("last", number, "");
  TableValues values;
  const OptionTable own = table_of(values);
  std::vector<std::string> names;
  for (const Option* option : stored_options(general, own)) names.push_back(option->name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"first", "kind", "file", "last", "side", "range", "is-on"}));
}

TEST(NearestNames, AreThoseWithTheFewestOtherLetters) {
  const std::vector<std::string> names = {"threads", "seed", "shard-size", "size", "read"};
  EXPECT_THAT(nearest_names("shard_size", names), ElementsAre("shard-size", "size", "threads"));
  EXPECT_THAT(nearest_names("tread", names), ElementsAre("read", "threads", "seed"));
  EXPECT_THAT(nearest_names("shardsize", names).front(), "shard-size");
  EXPECT_THAT(nearest_names("", {"long", "a"}), ElementsAre("a", "long"));
  EXPECT_THAT(nearest_names("any", {}), IsEmpty());
}

}  // namespace

}  // namespace ffkit
