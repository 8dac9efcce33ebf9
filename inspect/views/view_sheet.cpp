#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_options.h>
#include <ffkit/image/transform.h>
#include <ffkit/trainer/picture_options.h>

#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "data/data_sets.h"
#include "tools/common/table_options.h"
#include "views/record_views.h"

namespace ffkit {
namespace {

// Bytes, as a picture shows them. A ScalePad and noise are there as floats alone; noise has the
// unit of normalised values.
ImageOutput output_to_draw(const ImageOptions& image) {
  const bool has_noise = image.erasing && image.erasing->noise;
  const bool needs_floats = has_noise || std::holds_alternative<ScalePad>(image.transform);
  return {.dtype = needs_floats ? DType::f32 : DType::u8,
          .layout = Layout::nhwc,
          .normalize = has_noise};
}

// "NAME" or "NAME*COPIES", what stands before the colon.
View parse_head(std::string_view head) {
  View view;
  const size_t star = head.find('*');
  view.name = trimmed(head.substr(0, star));
  const bool is_name = !view.name.empty() && std::ranges::all_of(view.name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '/' || c == '.';
  });
  bool is_count = true;
  if (star != std::string_view::npos) {
    view.copies = number_of_text<decltype(view.copies)>(trimmed(head.substr(star + 1))).value_or(0);
    is_count = view.copies >= 1;
  }
  if (is_name && is_count) return view;
  throw error_of(
      ErrorCode::invalid_argument,
      "'{}' is not a name of a view; expected NAME or NAME*COPIES before the colon, such "
      "as 'global*2: RandomResizedCrop(224)'",
      printable(head));
}

View parse_view(std::string_view text) {
  const size_t colon = text.substr(0, text.find_first_of("(\"'")).find(':');
  View view;
  if (colon != std::string_view::npos) {
    view = parse_head(trimmed(text.substr(0, colon)));
    text.remove_prefix(colon + 1);
  }
  view.image = parse_transforms(text);
  view.image.output = output_to_draw(view.image);
  return view;
}

// Gives the options of the file to the table, as fftrain --config does; returns the run's task.
std::string read_run(const std::filesystem::path& config, OptionTable& table) {
  std::error_code no_file;
  if (!std::filesystem::is_regular_file(config, no_file)) {
    throw error_at(config, ErrorCode::not_found, "cannot be opened");
  }
  std::string task = "classification";
  try {
    CLI::App app;
    add_options_file(app, /*takes_all=*/true);
    app.add_option("--task", task);
    WhenParsed when_parsed;
    for (Option& option : table.options()) add_table_option(app, option, when_parsed, true);
    app.parse(std::vector<std::string>{"--config=" + config.string()});
    for (const auto& finish : when_parsed) finish();
  } catch (const CLI::Error& error) {
    throw error_at(config, ErrorCode::invalid_argument, "is not a file of options: {}",
                   error.what());
  }
  return task;
}

// Values are checked when a table is made.
void check_pictures(const std::filesystem::path& config, PictureOptions& options) {
  OptionTable table;
  describe_pictures(options, table, std::numeric_limits<int64_t>::max());
  try {
    table.check();
  } catch (const Error& error) {
    throw error_at(config, ErrorCode::invalid_argument, "{}",
                   error.text(OptionStyle::command_line));
  }
}

// What no record's picture shows: it is of a batch, or of an epoch.
std::vector<std::string> left_out_of(const PictureOptions& options) {
  std::vector<std::string> mixed;
  if (options.mixup_alpha > 0) {
    mixed.push_back(fmt::format("MixUp (mixup-alpha = {})", options.mixup_alpha));
  }
  if (options.cutmix_alpha > 0) {
    mixed.push_back(fmt::format("CutMix (cutmix-alpha = {})", options.cutmix_alpha));
  }
  std::vector<std::string> sentences;
  if (!mixed.empty()) {
    sentences.push_back(
        fmt::format("The run also mixes the pictures of a batch by {}, which is not shown here.",
                    fmt::join(mixed, " or ")));
  }
  if (options.progressive_size > 0) {
    sentences.push_back(fmt::format(
        "The first epochs of the run have smaller pictures, from {} pixels on. Here all have {}.",
        options.progressive_size, options.image_size));
  }
  return sentences;
}

}  // namespace

WantedViews parse_view_texts(const std::vector<std::string>& texts,
                             const std::string& image_field) {
  WantedViews wanted;
  wanted.views.reserve(texts.size());
  for (const std::string& text : texts) {
    View view = parse_view(text);
    if (view.name.empty() && texts.size() > 1) {
      throw error_of(ErrorCode::invalid_argument,
                     "'{}' has no name, but each of several views needs one; give 'NAME: {}'",
                     printable(text), printable(text));
    }
    if (std::ranges::find(wanted.views, view.name, &View::name) != wanted.views.end()) {
      throw error_of(ErrorCode::invalid_argument,
                     "two views have the name '{}'; give each its own name", view.name);
    }
    wanted.views.push_back(std::move(view));
  }
  wanted.are_named = !wanted.views.empty() && !wanted.views.front().name.empty();
  if (!wanted.are_named && !wanted.views.empty()) wanted.views.front().name = image_field;
  return wanted;
}

RunTransform transform_of_run(const std::filesystem::path& config) {
  PictureOptions options;
  OptionTable table;
  describe_pictures(options, table, std::numeric_limits<int64_t>::max());
  const std::string task = read_run(config, table);
  if (task != "classification" ||
      (!table.is_given("image-size") && !table.is_given("crop-scale"))) {
    throw error_at(config, ErrorCode::invalid_argument,
                   "does not belong to a run on pictures with labels: {}",
                   task == "classification" ? "it has neither image-size nor crop-scale"
                                            : fmt::format("its task is '{}'", task));
  }
  check_pictures(config, options);
  return {.text = training_transforms(options, options.image_size),
          .left_out = left_out_of(options)};
}

std::string shown_transform_of_run(const std::filesystem::path& config) {
  RunTransform run = transform_of_run(config);
  for (const std::string& sentence : run.left_out) {
    fmt::print(stderr, "ffinspect: warning: {}: {}\n", config.string(), sentence);
  }
  return std::move(run.text);
}

namespace {

// The rows of the tensor `field`, f32 [N, n]. None where there is no such tensor.
template <size_t n>
std::vector<std::array<float, n>> rows_of(const Schema& schema, const RecordView& record,
                                          const char* field) {
  const auto tensor = tensor_in(schema, record, field);
  if (!tensor) return {};
  const auto& [dtype, shape, data] = *tensor;
  if (dtype != DType::f32 || shape.size() != 2 || shape[1] != n) return {};
  std::vector<std::array<float, n>> rows(static_cast<size_t>(shape[0]));
  if (!rows.empty()) std::memcpy(rows.data(), data.data(), rows.size() * sizeof(rows[0]));
  return rows;
}

// "global, copy 1" and "epoch 2", as far as there are several.
void add_lines(const ViewRequest& request, const RecordPicture& picture,
               std::vector<std::string>& lines) {
  const std::string& name = picture.view->name;
  if (request.wanted.are_named) {
    lines.push_back(picture.view->copies > 0 ? fmt::format("{}, copy {}", name, picture.copy)
                                             : name);
  }
  if (request.num_epochs > 1) lines.push_back(fmt::format("epoch {}", picture.epoch));
}

// The numbers of a mask as the colours of a panoptic PNG have them.
std::vector<std::byte> png_of_mask(const std::vector<int32_t>& mask, int width, int height) {
  std::vector<uint8_t> colors(3 * mask.size());
  for (size_t i = 0; i < mask.size(); ++i) {
    const auto number = static_cast<uint32_t>(mask[i]);
    for (size_t c = 0; c < 3; ++c) colors[3 * i + c] = static_cast<uint8_t>(number >> (8 * c));
  }
  return encode_png({.data = colors.data(), .width = width, .height = height, .stride = 3 * width});
}

Json json_of(const RecordPicture& picture) {
  Json json = {{"view", picture.view->name},    {"copy", picture.copy},
               {"epoch", picture.epoch},        {"width", picture.size.width},
               {"height", picture.size.height}, {"geometry", nullptr},
               {"num_boxes", nullptr},          {"problem", nullptr}};
  if (!picture.problem.empty()) {
    json["problem"] = picture.problem;
    return json;
  }
  const ViewMatrix& m = picture.geometry;
  json["geometry"] = {{m[0], m[1], m[2]}, {m[3], m[4], m[5]}, {m[6], m[7], m[8]}};
  if (picture.boxes) json["num_boxes"] = picture.boxes->size();
  return json;
}

}  // namespace

std::vector<SheetBox> marked_boxes(const Dataset& dataset, const RecordView& record) {
  const Schema& schema = dataset.schema();
  std::vector<SheetBox> boxes;
  for (const auto& [x, y, width, height] : rows_of<4>(schema, record, "boxes")) {
    boxes.push_back({.x = x, .y = y, .width = width, .height = height});
  }
  if (boxes.empty()) return boxes;
  const auto labels = tensor_in(schema, record, "labels");
  if (!labels || labels->dtype != DType::i64 ||
      labels->data.size() != boxes.size() * sizeof(int64_t)) {
    return boxes;
  }
  for (size_t i = 0; i < boxes.size(); ++i) {
    std::memcpy(&boxes[i].class_number, labels->data.data() + i * sizeof(int64_t), sizeof(int64_t));
    boxes[i].name = class_of(dataset.manifest(), boxes[i].class_number);
  }
  return boxes;
}

std::vector<SheetPoint> marked_joints(const Schema& schema, const RecordView& record) {
  std::vector<SheetPoint> points;
  for (const auto& [x, y, visible] : rows_of<3>(schema, record, "joints")) {
    const auto kind = visible > 0 ? SheetPoint::Kind::joint : SheetPoint::Kind::hidden_joint;
    points.push_back({.x = x, .y = y, .kind = kind});
  }
  return points;
}

std::vector<SheetPoint> marked_keypoints(const Schema& schema, const RecordView& record) {
  std::vector<SheetPoint> points;
  const auto tensor = tensor_in(schema, record, "keypoints");
  if (!tensor || tensor->shape.size() != 3 || tensor->shape[2] != 3) return points;
  visit_dtype(tensor->dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_arithmetic_v<T>) {
      for (size_t i = 0; i + 3 * sizeof(T) <= tensor->data.size(); i += 3 * sizeof(T)) {
        std::array<T, 3> point = {};
        std::memcpy(point.data(), tensor->data.data() + i, sizeof point);
        if (point[2] == T{0}) continue;
        points.push_back(
            {.x = static_cast<double>(point[0]),
             .y = static_cast<double>(point[1]),
             .kind = point[2] > T{1} ? SheetPoint::Kind::joint : SheetPoint::Kind::hidden_joint});
      }
    }
  });
  return points;
}

void draw_into(const Dataset& dataset, const RecordPicture& picture, SheetEntry& entry) {
  const ImageSize size = picture.size;
  const auto width = static_cast<int>(size.width);
  const auto height = static_cast<int>(size.height);
  encode_ppm({.data = picture.pixels.data(),
              .width = width,
              .height = height,
              .stride = ptrdiff_t{3} * width},
             entry.image);
  if (!picture.mask.empty()) entry.mask = png_of_mask(picture.mask, width, height);
  if (picture.boxes) {
    entry.boxes.reserve(picture.boxes->size());
    for (const auto& [edges, label] : *picture.boxes) {
      entry.boxes.push_back({.x = edges[0],
                             .y = edges[1],
                             .width = edges[2] - edges[0],
                             .height = edges[3] - edges[1],
                             .class_number = label,
                             .name = class_of(dataset.manifest(), label)});
    }
  }
  entry.points.reserve(picture.points.size());
  for (const RecordPicture::Point& point : picture.points) {
    entry.points.push_back(
        {.x = point.x,
         .y = point.y,
         .kind = point.visibility == 1 ? SheetPoint::Kind::hidden_joint : SheetPoint::Kind::joint});
  }
}

int columns_of_views(const ViewRequest& request, int columns, bool are_given) {
  const int64_t num_pictures = request.num_pictures();
  if (are_given && columns < num_pictures) {
    throw error_of(ErrorCode::invalid_argument,
                   "{} is too few: the {} pictures of each record are in one row; leave the "
                   "option out, or give at least this number",
                   option_set("columns", std::to_string(columns)), num_pictures);
  }
  return static_cast<int>(std::max<int64_t>(columns / num_pictures, 1) * num_pictures);
}

void show_views(const Dataset& dataset, const std::vector<int64_t>& records,
                const ViewRequest& request, std::vector<SheetEntry>& entries,
                std::vector<Json>& samples) {
  std::vector<std::vector<RecordPicture>> pictures = decode_views(dataset, records, request);
  std::vector<SheetEntry> shown;
  shown.reserve(records.size() * static_cast<size_t>(request.num_pictures()));
  for (size_t i = 0; i < records.size(); ++i) {
    Json views = Json::array();
    for (RecordPicture& picture : pictures[i]) {
      SheetEntry& entry = shown.emplace_back();
      entry.lines = entries[i].lines;
      add_lines(request, picture, entry.lines);
      if (picture.problem.empty()) picture.problem = entries[i].problem;
      if (picture.problem.empty()) {
        draw_into(dataset, picture, entry);
      } else {
        entry.problem = picture.problem;
      }
      views.push_back(json_of(picture));
    }
    samples[i]["views"] = std::move(views);
    pictures[i].clear();
  }
  entries = std::move(shown);
}

}  // namespace ffkit
