#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/make_error.h"
#include "fields/decoder_base.h"
#include "views/view_decoders.h"

namespace ffkit {
namespace {

bool is_random_picture(const ImageOptions& options) {
  return is_random(options.transform) || !options.augmentations.empty() ||
         options.erasing.has_value();
}

// The view that an array follows. `views` has the names of all.
size_t view_of(const std::vector<std::string>& names, const std::string& array,
               const std::string& name) {
  if (names.empty()) {
    throw error_of(
        ErrorCode::invalid_argument,
        "the batch's field '{}' follows a view, but the loader has neither a picture nor a clip; "
        "give image_field, or a FramesField",
        array);
  }
  if (name.empty() && names.size() == 1) return 0;
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  if (name.empty()) {
    throw error_of(ErrorCode::invalid_argument,
                   "the batch's field '{}' does not name its view; the views of the loader are {}",
                   array, fmt::join(names, ", "));
  }
  throw error_of(ErrorCode::invalid_argument,
                 "the batch's field '{}' follows the view '{}', but the views of the loader are {}",
                 array, name, fmt::join(names, ", "));
}

std::vector<View> views_of_picture(const LoaderOptions& options) {
  std::vector<View> views = options.views;
  if (views.empty() && !options.image_field.empty()) {
    views.push_back({.name = options.image_field, .image = options.image});
  }
  return views;
}

// Views of the picture, then clips.
std::vector<std::string> names_of_views(const LoaderOptions& options) {
  std::vector<std::string> names;
  for (const View& view : views_of_picture(options)) names.push_back(view.name);
  for (const ViewField& field : options.view_fields) {
    if (std::holds_alternative<FramesField>(field.what)) names.push_back(field.name);
  }
  return names;
}

std::vector<ClipPtr> make_clips(const Schema& schema, const LoaderOptions& options) {
  std::vector<ClipPtr> clips;
  for (const ViewField& field : options.view_fields) {
    const auto* frames = std::get_if<FramesField>(&field.what);
    if (frames == nullptr) continue;
    clips.push_back(std::make_shared<const Clip>(schema, field.name, *frames));
  }
  return clips;
}

// The BoxesField that an array belongs to.
const BoxesField& boxes_named(const LoaderOptions& options, const std::string& array,
                              const std::string& name) {
  for (const ViewField& field : options.view_fields) {
    const auto* boxes = std::get_if<BoxesField>(&field.what);
    if (boxes != nullptr && field.name == name) return *boxes;
  }
  throw error_of(ErrorCode::invalid_argument,
                 "the batch's field '{}' belongs to the boxes '{}', but the batch has no "
                 "BoxesField with this name",
                 array, name);
}

// Not a member of a class, which Clang 15 would not instantiate.
template <typename What>
std::shared_ptr<const FieldDecoder> follow_clip(const Schema& schema, const std::string& array,
                                                const ClipPtr& clip, const What& what) {
  if constexpr (std::is_same_v<What, FrameNumbersField>) {
    return decode_frame_numbers(clip);
  } else if constexpr (requires { decode_clip_field(schema, clip, what); }) {
    return decode_clip_field(schema, clip, what);
  } else {
    throw error_of(ErrorCode::invalid_argument,
                   "the batch's field '{}' follows the clip '{}', but only masks and pictures can "
                   "follow a clip; move boxes and points by the geometry of the clip",
                   array, clip->name());
  }
}

// The decoder of what follows a view, whose names are `views`, or of a clip.
std::shared_ptr<const FieldDecoder> decode_follower(const Schema& schema, const ViewSetPtr& set,
                                                    const std::vector<ClipPtr>& clips,
                                                    const std::vector<std::string>& views,
                                                    const LoaderOptions& options,
                                                    const ViewField& field) {
  // Null for a view of the picture.
  const auto clip_at = [&](size_t view) -> ClipPtr {
    const size_t num_views = set == nullptr ? 0 : set->views().size();
    return view < num_views ? nullptr : clips[view - num_views];
  };
  return std::visit(
      [&](const auto& what) -> std::shared_ptr<const FieldDecoder> {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, FramesField>) {
          return decode_clip(
              *std::ranges::find(clips, field.name, [](const ClipPtr& c) { return c->name(); }));
        } else if constexpr (requires { what.boxes; }) {
          const BoxesField& boxes = boxes_named(options, field.name, what.boxes);
          const size_t view = view_of(views, field.name, boxes.view);
          if (const ClipPtr clip = clip_at(view)) {
            return follow_clip(schema, field.name, clip, what);
          }
          return decode_view_field(schema, set, view, what, boxes);
        } else {
          const size_t view = view_of(views, field.name, what.view);
          if (const ClipPtr clip = clip_at(view)) {
            return follow_clip(schema, field.name, clip, what);
          }
          if constexpr (std::is_same_v<What, FrameNumbersField>) {
            throw error_of(ErrorCode::invalid_argument,
                           "the batch's field '{}' belongs to the frames of a clip, but the view "
                           "'{}' is not a clip; give the name of a FramesField",
                           field.name, views[view]);
          } else {
            return decode_view_field(schema, set, view, what);
          }
        }
      },
      field.what);
}

// Those that follow a clip are among them, and no view is theirs.
std::vector<ViewBoxes> boxes_of_views(const Schema& schema, const std::vector<std::string>& names,
                                      const LoaderOptions& options) {
  std::vector<ViewBoxes> all;
  for (const ViewField& field : options.view_fields) {
    const auto* boxes = std::get_if<BoxesField>(&field.what);
    if (boxes == nullptr) continue;
    all.push_back(
        {view_of(names, field.name, boxes->view), require_tensor(schema, boxes->field), *boxes});
  }
  return all;
}

bool mixes(const MixOptions& mixing) {
  return mixing.mixup_alpha != 0 || mixing.cutmix_alpha != 0;
}

// Null without a picture.
ViewSetPtr make_views(const Schema& schema, const std::vector<std::string>& names,
                      const LoaderOptions& options) {
  if (options.image_field.empty()) {
    if (options.views.empty()) return nullptr;
    throw Error(ErrorCode::invalid_argument, "views need a picture; give image_field");
  }
  const size_t at = require_image(schema, options.image_field);
  const bool is_default = options.views.empty();
  if (!is_default && mixes(options.mixing)) {
    throw Error(ErrorCode::invalid_argument,
                "mixing works only in a loader without views; leave out mixing or the views");
  }
  if (mixes(options.mixing) && padding_of(options.image.transform) != nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "mixing would blend the padding of PadToLargest; leave out mixing or PadToLargest");
  }
  return std::make_shared<const ViewSet>(at, views_of_picture(options),
                                         boxes_of_views(schema, names, options), is_default);
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
      throw error_of(ErrorCode::invalid_argument,
                     "the batch's fields '{0}' and '{1}' are both random crops of the record's "
                     "field '{2}', so they would show the same crop; give `views` with two names "
                     "instead, or make '{1}' a PictureField that follows '{0}'",
                     same->name, field.name, schema.fields[picture->field()].name);
    }
    all.push_back({picture->field(), field.name});
  }
}

// The arrays of the view `view` that have its pixels.
std::vector<PaddedView::Array> arrays_of(const ViewSet& set, size_t view,
                                         const LoaderOptions& options, const BatchFields& made) {
  const auto array = [&](size_t field, Layout layout) {
    const size_t rank = made.fields[field].decoder->shape().size();
    return PaddedView::Array{field, rank - (layout == Layout::nchw ? 2 : 3)};
  };
  std::vector<PaddedView::Array> arrays = {array(view, set.views()[view].image.output.layout)};
  const size_t first = made.num_visible - options.view_fields.size();
  for (size_t i = 0; i < options.view_fields.size(); ++i) {
    const ViewField& field = options.view_fields[i];
    const auto follows = [&](const auto* what) {
      return what != nullptr && view_of(made.views, field.name, what->view) == view;
    };
    const auto* picture = std::get_if<PictureField>(&field.what);
    if (follows(picture)) arrays.push_back(array(first + i, picture->output.layout));
    if (const auto* masks = std::get_if<InstanceMasksField>(&field.what)) {
      const BoxesField& boxes = boxes_named(options, field.name, masks->boxes);
      if (!follows(&boxes)) continue;
      // Of ragged rows the array has all behind each other.
      const size_t rank = set.with_copies(view, {boxes.max_boxes}).size();
      arrays.push_back({first + i, boxes.layout == RowLayout::ragged ? size_t{0} : rank});
    }
    if (follows(std::get_if<MaskField>(&field.what)) ||
        follows(std::get_if<PixelMaskField>(&field.what))) {
      arrays.push_back(array(first + i, Layout::nchw));
    }
  }
  return arrays;
}

void add_padded_views(const ViewSetPtr& set, const LoaderOptions& options, BatchFields& made) {
  for (size_t view = 0; view < set->views().size(); ++view) {
    const PadToLargest* padding = padding_of(set->views()[view].image.transform);
    if (padding == nullptr) continue;
    made.padded.push_back({.view = view,
                           .sizes = made.fields.size(),
                           .canvas = padding->size,
                           .multiple = padding->multiple,
                           .arrays = arrays_of(*set, view, options, made)});
    made.fields.push_back(
        {fmt::format("\nsizes of {}", made.views[view]), decode_picture_size(set, view)});
  }
}

}  // namespace

BatchFields batch_fields(const Schema& schema, const LoaderOptions& options) {
  BatchFields made;
  std::vector<BatchField>& fields = made.fields;
  made.views = names_of_views(options);
  const ViewSetPtr set = make_views(schema, made.views, options);
  const std::vector<ClipPtr> clips = make_clips(schema, options);
  refuse_equal_pictures(schema, options);
  if (set != nullptr) {
    for (size_t i = 0; i < set->views().size(); ++i) {
      fields.push_back({made.views[i], decode_view(set, i)});
    }
    made.num_pictures = fields.size();
  }
  if (!options.label_field.empty()) {
    fields.push_back({options.label_field, decode_integer(schema, options.label_field)});
  }
  fields.insert(fields.end(), options.fields.begin(), options.fields.end());
  for (const ViewField& field : options.view_fields) {
    fields.push_back({field.name, decode_follower(schema, set, clips, made.views, options, field)});
  }
  made.num_visible = fields.size();
  if (made.views.empty()) return made;
  // Names that no user's field has: those are not empty.
  fields.push_back({"\nsource size",
                    set != nullptr ? decode_source_size(set) : decode_frame_size(clips.front())});
  const auto add_geometry = [&](const std::string& view,
                                std::shared_ptr<const FieldDecoder> decoder) {
    fields.push_back({fmt::format("\ngeometry of {}", view), std::move(decoder)});
  };
  for (size_t i = 0; set != nullptr && i < set->views().size(); ++i) {
    add_geometry(set->views()[i].name, decode_geometry(set, i));
  }
  for (const ClipPtr& clip : clips) add_geometry(clip->name(), decode_clip_geometry(clip));
  if (set != nullptr) add_padded_views(set, options, made);
  return made;
}

bool crops_without_flips(const Schema& schema, const LoaderOptions& options) {
  std::vector<const ImageTransform*> all;
  if (options.views.empty() && schema.index_of(options.image_field) >= 0) {
    all.push_back(&options.image.transform);
  }
  for (const View& view : options.views) all.push_back(&view.image.transform);
  for (const ViewField& field : options.view_fields) {
    const auto* frames = std::get_if<FramesField>(&field.what);
    if (frames != nullptr) all.push_back(&frames->image.transform);
  }
  for (const BatchField& field : options.fields) {
    const auto* picture = dynamic_cast<const ImageFieldDecoder*>(field.decoder.get());
    if (picture != nullptr) all.push_back(&picture->options().transform);
  }
  return std::ranges::any_of(
      all, [](const ImageTransform* transform) { return crops_without_flips(*transform); });
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
