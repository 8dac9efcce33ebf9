#include "views/view_texts.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <variant>

#include <ffkit/image/transform_text.h>

#include "base/make_error.h"
#include "base/printable.h"

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

}  // namespace ffkit
