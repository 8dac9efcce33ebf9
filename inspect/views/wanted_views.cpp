#include "views/wanted_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/image/transform_text.h>
#include <ffkit/trainer/picture_options.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "tools/common/table_options.h"

namespace ffkit {
namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr const char* kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

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
  view.name = without_blanks(head.substr(0, star));
  const bool is_name = !view.name.empty() && std::ranges::all_of(view.name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '/' || c == '.';
  });
  bool is_count = true;
  if (star != std::string_view::npos) {
    const std::string_view count = without_blanks(head.substr(star + 1));
    const char* const last = count.data() + count.size();
    const auto [end, error] = std::from_chars(count.data(), last, view.copies);
    is_count = error == std::errc{} && end == last && view.copies >= 1;
  }
  if (is_name && is_count) return view;
  throw error_of(ErrorCode::invalid_argument,
                 "'{}' is no name of a view; expected NAME or NAME*COPIES before the colon, such "
                 "as 'global*2: RandomResizedCrop(224)'",
                 printable(head));
}

View parse_view(std::string_view text) {
  const size_t colon = text.substr(0, text.find_first_of("(\"'")).find(':');
  View view;
  if (colon != std::string_view::npos) {
    view = parse_head(without_blanks(text.substr(0, colon)));
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
    throw error_at(config, ErrorCode::invalid_argument, "is no file of options: {}", error.what());
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
                     "'{}' has no name, which each of several views needs; give 'NAME: {}'",
                     printable(text), printable(text));
    }
    if (std::ranges::find(wanted.views, view.name, &View::name) != wanted.views.end()) {
      throw error_of(ErrorCode::invalid_argument,
                     "two views are called '{}'; give each its own name", view.name);
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
                   "is not of a run on pictures with labels, whose transforms can be shown: {}",
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

}  // namespace ffkit
