#include "rows/row_source.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include <ffkit/base/option_names.h>

#include "converter/input/listed_source.h"
#include "converter/input/names.h"
#include "converter/input/row_values.h"
#include "converter/input/source_error.h"
#include "files/text_files.h"

namespace ffkit {
namespace {

constexpr std::array kLabelNames = {"label", "labels",           "cls", "class", "target",
                                    "y",     "image/class/label"};

class RowSource final : public ListedPictures {
 public:
  RowSource(std::unique_ptr<RowTable> table, const RowOptions& options)
      : ListedPictures(as_they_are(options.store, options.exif)),
        table_(std::move(table)),
        label_offset_(options.label_offset) {
    notes_ = table_->notes();
    choose_splits();
    choose_columns(options);
    make_schema();
    find_classes(options);
    find_other_classes();
    note_columns();
    note_labels(options.group);
  }

  std::map<std::string, std::string> facts(size_t split) const override {
    std::map<std::string, std::string> facts = table_->facts(taken_[split]);
    for (const size_t i : with_classes_) {
      const nlohmann::json names = table_->columns()[i].class_names;
      facts["classes of " + column(i).name] = names.dump();
    }
    return facts;
  }

  std::map<std::string, std::string> options() const override {
    std::map<std::string, std::string> options = ListedPictures::options();
    if (label_offset_ != 0) options["label_offset"] = std::to_string(label_offset_);
    return options;
  }

  bool checks_headers_only() const override {
    return std::ranges::any_of(schema_.fields, is_picture_column) &&
           ListedPictures::checks_headers_only();
  }

  std::vector<fs::path> roots() const override { return table_->roots(); }

  SampleIdentity identity(size_t split, int64_t index) const override {
    return {.name = table_->name(taken_[split], index),
            .num_bytes = table_->row_bytes(taken_[split], index)};
  }

  std::optional<std::string> listed_id(size_t split, int64_t index) const override {
    if (id_) return std::nullopt;
    return table_->name(taken_[split], index);
  }

  std::vector<SourceInput> inputs(size_t split) const override {
    return table_->inputs(taken_[split]);
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return table_->row_bytes(taken_[split], index);
  }

  bool reads_in_order() const override { return table_->reads_in_order(); }

  void will_read(size_t split, int64_t index) const override {
    table_->will_read(taken_[split], index);
  }

  std::string describe(size_t split, int64_t index) const override {
    return table_->describe(taken_[split], index);
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    try {
      std::vector<RowValue> values(table_->columns().size());
      table_->read(taken_[split], index, values, buffers);
      const std::string_view id = id_of(split, index, values, buffers);
      for (size_t position = 0; position < fields_.size(); ++position) {
        const size_t from = fields_[position];
        in_column(column(from).name,
                  [&] { set_field(record, position, split, values[from], id, buffers); });
      }
      record.set_string(fields_.size(), id);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::io || is_out_of_memory(error)) throw;
      throw error.within({.path = describe(split, index)});
    }
  }

 private:
  fs::path path() const { return table_->facts(0).at("path"); }
  // Those that have samples.
  void choose_splits() {
    const std::vector<SourceSplit>& splits = table_->splits();
    for (size_t i = 0; i < splits.size(); ++i) {
      if (splits[i].num_samples > 0) {
        taken_.push_back(i);
        infos_.push_back(splits[i]);
      } else {
        add_note(notes_, path().string(), "split '{}' has no samples, and is left out",
                 splits[i].name);
      }
    }
    if (infos_.empty()) {
      throw NoSamples(source_error(path(), ErrorCode::not_found, "split '{}' contains no samples",
                                   splits.front().name));
    }
  }
  const Field& column(size_t i) const { return table_->columns()[i].field; }

  std::optional<size_t> find(std::string_view name) const {
    const auto& columns = table_->columns();
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].field.name == name) return i;
    }
    return std::nullopt;
  }

  // The column that an option names.
  std::optional<size_t> given(const char* option, const std::string& name,
                              const std::vector<std::string>& names) const {
    if (name.empty()) return std::nullopt;
    require_names(option, {name}, names);
    return find(name);
  }

  void choose_columns(const RowOptions& options) {
    std::vector<std::string> names;
    for (const RowColumn& column : table_->columns()) names.push_back(column.field.name);
    image_ = given("image_column", options.image_column, names);
    const bool has_label = options.label_column != "none" || find("none");
    if (has_label) label_ = given("label_column", options.label_column, names);
    id_ = given("id_column", options.id_column, names);
    const auto may_be_picture = [](FieldType type) {
      return type == FieldType::image || type == FieldType::bytes;
    };
    if (image_ && !may_be_picture(column(*image_).type)) {
      throw not_that("image_column", *image_, "pictures must be bytes or images");
    }
    if (label_ && !is_whole_number(column(*label_)) && column(*label_).type != FieldType::string) {
      throw not_that("label_column", *label_,
                     "labels must be one whole number or one text for each row");
    }
    if (id_ && !is_whole_number(column(*id_)) && column(*id_).type != FieldType::string) {
      throw not_that("id_column", *id_, "ids must be one text or one whole number for each row");
    }
    if (!image_) image_ = only_picture();
    if (!label_ && has_label) label_ = likely_label();
    if (!id_) id_ = likely_id();
    require_names("columns", options.columns, names);
    if (image_) fields_.push_back(*image_);
    if (label_) fields_.push_back(*label_);
    for (size_t i = 0; i < names.size(); ++i) {
      if (i == image_ || i == label_ || i == id_) continue;
      const bool is_taken = options.columns.empty() ||
                            std::ranges::find(options.columns, names[i]) != options.columns.end();
      if (is_taken) fields_.push_back(i);
      if (!is_taken) left_out_.push_back(names[i]);
    }
  }

  Error not_that(const char* option, size_t column_number, const char* what) const {
    return argument_error(option, fmt::format("{}: the column '{}' has the type {}, but {}",
                                              option_name(option), column(column_number).name,
                                              to_string(column(column_number).type), what));
  }

  std::optional<size_t> only_picture() const {
    std::optional<size_t> found;
    for (size_t i = 0; i < table_->columns().size(); ++i) {
      if (column(i).type != FieldType::image) continue;
      if (found) return std::nullopt;
      found = i;
    }
    return found;
  }

  // The one that has classes; else one that is called so.
  std::optional<size_t> likely_label() const {
    std::optional<size_t> found;
    size_t num_with_classes = 0;
    for (size_t i = 0; i < table_->columns().size(); ++i) {
      if (table_->columns()[i].class_names.empty() || !is_whole_number(column(i))) continue;
      found = i;
      ++num_with_classes;
    }
    if (num_with_classes == 1) return found;
    for (const char* name : kLabelNames) {
      const std::optional<size_t> named = find(name);
      if (named && is_whole_number(column(*named))) return named;
    }
    return std::nullopt;
  }

  std::optional<size_t> likely_id() const {
    for (const char* name : {"id", "__key__"}) {
      const std::optional<size_t> named = find(name);
      if (!named) continue;
      if (column(*named).type == FieldType::string || is_whole_number(column(*named))) return named;
    }
    return std::nullopt;
  }

  void make_schema() {
    for (const size_t i : fields_) {
      Field field = column(i);
      field.column = field.type == FieldType::scalar;
      if (i == image_) field = {"image", FieldType::image};
      if (i == label_) field = {"label", FieldType::scalar, DType::i64, true};
      add_field(std::move(field), column(i).name);
    }
    add_field({"id", FieldType::string, DType::u8, true},
              id_ ? column(*id_).name : "the row's place");
    validate(schema_);
    num_pictures_ = std::ranges::count_if(schema_.fields, is_picture_column);
  }

  // `from`: the column that becomes the field.
  void add_field(Field field, std::string from) {
    const int same = schema_.index_of(field.name);
    if (same >= 0) {
      throw source_error(path(), ErrorCode::unsupported,
                         "the columns '{}' and '{}' would both become the field '{}'; choose other "
                         "columns with {}, {} or {}, or list only the columns to convert with {}",
                         origins_[static_cast<size_t>(same)], from, field.name,
                         option_name("image_column"), option_name("label_column"),
                         option_name("id_column"), option_name("columns"));
    }
    schema_.fields.push_back(std::move(field));
    origins_.push_back(std::move(from));
  }

  void find_classes(const RowOptions& options) {
    if (!label_) {
      if (!options.classes.empty() || options.label_offset != 0) {
        const char* option = options.classes.empty() ? "label_offset" : "classes";
        throw argument_error(
            option,
            fmt::format("{}: the column with the labels is unknown; name this column with {}",
                        option_name(option), option_name("label_column")));
      }
      return;
    }
    if (!options.classes.empty()) classes_ = read_class_list(options.classes);
    if (column(*label_).type == FieldType::string) {
      if (classes_.empty() || label_offset_ != 0) {
        throw argument_error(
            "label_column", fmt::format("{}: the labels in the column '{}' are texts; give a file "
                                        "that lists the classes in order with {}, and leave out {}",
                                        option_name("label_column"), column(*label_).name,
                                        option_name("classes"), option_name("label_offset")));
      }
      for (size_t i = 0; i < classes_.size(); ++i) {
        class_numbers_.emplace(classes_[i], static_cast<int64_t>(i));
      }
      return;
    }
    const std::vector<std::string>& names = table_->columns()[*label_].class_names;
    if (!classes_.empty() || names.empty()) return;
    // Label 0 is what number -offset stands for in the files.
    if (label_offset_ > 0 || static_cast<uint64_t>(-label_offset_) >= names.size()) {
      throw argument_error(
          "label_offset",
          fmt::format("{}: the files name {} classes from 0; labels cannot begin elsewhere",
                      option_set("label_offset", std::to_string(label_offset_)), names.size()));
    }
    classes_.assign(names.begin() - label_offset_, names.end());
  }

  // Without a label, the set has the classes of the one column that has names, as COCO's has them.
  void find_other_classes() {
    std::ranges::copy_if(fields_, std::back_inserter(with_classes_), [this](size_t i) {
      return i != label_ && !table_->columns()[i].class_names.empty();
    });
    if (!label_ && classes_.empty() && with_classes_.size() == 1) {
      classes_ = table_->columns()[with_classes_.front()].class_names;
    }
  }

  void note_columns() {
    std::vector<std::string> taken;
    if (image_) taken.push_back(fmt::format("the picture is column '{}'", column(*image_).name));
    if (label_) {
      taken.push_back(fmt::format("the label is column '{}'{}", column(*label_).name,
                                  classes_.empty()
                                      ? " (without names of classes)"
                                      : fmt::format(" ({} classes)", classes_.size())));
    }
    taken.push_back(id_ ? fmt::format("the id is column '{}'", column(*id_).name)
                        : "the id is the row's place");
    std::vector<std::string> others;
    for (const size_t i : fields_) {
      if (i != image_ && i != label_) others.push_back(fmt::format("'{}'", column(i).name));
    }
    for (const size_t i : with_classes_) {
      taken.push_back(fmt::format("the manifest has the names of the {} classes of '{}'",
                                  table_->columns()[i].class_names.size(), column(i).name));
    }
    std::string note = fmt::format("{}: {}", path().string(), fmt::join(taken, "; "));
    if (!others.empty()) note += fmt::format("; also taken: {}", fmt::join(others, ", "));
    if (!left_out_.empty()) {
      note += fmt::format("; left out because of {}: '{}'", option_name("columns"),
                          fmt::join(left_out_, "', '"));
    }
    notes_.push_back(std::move(note));
  }

  // What may be meant otherwise than it is taken. `group`: there may be labels in other files.
  void note_labels(const GroupOfFiles* group) {
    is_unlabelled_.assign(taken_.size(), false);
    if (!label_) return note_no_label();
    const RowColumn& label = table_->columns()[*label_];
    std::vector<std::string> unlabelled;
    for (size_t split = 0; split < taken_.size(); ++split) {
      if (!table_->lacks(taken_[split], *label_)) continue;
      is_unlabelled_[split] = true;
      unlabelled.push_back(infos_[split].name);
    }
    const bool is_of_test = group != nullptr && !group->is_training;
    if (!unlabelled.empty() && (unlabelled.size() < taken_.size() || is_of_test)) {
      add_note(notes_, path().string(), "no row of '{}' has a label; their label is -1 (none)",
               fmt::join(unlabelled, "', '"));
    }
    // Then each row says so.
    if (unlabelled.size() == taken_.size() && !is_of_test) {
      is_unlabelled_.assign(taken_.size(), false);
    }
    if (classes_.empty() && label_offset_ == 0 && label.least.value_or(0) > 0) {
      add_note(notes_, path().string(),
               "the smallest label is {}; if the labels count from 1, give {} to count from 0",
               *label.least, option_set("label_offset", "-1"));
    }
  }

  void note_no_label() {
    for (const char* name : kLabelNames) {
      const std::optional<size_t> named = find(name);
      if (!named || std::ranges::find(fields_, *named) == fields_.end()) continue;
      const Field& field = column(*named);
      add_note(notes_, path().string(),
               "the column '{}' has the type {} and does not become the label, because a label is "
               "one whole number for each row{}",
               name, to_string(field.type),
               field.type == FieldType::string
                   ? fmt::format(", or one text for each row with {} and {}",
                                 option_name("label_column"), option_name("classes"))
                   : std::string());
      return;
    }
  }

  std::string_view id_of(size_t split, int64_t index, std::span<const RowValue> values,
                         SampleBuffers& buffers) const {
    if (!id_) return buffers.text(table_->name(taken_[split], index));
    const RowValue& value = values[*id_];
    if (value.is_null)
      throw error_of(ErrorCode::invalid_argument, "the record has no id in the column '{}'",
                     column(*id_).name);
    if (column(*id_).type == FieldType::string) {
      require_utf8(value.bytes);
      return row_text(value.bytes);
    }
    if (column(*id_).dtype == DType::u64) return buffers.text(std::to_string(value.bits));
    return buffers.text(std::to_string(whole_number(column(*id_).dtype, value.bits)));
  }

  int64_t label_of(const RowValue& value) const {
    if (!class_numbers_.empty()) {
      const auto found = class_numbers_.find(row_text(value.bytes));
      if (found != class_numbers_.end()) return found->second;
      throw error_of(ErrorCode::invalid_argument, "the value '{}' is not one of the {} classes",
                     row_text(value.bytes).substr(0, 100), classes_.size());
    }
    const int64_t number = whole_number(column(*label_).dtype, value.bits);
    if (number == kUnlabelled) return kUnlabelled;
    int64_t label = 0;
    if (__builtin_add_overflow(number, label_offset_, &label) || label < 0 ||
        (!classes_.empty() && label >= std::ssize(classes_))) {
      const std::string sum =
          label_offset_ == 0
              ? std::to_string(number)
              : fmt::format("{} plus {}", number,
                            option_set("label_offset", std::to_string(label_offset_)));
      throw error_of(ErrorCode::invalid_argument, "the label is {}, {}", sum,
                     classes_.empty() || label < 0
                         ? fmt::format("but a label must be 0 or more, or -1 for no label; if "
                                       "column '{}' is not the label, give {}",
                                       column(*label_).name, option_set("label_column", "none"))
                         : fmt::format("but there are {} classes", classes_.size()));
    }
    return label;
  }

  void set_field(RecordBuilder& record, size_t position, size_t split, const RowValue& value,
                 std::string_view id, SampleBuffers& buffers) const {
    const size_t from = fields_[position];
    if (value.is_null) {
      if (from == label_ && is_unlabelled_[split]) {
        return record.set_scalar<int64_t>(position, kUnlabelled);
      }
      if (from == image_ || from == label_) {
        throw error_of(ErrorCode::invalid_argument, "the record has no {}",
                       from == image_ ? "picture" : "label");
      }
      return;  // the field is null
    }
    if (from == label_) return record.set_scalar<int64_t>(position, label_of(value));
    const Field& field = schema_.fields[position];
    switch (field.type) {
      case FieldType::image:
        return record.set_bytes(position, store(value.bytes, field.name, id, buffers));
      case FieldType::bytes:
        return record.set_bytes(position, value.bytes);
      case FieldType::string:
        require_utf8(value.bytes);
        return record.set_string(position, row_text(value.bytes));
      case FieldType::scalar:
        return record.set_scalar_bits(position, field.dtype, value.bits);
      case FieldType::tensor:
        return record.set_tensor(position, value.tensor);
      case FieldType::list:
        return set_list(record, position, value, id, buffers);
    }
  }

  void set_list(RecordBuilder& record, size_t position, const RowValue& value, std::string_view id,
                SampleBuffers& buffers) const {
    const Field& field = schema_.fields[position];
    if (field.item == FieldType::tensor) {
      return record.set_list(position, std::span<const TensorView>(value.tensors));
    }
    if (field.item == FieldType::string) {
      const std::vector<std::string_view> texts = row_texts(value.items);
      return record.set_list(position, std::span<const std::string_view>(texts));
    }
    std::vector<std::span<const std::byte>> items = value.items;
    if (field.item == FieldType::image) {
      for (size_t i = 0; i < items.size(); ++i) {
        items[i] = store(items[i], fmt::format("{}/{}", field.name, i), id, buffers);
      }
    }
    record.set_list(position, std::span<const std::span<const std::byte>>(items));
  }

  std::span<const std::byte> store(std::span<const std::byte> image, const std::string& name,
                                   std::string_view id, SampleBuffers& buffers) const {
    return storer_.store(image, id, buffers, num_pictures_ > 1 ? name : "").bytes;
  }

  static constexpr int64_t kUnlabelled = -1;

  const std::unique_ptr<RowTable> table_;
  const int64_t label_offset_;
  std::vector<size_t> taken_;        // splits of the table
  std::vector<bool> is_unlabelled_;  // splits
  std::optional<size_t> image_;      // columns
  std::optional<size_t> label_;
  std::optional<size_t> id_;
  std::vector<size_t> fields_;        // columns, but for the id
  std::vector<std::string> origins_;  // the columns of the schema's fields
  std::vector<std::string> left_out_;
  std::vector<size_t> with_classes_;                           // columns, but for the label
  std::map<std::string, int64_t, std::less<>> class_numbers_;  // where labels are texts
  std::ptrdiff_t num_pictures_ = 0;                            // fields of pictures
};

}  // namespace

std::unique_ptr<Source> make_row_source(std::unique_ptr<RowTable> table,
                                        const RowOptions& options) {
  return std::make_unique<RowSource>(std::move(table), options);
}

}  // namespace ffkit
