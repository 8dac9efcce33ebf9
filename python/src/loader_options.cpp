#include "loader_options.h"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "base/make_error.h"
#include "python_code.h"
#include "values.h"

namespace ffkit::python {
namespace {

BoxFormat get_format(nb::handle o, const char* name) {
  return get_name(o, name, from_name<BoxFormat>);
}

RowLayout get_rows(nb::handle o) {
  return get<bool>(o, "padded") ? RowLayout::padded : RowLayout::ragged;
}

PictureField picture_field(nb::handle o) {
  // Those of ImageOptions that are no geometry.
  const ImageOptions options = image_options_from_python(o.attr("options")());
  return {.field = get<std::string>(o, "field"),
          .view = get<std::string>(o, "view"),
          .augmentations = options.augmentations,
          .output = options.output};
}

MaskField mask_field(nb::handle o) {
  return {
      .field = get<std::string>(o, "field"),
      .view = get<std::string>(o, "view"),
      .mask = {
          .dtype = get_name(o, "dtype", from_name<DType>),
          .numbers = get_name(o, "numbers", from_name<MaskNumbers>),
          .fill = o.attr("fill").is_none() ? std::nullopt : std::optional(get<int64_t>(o, "fill")),
          .ids = cast_value<std::map<int64_t, int64_t>>(o.attr("table")(), "MaskField.ids")}};
}

BoxesField boxes_field(nb::handle o) {
  return {
      .field = get<std::string>(o, "field"),
      .view = get<std::string>(o, "view"),
      .stored = {.format = get_format(o, "stored"), .is_relative = get<bool>(o, "stored_relative")},
      .output = {.format = get_format(o, "format"), .is_relative = get<bool>(o, "relative")},
      .min_size = get<double>(o, "min_size"),
      .min_visible = get<double>(o, "min_visible"),
      .max_boxes = get<int64_t>(o, "max_boxes"),
      .layout = get_rows(o)};
}

BoxRowsField box_rows_field(nb::handle o) {
  return {.field = get<std::string>(o, "field"),
          .boxes = get<std::string>(o, "boxes"),
          .shape = get<std::vector<int64_t>>(o, "shape")};
}

PointsField points_field(nb::handle o) {
  return {.field = get<std::string>(o, "field"),
          .num_points = get<int64_t>(o, "num_points"),
          .boxes = get<std::string>(o, "boxes"),
          .mirrored = get<std::vector<std::pair<int64_t, int64_t>>>(o, "mirrored"),
          .counts = get_name(o, "counts", from_name<PointCount>)};
}

FramesField frames_field(nb::handle o) {
  return {.field = get<std::string>(o, "field"),
          .count = get<int64_t>(o, "count"),
          .stride = get<int64_t>(o, "stride"),
          .jitter = get<bool>(o, "jitter"),
          .if_short = get_name(o, "if_short", from_name<ShortVideo>),
          .image = image_options_from_python(o.attr("image"))};
}

}  // namespace

std::vector<View> views_from_python(nb::handle views) {
  std::vector<View> made;
  for (const nb::handle view : views) {
    made.push_back({.name = cast_value<std::string>(view[0], "the name of a view"),
                    .image = image_options_from_python(view[1]),
                    .copies = cast_value<int64_t>(view[2], "the copies of a view")});
  }
  return made;
}

// A ZerosWhereNull of an array that follows a view; nothing for another one.
static std::optional<ViewField> zeros_where_null(nb::handle zeros, const std::string& name) {
  std::optional<ViewField> made = view_field_from_python(zeros.attr("array"), name);
  if (!made) return made;
  std::visit(
      [&](auto& what) {
        if constexpr (requires { what.zeros_where_null; }) {
          const auto field = get<std::string>(zeros, "field");
          if (field != what.field) {
            throw error_of(ErrorCode::invalid_argument,
                           "ZerosWhereNull names the field '{}', and its array has the field '{}'; "
                           "give both the same",
                           field, what.field);
          }
          what.zeros_where_null = true;
        } else {
          throw error_of(ErrorCode::invalid_argument,
                         "{} has no field of the record that may be null; give it without "
                         "ZerosWhereNull",
                         class_of(zeros.attr("array")));
        }
      },
      made->what);
  return made;
}

std::optional<ViewField> view_field_from_python(nb::handle field, const std::string& name) {
  const std::string kind = class_of(field);
  if (kind == "PictureField") return ViewField{name, picture_field(field)};
  if (kind == "MaskField") return ViewField{name, mask_field(field)};
  if (kind == "PixelMaskField")
    return ViewField{name, PixelMaskField{get<std::string>(field, "view")}};
  if (kind == "BoxesField") return ViewField{name, boxes_field(field)};
  if (kind == "BoxRowsField") return ViewField{name, box_rows_field(field)};
  if (kind == "InstanceMasksField") {
    return ViewField{name, InstanceMasksField{.field = get<std::string>(field, "field"),
                                              .boxes = get<std::string>(field, "boxes")}};
  }
  if (kind == "PointsField") return ViewField{name, points_field(field)};
  if (kind == "FramesField") return ViewField{name, frames_field(field)};
  if (kind == "FrameNumbersField")
    return ViewField{name, FrameNumbersField{get<std::string>(field, "view")}};
  if (kind == "ZerosWhereNull") return zeros_where_null(field, name);
  return std::nullopt;
}

namespace {

template <typename T>
T option(const nb::dict& options, const char* name) {
  return cast_value<T>(options[name], name);
}

template <NamedEnum T>
T named(const nb::dict& options, const char* name) {
  return from_name<T>(option<std::string>(options, name));
}

template <typename T>
std::shared_ptr<const std::vector<T>> shared_numbers(const nb::dict& options, const char* name) {
  if (options[name].is_none()) return nullptr;
  return std::make_shared<const std::vector<T>>(option<std::vector<T>>(options, name));
}

// A list of weights, of which there are none for equal shares.
std::optional<Mixture> mixture_option(const nb::dict& options) {
  if (options["mixture"].is_none()) return std::nullopt;
  return Mixture{.weights = option<std::vector<double>>(options, "mixture")};
}

SamplerOptions sampler_options(const nb::dict& options) {
  return {.order = named<Order>(options, "order"),
          .tail = named<Tail>(options, "tail"),
          .seed = option<uint64_t>(options, "seed"),
          .rank = option<int>(options, "rank"),
          .world_size = option<int>(options, "world_size"),
          .epoch_size = option<int64_t>(options, "epoch_size"),
          .windows = {.window_block = option<int64_t>(options, "window_block"),
                      .window_blocks = option<int64_t>(options, "window_blocks"),
                      .window_block_bytes = option<int64_t>(options, "window_block_bytes"),
                      .num_streams = option<int64_t>(options, "num_streams")},
          .weights = shared_numbers<double>(options, "weights"),
          .groups = shared_numbers<int64_t>(options, "groups"),
          .buckets = shared_numbers<int64_t>(options, "buckets"),
          .mixture = mixture_option(options),
          .share_randomness = option<bool>(options, "share_randomness")};
}

IoOptions io_options(const nb::dict& options) {
  return {.engine = named<IoEngine>(options, "engine"),
          .direct = named<DirectIo>(options, "direct"),
          .queue_depth = option<int>(options, "queue_depth"),
          .max_bytes_in_flight = option<int64_t>(options, "max_bytes_in_flight"),
          .num_retries = option<int>(options, "num_retries"),
          .read_timeout_s = option<double>(options, "read_timeout_s"),
          .sqpoll = option<bool>(options, "sqpoll"),
          .decoders_read_cache = option<bool>(options, "decoders_read_cache"),
          .verify_checksums = option<bool>(options, "verify_checksums"),
          .read_ahead_epochs = option<bool>(options, "read_ahead_epochs")};
}

std::shared_ptr<const FieldDecoder> decoder_from_python(const Schema& schema, nb::handle spec,
                                                        const std::string& batch_field) {
  if (nb::isinstance<DecoderHandle>(spec)) return nb::cast<DecoderHandle&>(spec).decoder;
  const std::string name = class_of(spec);
  if (name == "ImageField") {
    return decode_image(schema, get<std::string>(spec, "field"),
                        image_options_from_python(spec.attr("image")));
  }
  if (name == "ImagesField") {
    return decode_images(schema, get<std::vector<std::string>>(spec, "fields"),
                         image_options_from_python(spec.attr("image")));
  }
  if (name == "IntegerField") return decode_integer(schema, get<std::string>(spec, "field"));
  if (name == "CopyField") {
    return copy_field(schema, get<std::string>(spec, "field"),
                      get<std::vector<int64_t>>(spec, "shape"));
  }
  if (name == "TextField") {
    return copy_string(schema, get<std::string>(spec, "field"), get<int64_t>(spec, "max_bytes"));
  }
  if (name == "ValidField") return decode_valid(schema, get<std::string>(spec, "field"));
  if (name == "ZerosWhereNull") {
    return zeros_where_null(schema, get<std::string>(spec, "field"),
                            decoder_from_python(schema, spec.attr("array"), batch_field));
  }
  if (name == "PythonField") return make_python_decoder(schema, spec, batch_field);
  throw type_error_of(
      "{} is not a field of a batch; expected ImageField, ImagesField, PictureField, MaskField, "
      "PixelMaskField, BoxesField, BoxRowsField, PointsField, InstanceMasksField, FramesField, "
      "FrameNumbersField, IntegerField, CopyField, TextField, ValidField, ZerosWhereNull, "
      "PythonField or a decoder",
      repr_of(spec));
}

}  // namespace

LoaderOptions loader_options_from_python(const Dataset& dataset, const nb::dict& options) {
  LoaderOptions made{.batch_size = option<int64_t>(options, "batch_size"),
                     .sampler = sampler_options(options),
                     .image_field = option<std::string>(options, "image_field"),
                     .image = image_options_from_python(options["image"]),
                     .label_field = option<std::string>(options, "label_field"),
                     .views = views_from_python(options["views"]),
                     .mixing = {.mixup_alpha = option<double>(options, "mixup_alpha"),
                                .cutmix_alpha = option<double>(options, "cutmix_alpha")},
                     .num_threads = option<int>(options, "num_threads"),
                     .memory = {.prefetch_batches = option<int>(options, "prefetch_batches"),
                                .held_batches = option<int>(options, "held_batches")},
                     .bad_samples = named<BadSamples>(options, "bad_samples"),
                     .io = io_options(options)};
  for (const auto& [name, spec] : nb::cast<nb::dict>(options["fields"])) {
    const auto field = cast_value<std::string>(name, "the name of a field");
    if (std::optional<ViewField> of_view = view_field_from_python(spec, field)) {
      made.view_fields.push_back(std::move(*of_view));
      continue;
    }
    made.fields.push_back({field, decoder_from_python(dataset.schema(), spec, field)});
  }
  const nb::object allocate = options["allocate"];
  if (!allocate.is_none()) made.memory.allocator = make_python_allocator(allocate);
  return made;
}

}  // namespace ffkit::python
