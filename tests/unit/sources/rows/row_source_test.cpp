#include "sources/rows/row_source.h"

#include "sources_prelude.h"

namespace ffkit {
namespace {

// Rows that are made by a function.
class MadeRows final : public RowTable {
 public:
  using Make = std::function<void(int64_t row, std::span<RowValue> values)>;
  MadeRows(std::vector<RowColumn> columns, Make make, int64_t num_rows = 1)
      : columns_(std::move(columns)),
        splits_{{.name = "train", .num_samples = num_rows, .is_training = true}},
        make_(std::move(make)) {}

  const std::vector<RowColumn>& columns() const override { return columns_; }
  const std::vector<SourceSplit>& splits() const override { return splits_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  std::map<std::string, std::string> facts(size_t) const override { return {{"path", "made"}}; }
  std::vector<fs::path> roots() const override { return {}; }
  std::vector<SourceInput> inputs(size_t) const override { return {}; }
  int64_t row_bytes(size_t, int64_t) const override { return 1; }
  std::string name(size_t, int64_t row) const override { return "row " + std::to_string(row); }
  std::string describe(size_t, int64_t row) const override {
    return "made: " + std::to_string(row);
  }
  void will_read(size_t, int64_t) const override {}
  void read(size_t, int64_t row, std::span<RowValue> values, SampleBuffers&) const override {
    make_(row, values);
  }

 private:
  std::vector<RowColumn> columns_;
  std::vector<SourceSplit> splits_;
  std::vector<std::string> notes_;
  Make make_;
};

std::span<const std::byte> as_bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

RowColumn column(const std::string& name, FieldType type, DType dtype = DType::u8) {
  return {.field = {name, type, dtype}};
}

// Columns without rows that anybody reads.
std::unique_ptr<Source> source_of(std::vector<RowColumn> columns, const RowOptions& options = {}) {
  return make_row_source(
      std::make_unique<MadeRows>(std::move(columns), [](int64_t, std::span<RowValue>) {}), options);
}

std::vector<std::string> row_field_names(const Source& source) {
  std::vector<std::string> names;
  for (const Field& field : source.schema().fields) names.push_back(field.name);
  return names;
}

TEST(RowSource, NoColumnNeedsToBeTheLabel) {
  std::vector<RowColumn> columns = {column("target", FieldType::scalar, DType::i32),
                                    column("kinds", FieldType::tensor, DType::i64)};
  columns[1].class_names = {"a", "b"};
  EXPECT_THAT(row_field_names(*source_of(columns)), ElementsAre("label", "kinds", "id"));
  const auto source = source_of(columns, {.label_column = "none"});
  EXPECT_THAT(row_field_names(*source), ElementsAre("target", "kinds", "id"));
  // The only names there are.
  EXPECT_THAT(source->classes(), ElementsAre("a", "b"));
  EXPECT_EQ(source->facts(0).at("classes of kinds"), R"(["a","b"])");
  columns.push_back(column("none", FieldType::scalar, DType::i32));
  EXPECT_THAT(row_field_names(*source_of(columns, {.label_column = "none"})),
              ElementsAre("label", "target", "kinds", "id"));
}

TEST(RowSource, ColumnsAreFoundByTypeAndName) {
  const auto source = source_of(
      {column("caption", FieldType::string), column("jpg", FieldType::image),
       column("cls", FieldType::scalar, DType::i32), column("__key__", FieldType::string)});
  EXPECT_THAT(row_field_names(*source), ElementsAre("image", "label", "caption", "id"));
  EXPECT_THAT(source->notes(),
              ElementsAre(HasSubstr("the picture is column 'jpg'; the label is column 'cls' "
                                    "(without names of classes); the id is column '__key__'; also "
                                    "taken: 'caption'")));
}

TEST(RowSource, OfTwoPicturesNoneIsTheFirst) {
  std::vector<RowColumn> columns = {column("left", FieldType::image),
                                    column("right", FieldType::image)};
  EXPECT_THAT(row_field_names(*source_of(columns)), ElementsAre("left", "right", "id"));
  EXPECT_THAT(row_field_names(*source_of(columns, {.image_column = "right"})),
              ElementsAre("image", "left", "id"));
}

TEST(RowSource, BytesAreAPictureWhereThatIsSaid) {
  const auto source = source_of({column("raw", FieldType::bytes)}, {.image_column = "raw"});
  EXPECT_EQ(describe(source->schema().fields[0]), "'image' image");
  EXPECT_TRUE(source->checks_headers_only());
}

TEST(RowSource, TheColumnWithClassesIsTheLabel) {
  std::vector<RowColumn> columns = {column("label", FieldType::scalar, DType::i64),
                                    column("fine", FieldType::scalar, DType::u8)};
  columns[1].class_names = {"cat", "dog"};
  EXPECT_ERROR(source_of(columns), unsupported);  // the other one would be `label`, too
  const auto source = source_of(columns, {.columns = {"fine"}});
  EXPECT_THAT(row_field_names(*source), ElementsAre("label", "id"));
  EXPECT_THAT(source->classes(), ElementsAre("cat", "dog"));
}

TEST(RowSource, OptionsThatFitNoColumnAreRefused) {
  const std::vector<RowColumn> columns = {column("picture", FieldType::image),
                                          column("number", FieldType::scalar, DType::f32),
                                          column("text", FieldType::string)};
  EXPECT_ERROR(source_of(columns, {.image_column = "img"}), invalid_argument);
  EXPECT_ERROR(source_of(columns, {.image_column = "text"}), invalid_argument);
  EXPECT_ERROR(source_of(columns, {.label_column = "number"}), invalid_argument);
  EXPECT_ERROR(source_of(columns, {.label_column = "text"}), invalid_argument);
  EXPECT_ERROR(source_of(columns, {.id_column = "picture"}), invalid_argument);
  EXPECT_ERROR(source_of(columns, {.columns = {"nothing"}}), invalid_argument);
  EXPECT_ERROR(source_of(columns, {.label_offset = -1}), invalid_argument);
}

TEST(RowSource, LabelsAreCheckedAgainstTheClasses) {
  RowColumn label = column("label", FieldType::scalar, DType::i32);
  label.class_names = {"background", "cat", "dog"};
  const auto make = [](int64_t row, std::span<RowValue> values) {
    constexpr std::array<int32_t, 4> kLabels = {1, 0, 4, -1};
    values[0].set_scalar(kLabels.at(static_cast<size_t>(row)));
  };
  const auto source = make_row_source(
      std::make_unique<MadeRows>(std::vector<RowColumn>{label}, make, 4), {.label_offset = -1});
  EXPECT_THAT(source->classes(), ElementsAre("cat", "dog"));
  EXPECT_EQ(source->options().at("label_offset"), "-1");
  const auto label_of = [&](int64_t row) {
    const auto record = record_of(*source, 0, row);
    return RecordView(source->schema(), record).field(0).scalar<int64_t>();
  };
  EXPECT_EQ(label_of(0), 0);
  EXPECT_ERROR(label_of(1), invalid_argument, .path = "made: 1");
  EXPECT_ERROR(label_of(2), invalid_argument, .path = "made: 2");
  EXPECT_EQ(label_of(3), -1);  // the files say that there is none
}

TEST(RowSource, TextsAreLabelsByAListOfClasses) {
  const TempDir dir;
  write_file(dir / "classes.txt", "cat\ndog\n");
  const std::vector<std::string> texts = {"dog", "bird"};
  const auto make = [&](int64_t row, std::span<RowValue> values) {
    values[0].set_bytes(as_bytes_of(texts[static_cast<size_t>(row)]));
  };
  const auto source =
      make_row_source(std::make_unique<MadeRows>(
                          std::vector<RowColumn>{column("kind", FieldType::string)}, make, 2),
                      {.label_column = "kind", .classes = dir / "classes.txt"});
  const auto record = record_of(*source, 0, 0);
  EXPECT_EQ(RecordView(source->schema(), record).field(0).scalar<int64_t>(), 1);
  EXPECT_ERROR(record_of(*source, 0, 1), invalid_argument);
}

TEST(RowSource, NullsAreFieldsButNotPicturesAndLabels) {
  const std::string picture = jpeg_picture(1);
  const auto make = [&](int64_t row, std::span<RowValue> values) {
    if (row != 0) values[0].set_bytes(as_bytes_of(picture));
    if (row != 1) values[1].set_scalar<uint8_t>(7);
  };
  const auto source = make_row_source(
      std::make_unique<MadeRows>(
          std::vector<RowColumn>{column("jpg", FieldType::image), column("y", FieldType::scalar),
                                 column("caption", FieldType::string)},
          make, 3),
      {});
  EXPECT_ERROR(record_of(*source, 0, 0), invalid_argument);
  EXPECT_ERROR(record_of(*source, 0, 1), invalid_argument);
  const auto record = record_of(*source, 0, 2);
  const Schema schema = source->schema();
  const RecordView view(schema, record);
  EXPECT_EQ(view.field(1).scalar<int64_t>(), 7);
  EXPECT_TRUE(view.field(2).is_null());
  EXPECT_EQ(view.field(3).string(), "row 2");
}

TEST(RowSource, TextThatIsNoneIsABadSample) {
  const std::string broken = "\xFF";
  const auto source = make_row_source(
      std::make_unique<MadeRows>(
          std::vector<RowColumn>{column("caption", FieldType::string)},
          [&](int64_t, std::span<RowValue> values) { values[0].set_bytes(as_bytes_of(broken)); }),
      {});
  EXPECT_ERROR(record_of(*source, 0, 0), corrupt);
}

}  // namespace
}  // namespace ffkit
