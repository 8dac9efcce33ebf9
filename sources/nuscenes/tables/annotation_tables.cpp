#include <algorithm>
#include <numeric>

#include <ffkit/nuscenes/classes.h>

#include "converter/input/source_error.h"
#include "nuscenes/tables/json_rows.h"
#include "nuscenes/tables/table_references.h"

namespace ffkit::nuscenes {
namespace {

int32_t count_of(const JsonRow& row, const char* key) {
  const int64_t count = row.integer(key);
  if (count < 0 || count > 1'000'000'000)
    row.refuse(fmt::format("'{}' is {}, but must be between 0 and 1000000000", key, count));
  return static_cast<int32_t>(count);
}

class AnnotationReader {
 public:
  AnnotationReader(const fs::path& folder, Tables& tables) : folder_(folder), t_(tables) {}

  void read() {
    read_categories();
    read_instances();
    read_attributes();
    read_annotations();
  }

 private:
  TableFile file(const char* name) const { return {folder_, name}; }

  void read_categories() {
    struct Category {
      std::string name;
      int64_t label;  // lidarseg's index, -1 in tables without
    };
    const TableFile table = file("category");
    table.read(
        category_rows_,
        [](const JsonRow& row) {
          return Category{std::string(row.text("name")),
                          row.has("index") ? row.integer("index") : -1};
        },
        [&](const Token& token, Category category) {
          if (category.label > 255) table.refuse(token, "'index' is above 255");
          if (category.label < 0) ++t_.num_categories_without_label;
          if (category.label >= 0) {
            const auto label = static_cast<size_t>(category.label);
            t_.label_names.resize(std::max(t_.label_names.size(), label + 1));
            t_.label_names[label] = category.name;
          }
          t_.categories.push_back(std::move(category.name));
        });
    if (t_.categories.size() > 255) {
      throw source_error(table.path(), ErrorCode::unsupported,
                         "has {} categories, expected at most 255", t_.categories.size());
    }
  }

  void read_annotations() {
    struct Annotation {
      Token sample, instance, prev, next;
      std::vector<Token> attributes;
      std::array<double, 10> box;
      int32_t num_lidar_points, num_radar_points;
      int16_t visibility;
    };
    const TableFile table = file("sample_annotation");
    AnnotationRows& all = t_.annotations;
    std::vector<Token> prev;
    std::vector<Token> next;
    table.read(
        all,
        [](const JsonRow& row) {
          Annotation a{row.token("sample_token"),
                       row.token("instance_token"),
                       row.token_or_none("prev"),
                       row.token_or_none("next"),
                       row.tokens("attribute_tokens"),
                       {},
                       count_of(row, "num_lidar_pts"),
                       count_of(row, "num_radar_pts"),
                       visibility_of(row)};
          row.numbers_or_nan("translation", std::span(a.box).first(3));
          row.numbers_or_nan("size", std::span(a.box).subspan(3, 3));
          row.numbers_or_nan("rotation", std::span(a.box).last(4));
          return a;
        },
        [&](const Token& token, const Annotation& a) {
          all.instance.push_back(a.instance);
          const Row instance =
              table.resolve(token, "instance_token", a.instance, instance_rows_, "instance");
          all.category.push_back(instance_categories_[instance]);
          all.sample.push_back(
              table.resolve(token, "sample_token", a.sample, t_.samples, "sample"));
          all.box.push_back(a.box);
          all.num_lidar_points.push_back(a.num_lidar_points);
          all.num_radar_points.push_back(a.num_radar_points);
          all.visibility.push_back(a.visibility);
          all.attribute.push_back(attribute_of(table, token, a.attributes));
          require_one_attribute(table, token, a.attributes.size(),
                                t_.categories[all.category.back()]);
          prev.push_back(a.prev);
          next.push_back(a.next);
        });
    all.prev = table.resolve_links(all, "prev", prev);
    all.next = table.resolve_links(all, "next", next);
    table.require_order(
        all, all.prev, all.next, "instance", [&](Row row) { return all.instance[row]; },
        [&](Row row) { return t_.samples.timestamp[all.sample[row]]; });
    sort_annotations();
  }

  static int16_t visibility_of(const JsonRow& row) {
    const std::string_view token = row.text("visibility_token");
    if (token.empty()) return 0;
    if (token.size() != 1 || token[0] < '1' || token[0] > '4') {
      row.refuse(fmt::format("'visibility_token' is '{}', but must be 1, 2, 3, 4 or empty", token));
    }
    return static_cast<int16_t>(token[0] - '0');
  }

  int16_t attribute_of(const TableFile& table, const Token& row,
                       const std::vector<Token>& attributes) const {
    if (attributes.empty()) return -1;
    return attributes_[table.resolve(row, "attribute_tokens", attributes.front(), attribute_rows_,
                                     "attribute")];
  }

  // As the devkit, which looks at those of its ten classes alone.
  void require_one_attribute(const TableFile& table, const Token& row, size_t num_attributes,
                             const std::string& category) {
    if (num_attributes < 2) return;
    if (class_of_category(category) >= 0) {
      throw source_error(table.path(), ErrorCode::invalid_argument,
                         "row {}: 'attribute_tokens' has {} tokens, but the devkit accepts only "
                         "one attribute for each box; keep one of them",
                         to_string(row), num_attributes);
    }
    ++t_.num_further_attributes;
  }

  void read_instances() {
    const TableFile table = file("instance");
    table.read(
        instance_rows_, [](const JsonRow& row) { return row.token("category_token"); },
        [&](const Token& token, const Token& category) {
          instance_categories_.push_back(static_cast<uint8_t>(
              table.resolve(token, "category_token", category, category_rows_, "category")));
        });
  }

  void read_attributes() {
    const TableFile table = file("attribute");
    table.read(
        attribute_rows_, [](const JsonRow& row) { return attribute_number(row.text("name")); },
        [this](const Token& /*token*/, int number) {
          attributes_.push_back(static_cast<int16_t>(number));
        });
  }

  // A counting sort, which keeps the table's order within a sample.
  void sort_annotations() {
    AnnotationRows& all = t_.annotations;
    all.first.assign(t_.samples.size() + 1, 0);
    for (const Row sample : all.sample) ++all.first[sample + 1];
    std::partial_sum(all.first.begin(), all.first.end(), all.first.begin());
    all.order.resize(all.size());
    std::vector<Row> next = all.first;
    for (Row i = 0; i < all.size(); ++i) all.order[next[all.sample[i]]++] = i;
  }

  const fs::path& folder_;
  Tables& t_;
  Rows category_rows_;
  Rows instance_rows_;
  std::vector<uint8_t> instance_categories_;
  Rows attribute_rows_;
  std::vector<int16_t> attributes_;
};

}  // namespace

void read_annotation_tables(const fs::path& folder, Tables& tables) {
  AnnotationReader(folder, tables).read();
}

}  // namespace ffkit::nuscenes
