#include <ffkit/format/filter.h>

#include "format_prelude.h"

namespace ffkit {
namespace {

class FilterTest : public ::testing::Test {
 protected:
  FilterTest() {
    ShardWriter writer(path_, schema_);
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const double times[] = {0.5, -1, kNan, 1e9, 3, 3.5};
    const char* ids[] = {"a/1", "a/2", "b/1", "b 2", "it's", ""};
    const int64_t labels[] = {0, 1, 2, 3, -5, std::numeric_limits<int64_t>::max()};
    RecordBuilder builder(schema_);
    for (size_t i = 0; i < 6; ++i) {
      builder.set_scalar<int64_t>(0, labels[i]);
      builder.set_scalar<double>(1, times[i]);
      builder.set_string(2, ids[i]);
      builder.set_string(3, "x");
      writer.append(testing::encoded(builder));
    }
    writer.finish();
    reader_.emplace(path_);
  }

  std::vector<int64_t> match(const std::string& text) {
    return matching_records(*reader_, parse_filter(text));
  }

  Schema schema_{
      {{.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true},
       {.name = "meta/time", .type = FieldType::scalar, .dtype = DType::f64, .column = true},
       {.name = "id", .type = FieldType::string, .column = true},
       {.name = "note", .type = FieldType::string}}};
  TempDir dir_;
  std::filesystem::path path_ = dir_ / "a.ffr";
  std::optional<ShardReader> reader_;
};

TEST_F(FilterTest, ComparesIntegers) {
  EXPECT_THAT(match("label == 2"), ElementsAre(2));
  EXPECT_THAT(match("label=2"), ElementsAre(2));
  EXPECT_THAT(match("label != 2"), ElementsAre(0, 1, 3, 4, 5));
  EXPECT_THAT(match("label < 1"), ElementsAre(0, 4));
  EXPECT_THAT(match("label <= -5"), ElementsAre(4));
  EXPECT_THAT(match("label > 3"), ElementsAre(5));
  EXPECT_THAT(match("label>=3"), ElementsAre(3, 5));
  EXPECT_THAT(match("label in {0, 3, 7}"), ElementsAre(0, 3));
  EXPECT_THAT(match("label in {2..9223372036854775807, -9..-1, 2..3}"), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(match("label not in {0..3}"), ElementsAre(4, 5));
  EXPECT_THAT(match("label in {3..2}"), IsEmpty());
}

TEST_F(FilterTest, ComparesFloatsAndTexts) {
  EXPECT_THAT(match("meta/time >= 0.5 and meta/time < 1e9"), ElementsAre(0, 4, 5));
  EXPECT_THAT(match("meta/time in {-1..3}"), ElementsAre(0, 1, 4));
  EXPECT_THAT(match("id == a/2"), ElementsAre(1));
  EXPECT_THAT(match("id in {'b 2', \"it's\"}"), ElementsAre(3, 4));
  EXPECT_THAT(match("id in {a..b}"), ElementsAre(0, 1));
  EXPECT_THAT(match("id == ''"), ElementsAre(5));
  EXPECT_THAT(match("id != 'a/1' and label in {0..3} and meta/time < 0"), ElementsAre(1));
}

TEST_F(FilterTest, JoinsByAndOrNotAndBrackets) {
  EXPECT_THAT(match("label == 1 or label == 3"), ElementsAre(1, 3));
  EXPECT_THAT(match("label == 0 or label in {1..3} and id == 'b/1'"), ElementsAre(0, 2));
  EXPECT_THAT(match("(label == 0 or label in {1..3}) and id == 'b/1'"), ElementsAre(2));
  EXPECT_THAT(match("not label in {0..2}"), ElementsAre(3, 4, 5));
  EXPECT_THAT(match("not(label == 0 or(id == b/1))and label < 9"), ElementsAre(1, 3, 4));
  EXPECT_THAT(match("not not label == 3"), ElementsAre(3));
  EXPECT_THAT(match("not (meta/time > 0 and label < 3)"), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(match("((((label == 3))))"), ElementsAre(3));
  EXPECT_THAT(match("id == a(1) or id in {x(2), 'it''s'}"), ElementsAre(4));
  Filter opposite{.is_negated = true};
  EXPECT_THAT(matching_records(*reader_, opposite), IsEmpty());
  EXPECT_EQ(matching_records(*reader_, Filter()).size(), 6U);
}

TEST_F(FilterTest, FindsWhatIsNoNumber) {
  EXPECT_THAT(match("meta/time == nan"), ElementsAre(2));
  EXPECT_THAT(match("meta/time != nan and meta/time != 3"), ElementsAre(0, 1, 3, 5));
  EXPECT_THAT(match("meta/time in {nan, 3..inf}"), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(match("meta/time != 3"), ElementsAre(0, 1, 2, 3, 5));
  EXPECT_THAT(match("not meta/time > 1"), ElementsAre(0, 1, 2));
  EXPECT_THAT(match("meta/time > -inf and meta/time < inf"), ElementsAre(0, 1, 3, 4, 5));
}

// A field of each type with the values, as the bits that stand in a record.
TEST(FilterOfTypes, ComparesNumbersAsTheyAre) {
  const TempDir dir;
  struct Case {
    DType dtype;
    std::vector<uint64_t> bits;
    std::vector<std::pair<std::string, std::vector<int64_t>>> filters;
  };
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const auto f32 = [](float value) { return uint64_t{std::bit_cast<uint32_t>(value)}; };
  const Case cases[] = {
      {DType::u64,
       {0, 1, uint64_t{1} << 63, kMost},
       {{"v > 100", {2, 3}},
        {"v < 0", {}},
        {"v > -1", {0, 1, 2, 3}},
        {"v == -0", {0}},
        {"v in {-5..1, 18446744073709551615}", {0, 1, 3}},
        {"v == 9223372036854775808", {2}},
        {"v not in {9223372036854775808..18446744073709551615}", {0, 1}}}},
      {DType::i64,
       {uint64_t{1} << 53, (uint64_t{1} << 53) + 1, kMost},
       {{"v == 9007199254740993", {1}}, {"v > 9007199254740992", {1}}, {"v == -1", {2}}}},
      {DType::f32,
       {f32(0.1F), f32(0.2F), f32(std::numeric_limits<float>::infinity()), f32(1e-45F)},
       {{"v == 0.1", {0}},
        {"v > 0.1", {1, 2}},
        {"v in {0.1..0.2}", {0, 1}},
        {"v == inf", {2}},
        {"v > 1e300", {2}},
        {"v == 1e300", {}},
        {"v == 1e-45", {3}}}},
      {DType::f16,
       {0x2E66 /* 0.1 */, 0x7C00 /* inf */, 0x7E00 /* nan */, 0x7BFF /* 65504 */, 0x0001},
       {{"v == 0.1", {0}},
        {"v == inf", {1}},
        {"v == nan", {2}},
        {"v > 70000", {1}},
        {"v == 65504", {3}},
        {"v == 6e-8", {4}}}},
      {DType::bf16, {0x3DCD /* 0.1 */, 0xFF80 /* -inf */}, {{"v == 0.1", {0}}, {"v == -inf", {1}}}},
  };
  for (const Case& one : cases) {
    const Schema schema{
        {{.name = "v", .type = FieldType::scalar, .dtype = one.dtype, .column = true}}};
    const auto path = dir / (std::string(to_string(one.dtype)) + ".ffr");
    ShardWriter writer(path, schema);
    for (const uint64_t bits : one.bits) {
      RecordBuilder builder(schema);
      builder.set_scalar_bits(0, one.dtype, bits);
      writer.append(testing::encoded(builder));
    }
    writer.finish();
    const ShardReader reader(path);
    for (const auto& [text, found] : one.filters) {
      EXPECT_EQ(matching_records(reader, parse_filter(text)), found)
          << to_string(one.dtype) << ": " << text;
    }
    if (one.dtype == DType::u64) {
      EXPECT_EQ(reader.uint_column("v"), one.bits);
      EXPECT_ERROR(reader.int_column("v"), invalid_argument);
    }
  }
}

TEST(FilterWord, IsANameThatTheParserTakes) {
  const TempDir dir;
  const std::vector<std::string> names = {"a b",   "or",    "\"x\" and 'y'", "(a)", "a(b)",
                                          "a/b.c", "größe", "not",           "in",  "x=1"};
  Schema schema;
  for (const std::string& name : names) {
    schema.fields.push_back(
        {.name = name, .type = FieldType::scalar, .dtype = DType::i32, .column = true});
  }
  ShardWriter writer(dir / "a.ffr", schema);
  RecordBuilder builder(schema);
  for (size_t i = 0; i < names.size(); ++i) builder.set_scalar<int32_t>(i, static_cast<int>(i));
  writer.append(testing::encoded(builder));
  writer.finish();
  const ShardReader reader(dir / "a.ffr");
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string text = filter_word(names[i]) + " == " + std::to_string(i);
    EXPECT_THAT(matching_records(reader, parse_filter(text)), ElementsAre(0)) << text;
  }
  EXPECT_EQ(filter_word("a/b.c"), "a/b.c");
}

TEST_F(FilterTest, SaysWhatDoesNotFit) {
  for (const char* text :
       {"", "label", "label ==", "label in", "label in {", "label in {}", "label in {1",
        "label in {1,}", "label == 1 or", "(label == 1", "label == 1)", "not", "()", "label not 3",
        "id == 'x", "label in {1..}", "== 3", "label == 1 and"}) {
    EXPECT_ERROR(parse_filter(text), invalid_argument) << text;
  }
  EXPECT_ERROR(match("label == one"), invalid_argument);
  EXPECT_ERROR(match("label == 1.5"), invalid_argument);
  EXPECT_ERROR(match("meta/time == x"), invalid_argument);
  EXPECT_ERROR(match("meta/time < nan"), invalid_argument);
  EXPECT_ERROR(match("meta/time in {1..nan}"), invalid_argument);
  EXPECT_ERROR(match("label == nan"), invalid_argument);
  EXPECT_ERROR(parse_filter(std::string(1000, '(') + "label == 1"), invalid_argument);
  EXPECT_ERROR(match("labels == 1"), not_found, .subject = field);
  for (const Filter& filter :
       {Filter{{{.field = "label", .op = FilterCondition::Op::less, .values = {{"2", "1"}}}}},
        Filter{{{.field = "label", .op = FilterCondition::Op::in}}}}) {
    EXPECT_ERROR(matching_records(*reader_, filter), invalid_argument);
  }
  EXPECT_ERROR(match("note == x"), not_found, .subject = field);
}

// Labels 0, 1, 2, 3, 0, 1, ... of four classes.
Dataset write_classes(const std::filesystem::path& folder, std::vector<Field> more = {}) {
  std::vector<Field> fields = {
      {.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true}};
  fields.insert(fields.end(), more.begin(), more.end());
  DatasetWriter writer(
      folder,
      {.split = "train",
       .schema = {fields},
       .classes = {"n01", "n02", "n03", "n04"},
       .class_names = {"tench, Tinca tinca", "crane", "crane, machine", "9..10, a name"}},
      {});
  for (int64_t i = 0; i < 8; ++i) {
    RecordBuilder builder(writer.schema());
    builder.set_scalar<int64_t>(0, i % 4);
    if (!more.empty()) builder.set_string(1, i == 5 ? "n01" : "other");
    writer.append(testing::encoded(builder));
  }
  writer.finish();
  return Dataset::open(folder);
}

TEST_F(FilterTest, ClassesAreKnownByTheirIdentifiersAndNames) {
  const Dataset all = write_classes(dir_ / "classes");
  const auto labels = [&all](const char* text) {
    return all.where(parse_filter(text)).int_column("label");
  };
  EXPECT_THAT(labels("class == n02"), ElementsAre(1, 1));
  EXPECT_THAT(labels("class == tench"), ElementsAre(0, 0));
  EXPECT_THAT(labels("class == 'Tinca tinca'"), ElementsAre(0, 0));
  EXPECT_THAT(labels("class == 'tench, Tinca tinca'"), ElementsAre(0, 0));
  EXPECT_THAT(labels("class in {'9..10', machine} and label < 3"), ElementsAre(2, 2));
  EXPECT_THAT(labels("class not in {n01, n02}"), ElementsAre(2, 3, 2, 3));
  EXPECT_THAT(labels("class != n01"), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(labels("not (class == tench or class in {n02, n03}) or label == 0"),
              ElementsAre(0, 3, 0, 3));
  EXPECT_ERROR(labels("class == crane"), invalid_argument);
  EXPECT_ERROR(labels("class == tenhc"), not_found);
  EXPECT_ERROR(labels("class < n02"), invalid_argument);
  EXPECT_ERROR(labels("class in {n01..n03}"), invalid_argument);
  EXPECT_THAT(Dataset::chain({all, all}).where(parse_filter("class == n03")).int_column("label"),
              ElementsAre(2, 2, 2, 2));
  // A field of this name is what is meant.
  const Dataset own =
      write_classes(dir_ / "own", {{.name = "class", .type = FieldType::string, .column = true}});
  EXPECT_THAT(own.where(parse_filter("class == n01")).int_column("label"), ElementsAre(1));
}

TEST_F(FilterTest, SubsetsOfDatasetsNumberTheirRecordsAnew) {
  const Dataset all = Dataset::open_files({path_, path_});
  ASSERT_EQ(all.num_records(), 12);
  const Dataset some = all.where(parse_filter("label in {1, 3}"));
  ASSERT_EQ(some.num_records(), 4);
  EXPECT_TRUE(some.is_subset());
  EXPECT_THAT(some.int_column("label"), ElementsAre(1, 3, 1, 3));
  EXPECT_THAT(some.string_column("id"), ElementsAre("a/2", "b 2", "a/2", "b 2"));
  EXPECT_EQ(some.index_in_split(2), 7);
  EXPECT_EQ(some.locate(3).shard_index, 1);
  EXPECT_EQ(some.locate(3).local_index, 3);
  std::vector<std::byte> record;
  some.read(3, record);
  EXPECT_EQ(RecordView(some.schema(), record).string(2), "b 2");
  EXPECT_TRUE(some.read_field(0, 2, record));
  EXPECT_EQ(record.size(), 3U);
  EXPECT_ERROR(some.locate(4), invalid_argument);
  // Subsets of subsets, orders and repetitions.
  const Dataset chosen = some.subset({3, 0, 0});
  EXPECT_THAT(chosen.int_column("label"), ElementsAre(3, 1, 1));
  EXPECT_EQ(chosen.index_in_split(0), 9);
  EXPECT_THAT(chosen.where(parse_filter("label == 1")).int_column("label"), ElementsAre(1, 1));
  EXPECT_ERROR(some.subset({4}), invalid_argument);
  // Another choice, another order: another data set to whoever resumes.
  EXPECT_NE(some.fingerprint(), all.fingerprint());
  EXPECT_NE(all.subset({0, 1}).fingerprint(), all.subset({1, 0}).fingerprint());
  EXPECT_EQ(all.subset({1, 3, 7, 9}).fingerprint(), some.fingerprint());
  EXPECT_FALSE(chosen.whole_split().is_subset());
  EXPECT_EQ(chosen.whole_split().fingerprint(), all.fingerprint());
}

TEST(IndexFile, IsReadOrNamed) {
  const TempDir dir;
  const auto write = [&](const char* text) {
    std::ofstream(dir / "index") << text;
    return dir / "index";
  };
  EXPECT_THAT(read_index_file(write("3 1, 2\n# all\n\n7 # seven\n")), ElementsAre(3, 1, 2, 7));
  EXPECT_THAT(read_index_file(write("")), IsEmpty());
  EXPECT_ERROR(read_index_file(write("1\n2x\n")), invalid_argument);
  EXPECT_ERROR(read_index_file(write("-1")), invalid_argument);
  EXPECT_ERROR(read_index_file(dir / "none"), not_found);
}

// Reading system calls of this process so far (proc(5), "io"); -1 where the kernel does not count.
int64_t num_reads() {
  std::ifstream counters("/proc/self/io");
  for (std::string name; counters >> name;) {
    int64_t value = 0;
    counters >> value;
    if (name == "syscr:") return value;
  }
  return -1;
}

TEST_F(FilterTest, TenThousandConditionsReadAColumnOnce) {
  const ShardReader reader(path_);
  std::string text = "label != -1";
  for (int i = 10; i < 10'010; ++i) text += " and label != " + std::to_string(i);
  const Filter filter = parse_filter(text + " and id != 'a/1'");
  const int64_t before = num_reads();
  EXPECT_THAT(matching_records(reader, filter), ElementsAre(1, 2, 3, 4, 5));
  if (before >= 0) {
    EXPECT_LT(num_reads() - before, 100);
  }
}

}  // namespace
}  // namespace ffkit
