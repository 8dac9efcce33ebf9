#include "views/view_fields.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "fields/field_lookup.h"
#include "fields/image_field_decoder.h"
#include "format/make_error.h"
#include "views/box_decoders.h"
#include "views/picture_decoders.h"

namespace ffkit {
namespace {

bool is_random_picture(const ImageOptions& options) {
  return is_random(options.transform) || !options.augmentations.empty() ||
         options.erasing.has_value();
}

// The view that an array follows.
size_t view_of(const std::vector<View>& views, const std::string& array, const std::string& name) {
  if (name.empty() && views.size() == 1) return 0;
  std::vector<std::string_view> names;
  for (size_t i = 0; i < views.size(); ++i) {
    if (views[i].name == name) return i;
    names.push_back(views[i].name);
  }
  if (name.empty()) {
    throw error_of(ErrorCode::invalid_argument,
                   "the batch's field '{}' does not say which view it follows; the loader has {}",
                   array, fmt::join(names, ", "));
  }
  throw error_of(
      ErrorCode::invalid_argument,
      "the batch's field '{}' follows the view '{}', which the loader does not have; it has {}",
      array, name, fmt::join(names, ", "));
}

// Makes the decoders of what follows the views.
class Followers {
 public:
  Followers(const Schema& schema, ViewSetPtr set, const LoaderOptions& options)
      : schema_(schema), set_(std::move(set)), options_(options) {}

  std::shared_ptr<const FieldDecoder> make(const ViewField& field) const {
    return std::visit(
        [&](const auto& what) -> std::shared_ptr<const FieldDecoder> {
          if constexpr (requires { what.view; }) {
            return decode_view_field(schema_, set_, view_of(set_->views(), field.name, what.view),
                                     what);
          } else {
            const BoxesField& boxes = boxes_of(field.name, what.boxes);
            return decode_view_field(schema_, set_, view_of(set_->views(), field.name, boxes.view),
                                     what, boxes);
          }
        },
        field.what);
  }

 private:
  const BoxesField& boxes_of(const std::string& array, const std::string& name) const {
    for (const ViewField& field : options_.view_fields) {
      const auto* boxes = std::get_if<BoxesField>(&field.what);
      if (boxes != nullptr && field.name == name) return *boxes;
    }
    throw error_of(ErrorCode::invalid_argument,
                   "the batch's field '{}' belongs to the boxes '{}', but the batch has "
                   "no BoxesField of that name",
                   array, name);
  }

  const Schema& schema_;
  ViewSetPtr set_;
  const LoaderOptions& options_;
};

std::vector<ViewBoxes> boxes_of_views(const Schema& schema, const std::vector<View>& views,
                                      const LoaderOptions& options) {
  std::vector<ViewBoxes> all;
  for (const ViewField& field : options.view_fields) {
    const auto* boxes = std::get_if<BoxesField>(&field.what);
    if (boxes == nullptr) continue;
    all.push_back(
        {view_of(views, field.name, boxes->view), require_tensor(schema, boxes->field), *boxes});
  }
  return all;
}

ViewSetPtr make_views(const Schema& schema, const LoaderOptions& options) {
  if (options.image_field.empty()) {
    if (options.views.empty() && options.view_fields.empty()) return nullptr;
    throw Error(ErrorCode::invalid_argument,
                "views and what follows them need a picture; give image_field");
  }
  const size_t at = require_image(schema, options.image_field);
  const bool is_default = options.views.empty();
  if (!is_default && (options.mixing.mixup_alpha != 0 || options.mixing.cutmix_alpha != 0)) {
    throw Error(ErrorCode::invalid_argument,
                "mixing mixes the pictures of a loader without views; leave it out, or the views");
  }
  std::vector<View> views = options.views;
  if (is_default) views.push_back({.name = options.image_field, .image = options.image});
  std::vector<ViewBoxes> boxes = boxes_of_views(schema, views, options);
  return std::make_shared<const ViewSet>(at, std::move(views), std::move(boxes), is_default);
}

// Two arrays of one picture that draw the same numbers would show the same crop.
void refuse_equal_pictures(const Schema& schema, const LoaderOptions& options) {
  struct Random {
    size_t field;
    std::string name;
  };
  std::vector<Random> all;
  const int image = schema.index_of(options.image_field);
  if (image >= 0 && options.views.empty() && is_random_picture(options.image)) {
    all.push_back({static_cast<size_t>(image), options.image_field});
  }
  for (const BatchField& field : options.fields) {
    const auto* picture = dynamic_cast<const ImageFieldDecoder*>(field.decoder.get());
    if (picture == nullptr || !is_random_picture(picture->options())) continue;
    const auto same = std::ranges::find(all, picture->field(), &Random::field);
    if (same != all.end()) {
      throw error_of(
          ErrorCode::invalid_argument,
          "the batch's fields '{}' and '{}' are both random pictures of the record's field '{}', "
          "and would show the same crop; give `views` with two names instead, or a PictureField "
          "where the second is to follow the first",
          same->name, field.name, schema.fields[picture->field()].name);
    }
    all.push_back({picture->field(), field.name});
  }
}

}  // namespace

BatchFields batch_fields(const Schema& schema, const LoaderOptions& options) {
  BatchFields made;
  std::vector<BatchField>& fields = made.fields;
  const ViewSetPtr set = make_views(schema, options);
  refuse_equal_pictures(schema, options);
  if (set != nullptr) {
    for (size_t i = 0; i < set->views().size(); ++i) {
      made.views.push_back(set->views()[i].name);
      fields.push_back({made.views.back(), decode_view(set, i)});
    }
  }
  if (!options.label_field.empty()) {
    fields.push_back({options.label_field, decode_integer(schema, options.label_field)});
  }
  fields.insert(fields.end(), options.fields.begin(), options.fields.end());
  const Followers followers(schema, set, options);
  for (const ViewField& field : options.view_fields) {
    fields.push_back({field.name, followers.make(field)});
  }
  made.num_visible = fields.size();
  if (set == nullptr) return made;
  // Names that no user's field has: those are not empty.
  fields.push_back({"\nsource size", decode_source_size(set)});
  for (size_t i = 0; i < made.views.size(); ++i) {
    fields.push_back({"\ngeometry of " + made.views[i], decode_geometry(set, i)});
  }
  return made;
}

void share_views(std::span<const std::unique_ptr<FieldDecoder::Scratch>> scratch) {
  std::vector<ViewScratch*> all;
  for (const auto& one : scratch) {
    auto* view = dynamic_cast<ViewScratch*>(one.get());
    if (view == nullptr) continue;
    for (ViewScratch* other : all) view->share(*other);
    all.push_back(view);
  }
}

}  // namespace ffkit
