#include <ffkit/sources/jsonl.h>

#include "sources/files/json_documents.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

TEST(Jsonl, ReadsEveryKindOfMember) {
  const TempDir dir;
  write_file(
      dir / "a.jsonl",
      "{\"text\": \"a\\n\\u00fc\", \"n\": -5, \"x\": 0.5, \"ok\": true, \"tokens\": [1, 70000], "
      "\"grid\": [[1, 2.5], [3, 4]], \"tags\": [\"p\", \"q\"], \"more\": {\"k\": [1, \"v\"]}, "
      "\"id\": \"first\"}\n"
      "{\"id\": \"second\", \"text\": \"\", \"n\": 7, \"x\": 2, \"ok\": false, \"tokens\": [], "
      "\"grid\": [[1, 2, 3]], \"tags\": [], \"more\": null}");
  const auto source = open_jsonl(dir / "a.jsonl");
  EXPECT_EQ(source->splits()[0].name, "train");
  ASSERT_EQ(source->splits()[0].num_samples, 2);
  const Schema schema = source->schema();
  auto record = record_of(*source, 0, 0);
  std::optional<RecordView> view(std::in_place, schema, record);
  const auto field = [&](const char* name) { return view->field(schema.require(name)); };
  EXPECT_EQ(field("text").string(), "a\n\xC3\xBC");
  EXPECT_EQ(field("n").scalar<int64_t>(), -5);
  EXPECT_EQ(field("x").scalar<double>(), 0.5);
  EXPECT_EQ(field("ok").scalar<uint8_t>(), 1);
  EXPECT_THAT(values_of<int32_t>(field("tokens").tensor()), ElementsAre(1, 70000));
  EXPECT_THAT(field("grid").tensor().shape, ElementsAre(2, 2));
  EXPECT_THAT(values_of<double>(field("grid").tensor()), ElementsAre(1, 2.5, 3, 4));
  EXPECT_EQ(field("tags").list().string(1), "q");
  EXPECT_EQ(field("more").string(), R"({"k":[1,"v"]})");
  EXPECT_TRUE(schema.fields[schema.require("id")].column);
  EXPECT_FALSE(schema.fields[schema.require("text")].column);

  record = record_of(*source, 0, 1);
  view.emplace(schema, record);
  EXPECT_EQ(field("id").string(), "second");
  EXPECT_EQ(field("x").scalar<double>(), 2);
  EXPECT_THAT(field("tokens").tensor().shape, ElementsAre(0));
  EXPECT_THAT(field("grid").tensor().shape, ElementsAre(1, 3));
  EXPECT_EQ(field("tags").list().size(), 0U);
  EXPECT_TRUE(field("more").is_null());
}

TEST(Jsonl, TakesTheDtypeOfTokens) {
  const TempDir dir;
  write_file(dir / "a.jsonl", "{\"t\": [65535]}\n{\"t\": [1, 65536]}\n{\"t\": [-1]}\n");
  const auto u16 = open_jsonl(dir / "a.jsonl", {.token_dtype = DType::u16});
  const auto record = record_of(*u16, 0, 0);
  EXPECT_THAT(values_of<uint16_t>(RecordView(u16->schema(), record).tensor(0)), ElementsAre(65535));
  EXPECT_ERROR(record_of(*u16, 0, 1), invalid_argument);
  EXPECT_ERROR(record_of(*u16, 0, 2), invalid_argument);
  EXPECT_EQ(open_jsonl(dir / "a.jsonl", {.token_dtype = DType::i64})->schema().fields[0].dtype,
            DType::i64);
  EXPECT_ERROR(open_jsonl(dir / "a.jsonl", {.token_dtype = DType::f32}), invalid_argument);
}

TEST(Jsonl, FindsSplitsByName) {
  const TempDir dir;
  write_file(dir / "train-00000-of-00002.jsonl", "{\"a\": 1}\n");
  write_file(dir / "train-00001-of-00002.jsonl", "{\"a\": 2}\n\n{\"a\": 3}\n");
  write_file(dir / "validation.jsonl", "{\"a\": 4}\n");
  const auto source = open_jsonl(dir.path());
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].num_samples, 3);
  EXPECT_EQ(source->splits()[1].name, "val");
  const Schema schema = source->schema();
  for (int64_t i = 0; i < 3; ++i) {
    const auto record = record_of(*source, 0, i);
    EXPECT_EQ(RecordView(schema, record).scalar<int64_t>(0), i + 1);
  }
  EXPECT_EQ(source->describe(0, 2), (dir / "train-00001-of-00002.jsonl").string() + ":3");
}

TEST(Jsonl, RefusesLinesThatAreNotLikeTheFirst) {
  const TempDir dir;
  const auto read = [&dir](const std::string& line) {
    write_file(dir / "a.jsonl", "{\"a\": 1, \"b\": \"x\", \"t\": [1]}\n" + line + "\n");
    (void)record_of(*open_jsonl(dir / "a.jsonl"), 0, 1);
  };
  EXPECT_ERROR(read(R"({"a": 1, "b": "x"})"), invalid_argument);
  EXPECT_ERROR(read(R"({"a": 1, "b": "x", "t": [1], "c": 1})"), invalid_argument);
  EXPECT_ERROR(read(R"({"a": "1", "b": "x", "t": [1]})"), invalid_argument);
  EXPECT_ERROR(read(R"({"a": 1, "b": "x", "t": [1, [2]]})"), invalid_argument);
  EXPECT_ERROR(read(R"({"a": 1, "b": "x", "t": [1})"), corrupt);
  EXPECT_ERROR(read("[1]"), invalid_argument);
  EXPECT_ERROR(read("{\"a\": 1, \"b\": \"\xFF\", \"t\": [1]}"), corrupt);
  write_file(dir / "a.jsonl", "{\"r\": [0.5, 1]}\n{\"r\": [0.5, -1e39]}\n");
  EXPECT_ERROR(record_of(*open_jsonl(dir / "a.jsonl", {.real_dtype = DType::f32}), 0, 1),
               invalid_argument);
}

TEST(Jsonl, RefusesFirstLinesThatTellNoTypes) {
  const TempDir dir;
  const auto open = [&dir](const std::string& line) {
    write_file(dir / "a.jsonl", line);
    return open_jsonl(dir / "a.jsonl");
  };
  EXPECT_ERROR(open("{\"a\": null}"), invalid_argument);
  EXPECT_ERROR(open("\n{\"b\": 1, \"a\": []}\n{\"a\": null}"), invalid_argument);
  const auto source = open(R"({"a": null, "b": []}
                              {"a": null, "b": [1]}
                              {"a": 0.5, "b": ["no type of b"]})");
  EXPECT_EQ(source->schema().fields[0].dtype, DType::f64);
  EXPECT_EQ(source->schema().fields[1].type, FieldType::tensor);
  const auto record = record_of(*source, 0, 0);
  EXPECT_TRUE(RecordView(source->schema(), record).is_null(0));
  EXPECT_ERROR(open("{\"\": 1}"), invalid_argument);
  EXPECT_ERROR(open("{}"), invalid_argument);
  EXPECT_ERROR(open("\n \r\n"), not_found);
  EXPECT_ERROR(open(""), not_found);
  EXPECT_ERROR(open_jsonl(dir / "none"), not_found);
  write_file(dir / "x/b.jsonl.lz4", "");
  EXPECT_ERROR(open_jsonl(dir / "x"), unsupported);
}

TEST(Jsonl, RefusesLinesBeyondTheLimit) {
  const TempDir dir;
  const std::string line = "{\"text\": \"" + std::string(2000, 'a') + "\"}";
  write_file(dir / "a.jsonl", "{\"text\": \"short\"}\n" + line + "\n");
  const auto source = open_jsonl(dir / "a.jsonl", {.max_line_bytes = 1024});
  record_of(*source, 0, 0);
  EXPECT_ERROR(record_of(*source, 0, 1), unsupported);
  record_of(*open_jsonl(dir / "a.jsonl", {.max_line_bytes = 2013}), 0, 1);
  write_file(dir / "b.jsonl", line);
  EXPECT_ERROR(open_jsonl(dir / "b.jsonl", {.max_line_bytes = 1024}), unsupported);
  EXPECT_ERROR(open_jsonl(dir / "a.jsonl", {.max_line_bytes = 1023}), invalid_argument);
}

TEST(LineIndex, CopesWithEveryKindOfLineEnd) {
  const TempDir dir;
  const auto index = [&dir](const std::string& text) {
    write_file(dir / "t", text);
    std::vector<std::pair<int64_t, int64_t>> lines;
    const LineIndex found = index_lines(TextFiles({dir / "t"}, {}, {}), 0);
    for (const TextLine& line : found.lines) {
      lines.emplace_back(line.offset, line.number);
    }
    return lines;
  };
  using Pair = std::pair<int64_t, int64_t>;
  EXPECT_THAT(index("a\nb"), ElementsAre(Pair(0, 1), Pair(2, 2)));
  EXPECT_THAT(index("a\r\n\r\n  b\r\n"), ElementsAre(Pair(0, 1), Pair(7, 3)));
  EXPECT_THAT(index("\n\n\nx"), ElementsAre(Pair(3, 4)));
  EXPECT_THAT(index("\xEF\xBB\xBF{}"), ElementsAre(Pair(3, 1)));
  EXPECT_THAT(index("\n"), ElementsAre());
  // Across the chunks of 4 MiB in which the file is read.
  const std::string line((3 << 20) - 1, 'x');
  EXPECT_THAT(index(line + '\n' + line + '\n' + line + "\ny"),
              ElementsAre(Pair(0, 1), Pair(3 << 20, 2), Pair(6 << 20, 3), Pair(9 << 20, 4)));
}

TEST(Jsonl, ConvertsTheSameWithAnyNumberOfThreads) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 500; ++i) {
    text += "{\"tokens\": [" + std::to_string(i) + ", 1, 2], \"n\": " + std::to_string(i) + "}\r\n";
  }
  write_file(dir / "train.jsonl", text);
  const auto source = open_jsonl(dir / "train.jsonl");
  const auto one = convert(*source, dir / "one", {.num_threads = 1});
  const auto four = convert(*source, dir / "four", {.num_threads = 4});
  EXPECT_EQ(one.splits[0].fingerprint, four.splits[0].fingerprint);
  const Dataset dataset = Dataset::open(dir / "four", "train");
  const std::vector<int64_t> numbers = dataset.int_column("n");
  std::vector<std::byte> record;
  for (int64_t i = 0; i < 500; ++i) {
    dataset.read(i, record);
    const auto tokens = values_of<int32_t>(RecordView(dataset.schema(), record).tensor(0));
    EXPECT_EQ(tokens[0], numbers[static_cast<size_t>(i)]);
  }
}

// The fields of a data set made of these lines, each with its bytes as T, one record after the
// other.
template <typename T>
std::vector<T> numbers_of(const TempDir& dir, const std::string& lines) {
  write_file(dir / "n.jsonl", lines);
  const auto source = open_jsonl(dir / "n.jsonl");
  const Schema schema = source->schema();  // views refer to it
  std::vector<T> numbers;
  for (int64_t i = 0; i < source->splits()[0].num_samples; ++i) {
    const auto record = record_of(*source, 0, i);
    const FieldView field = RecordView(schema, record).field(0);
    if (schema.fields[0].type == FieldType::scalar) {
      EXPECT_EQ(schema.fields[0].dtype, DType::f64);
      numbers.push_back(field.scalar<T>());
    } else {
      const std::vector<T> some = values_of<T>(field.tensor());
      numbers.insert(numbers.end(), some.begin(), some.end());
    }
  }
  return numbers;
}

TEST(Jsonl, ANullInAListCostsItself) {
  const TempDir dir;
  write_file(
      dir / "a.jsonl",
      R"({"n": [null, 1], "grid": [[1, 2], null, [3, null]], "words": ["a", null], "any": [1, "a", null]}
                {"n": [2], "grid": [[0.5, 6]], "words": [null], "any": []})");
  const auto source = open_jsonl(dir / "a.jsonl");
  std::vector<SampleProblem> problems;
  const auto record = record_of(*source, 0, 0, &problems);
  const Schema schema = source->schema();
  const RecordView view(schema, record);
  EXPECT_THAT(values_of<int32_t>(view.tensor(0)), ElementsAre(1));
  EXPECT_THAT(values_of<double>(view.tensor(1)), ElementsAre(1, 2));
  EXPECT_EQ(view.list(2).size(), 1U);
  EXPECT_EQ(view.string(3), R"([1,"a",null])");
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_EQ(problems[1].action, kItemLeftOut);
  EXPECT_EQ(problems[1].count, 2);
  const auto second = record_of(*source, 0, 1);
  EXPECT_EQ(RecordView(source->schema(), second).list(2).size(), 0U);
}

TEST(Jsonl, SettlesTypesOverAllLines) {
  const TempDir dir;
  EXPECT_THAT(numbers_of<double>(dir, "{\"x\": 1}\n{\"x\": 2}\n{\"x\": 0.5}\n"),
              ElementsAre(1, 2, 0.5));
  EXPECT_THAT(numbers_of<double>(dir, "{\"x\": [1]}\n{\"x\": []}\n{\"x\": [0.5, 3]}\n"),
              ElementsAre(1, 0.5, 3));
  EXPECT_THAT(numbers_of<double>(dir, "{\"x\": [[]]}\n{\"x\": [[1700000000.123]]}\n"),
              ElementsAre(1700000000.123));
  EXPECT_THAT(numbers_of<int32_t>(dir, "{\"x\": [[]]}\n{\"x\": [[7]]}\n"), ElementsAre(7));
  // In another split, and behind a line that cannot be read.
  write_file(dir / "s/train.jsonl", "{\"x\": 1}\n{\"x\": \n{\"x\": \"text\"}\n");
  write_file(dir / "s/val.jsonl", "{\"x\": 0.5}\n");
  const auto source = open_jsonl(dir / "s");
  EXPECT_EQ(source->schema().fields[0].dtype, DType::f64);
  EXPECT_ERROR(record_of(*source, 0, 2), invalid_argument);
  EXPECT_ERROR(numbers_of<double>(dir, "{\"x\": 9007199254740993}\n{\"x\": 0.5}\n"),
               invalid_argument);
  EXPECT_ERROR(numbers_of<double>(dir, "{\"x\": [0.5, 9007199254740993]}\n"), invalid_argument);
  EXPECT_EQ(open_jsonl(dir / "n.jsonl", {.real_dtype = DType::f32})->schema().fields[0].dtype,
            DType::f32);
}

TEST(Jsonl, SaysWhichValueIsBad) {
  const TempDir dir;
  const auto read = [&dir](const std::string& line) {
    write_file(dir / "a.jsonl", "{\"a\": 1, \"b\": \"x\"}\n" + line + "\n");
    return record_of(*open_jsonl(dir / "a.jsonl"), 0, 1);
  };
  EXPECT_ERROR(read(R"({"a": NaN, "b": "x"})"), corrupt);
  EXPECT_ERROR(read(R"({"a": 123456789012345678901234567890, "b": "x"})"), corrupt);
  EXPECT_ERROR(read(R"({"a": 1, "b": "\ud800"})"), corrupt);
  EXPECT_ERROR(read(R"({"a": 1, "b": tru})"), corrupt);
  // Of a key that is there twice, the last one.
  const auto record = read(R"({"a": "first", "a": 7, "b": "x"})");
  EXPECT_EQ(RecordView(open_jsonl(dir / "a.jsonl")->schema(), record).scalar<int64_t>(0), 7);
}

TEST(Jsonl, TakesArraysAndDocumentsOfSeveralLines) {
  const TempDir dir;
  const auto numbers = [&dir](const std::string& name, const std::string& text) {
    write_file(dir / name, text);
    const auto source = open_jsonl(dir / name);
    std::vector<int64_t> found;
    for (int64_t i = 0; i < source->splits()[0].num_samples; ++i) {
      const auto record = record_of(*source, 0, i);
      found.push_back(RecordView(source->schema(), record).scalar<int64_t>(0));
    }
    return found;
  };
  EXPECT_THAT(numbers("a.json", "[{\"n\": 1}, {\"n\": 2} ,\n{\"n\":\n3}\n]\n"),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers("b.jsonl", "\xEF\xBB\xBF[{\"n\": 1}]"), ElementsAre(1));
  EXPECT_THAT(numbers("c.json", "{\n \"n\": 1\n}\n{\n \"n\": 2\n}"), ElementsAre(1, 2));
  EXPECT_THAT(numbers("d.ndjson", "{\"n\": 1}\n{\"n\": 2}\n"), ElementsAre(1, 2));
  EXPECT_ERROR(numbers("e.json", "[{\"n\": 1}, {\"n\": 2}"), corrupt);
  EXPECT_ERROR(numbers("f.json", "[{\"n\": 1}] x"), corrupt);
  EXPECT_ERROR(numbers("g.json", "[{\"n\": 1} {\"n\": 2}]"), corrupt);
  EXPECT_EQ(open_jsonl(dir / "a.json")->describe(0, 2), (dir / "a.json").string() + "[2]");
}

}  // namespace
}  // namespace ffkit
