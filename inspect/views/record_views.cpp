#include "views/record_views.h"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>

#include <ffkit/format/schema.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/image/random.h>
#include <ffkit/image/transform.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/loader_options.h>

#include "base/make_error.h"
#include "loader/fields/decoder_base.h"
#include "loader/views/view_decoders.h"

namespace ffkit {
namespace {

constexpr int64_t kMaxBoxesOfView = 10'000;

// What one field of the batch has of a record.
struct RecordArray {
  std::vector<std::byte> bytes;
  // Of a field with rows: of each copy; those of copy c begin at row c * max_rows.
  std::vector<int64_t> num_rows;
  int64_t max_rows = 0;

  template <typename T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// The arrays that a Loader makes of one record, without its threads, order and batch. Not
// thread-safe: one per thread. `fields` must outlive it.
class RecordArrays {
 public:
  explicit RecordArrays(const BatchFields& fields)
      : fields_(fields), arrays_(fields.fields.size()) {
    scratch_.reserve(fields.fields.size());
    for (const BatchField& field : fields.fields) scratch_.push_back(field.decoder->make_scratch());
    share_views(scratch_);
  }

  // Decodes all fields for the sample with this key. Throws what the decoders throw for a bad
  // sample.
  void decode(const RecordView& record, const SampleKey& key) {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const FieldDecoder& decoder = *fields_.fields[i].decoder;
      FieldDecoder::Scratch* const scratch = scratch_[i].get();
      if (scratch != nullptr) scratch->record_index = key.record_index;
      RecordArray& array = arrays_[i];
      const size_t bytes = array_bytes(decoder.dtype(), decoder.shape());
      const auto* rows = dynamic_cast<const RowListsDecoder*>(&decoder);
      if (rows == nullptr) {
        array.bytes.resize(bytes);
        decoder.decode(record, key, scratch, array.bytes.data());
        continue;
      }
      array.max_rows = rows->max_rows();
      array.num_rows.resize(static_cast<size_t>(rows->num_lists()));
      const size_t list_bytes = bytes * static_cast<size_t>(array.max_rows);
      array.bytes.resize(list_bytes * array.num_rows.size());
      for (size_t list = 0; list < array.num_rows.size(); ++list) {
        array.num_rows[list] = rows->decode_list(record, key, static_cast<int64_t>(list), scratch,
                                                 array.bytes.data() + list * list_bytes);
      }
    }
  }

  // Of the last decode(); they live until the next one. The array must be there.
  const RecordArray& of(std::string_view name) const {
    const auto found = std::ranges::find(fields_.fields, name, &BatchField::name);
    return arrays_[static_cast<size_t>(found - fields_.fields.begin())];
  }

  const RecordArray& geometry(size_t view) const { return arrays_[fields_.num_visible + 1 + view]; }

  // Height and width of each copy's picture, i64 [.., 2], of a view that ends with PadToLargest;
  // null of others.
  const RecordArray* unpadded_sizes(size_t view) const {
    const auto found = std::ranges::find(fields_.padded, view, &PaddedView::view);
    return found == fields_.padded.end() ? nullptr : &arrays_[found->sizes];
  }

 private:
  const BatchFields& fields_;
  std::vector<std::unique_ptr<FieldDecoder::Scratch>> scratch_;
  std::vector<RecordArray> arrays_;
};

// What records have beside their picture, as the loader has to be told.
struct ViewFollowers {
  bool have_boxes = false;
  bool have_labels = false;
  bool is_sure = false;    // told by a record that has a box, or whose set has none
  int64_t num_points = 0;  // of each box; 0: there are none
  MaskNumbers numbers = MaskNumbers::values;
};

ViewFollowers followers_of(const Schema& schema, const RecordView& record,
                           const std::string& mask_field) {
  ViewFollowers found{.is_sure = true};
  const auto is_float = [](DType dtype) { return dtype == DType::f32 || dtype == DType::f64; };
  if (const auto boxes = tensor_in(schema, record, "boxes"); boxes) {
    const bool is_number =
        is_float(boxes->dtype) || boxes->dtype == DType::i32 || boxes->dtype == DType::i64;
    found.have_boxes = is_number && boxes->shape.size() == 2 && boxes->shape[1] == 4;
    found.is_sure = found.have_boxes && boxes->shape[0] > 0;
  }
  if (const auto labels = tensor_in(schema, record, "labels"); labels && found.have_boxes) {
    found.have_labels = labels->dtype == DType::i64 && labels->shape.size() == 1;
  }
  if (const auto points = tensor_in(schema, record, "keypoints"); points && found.have_boxes) {
    const bool is_right = is_float(points->dtype) && points->shape.size() == 3;
    if (is_right) found.num_points = points->shape[1];
  }
  if (!mask_field.empty()) {
    const auto mask = record.bytes(schema.require(mask_field));
    if (read_image_info(mask).num_components == 3) found.numbers = MaskNumbers::panoptic;
  }
  return found;
}

ViewFollowers find_followers(const Dataset& dataset, const std::vector<int64_t>& records,
                             const std::string& mask_field) {
  std::vector<std::byte> bytes;
  std::optional<ViewFollowers> first;
  for (const int64_t index : records) {
    try {
      dataset.read(index, bytes);
      const RecordView record(dataset.schema(), bytes, dataset.name(index));
      const ViewFollowers found = followers_of(dataset.schema(), record, mask_field);
      if (found.is_sure) return found;
      if (!first) first = found;
    } catch (const Error&) {
      continue;  // it is drawn as a crossed box
    }
  }
  return first.value_or(ViewFollowers{});
}

// Refuses a crop that looks at boxes where there are none.
void check_crops(const Dataset& dataset, const ViewRequest& request,
                 const ViewFollowers& followers) {
  for (const View& view : request.wanted.views) {
    if (!needs_boxes(view.image.transform) || followers.have_boxes) continue;
    throw dataset_error(dataset.path(), ErrorCode::invalid_argument,
                        "has no field 'boxes' [n, 4], which RandomIoUCrop needs; leave it out");
  }
}

// Names of arrays that no view has.
std::string follower_name(std::string_view what, std::string_view view) {
  return fmt::format("\n{} of {}", what, view);
}

// `view`: its name for a loader; `array_of`: that of its pictures' array.
void add_boxes(std::vector<ViewField>& fields, const ViewFollowers& followers,
               const std::string& array_of, const std::string& view) {
  if (!followers.have_boxes) return;
  const std::string boxes = follower_name("boxes", array_of);
  fields.push_back({boxes, BoxesField{.view = view, .max_boxes = kMaxBoxesOfView}});
  if (followers.have_labels) {
    fields.push_back(
        {follower_name("labels", array_of), BoxRowsField{.field = "labels", .boxes = boxes}});
  }
  if (followers.num_points > 0) {
    fields.push_back(
        {follower_name("points", array_of),
         PointsField{
             .num_points = followers.num_points, .boxes = boxes, .counts = PointCount::edges}});
  }
}

// The arrays of all views, as a Loader makes them.
BatchFields fields_of_views(const Schema& schema, const ViewRequest& request,
                            const ViewFollowers& followers) {
  LoaderOptions options;  // without designators, for which GCC 14 has a false warning
  options.image_field = request.image_field;
  options.label_field.clear();
  const std::vector<View>& views = request.wanted.views;
  if (request.wanted.are_named) {
    options.views = views;
  } else {
    options.image = views.front().image;
  }
  for (const View& view : views) {
    const std::string name = request.wanted.are_named ? view.name : std::string();
    if (!request.mask_field.empty()) {
      options.view_fields.push_back(
          {follower_name("mask", view.name),
           MaskField{.field = request.mask_field,
                     .view = name,
                     .mask = {.dtype = DType::i32, .numbers = followers.numbers}}});
    }
    add_boxes(options.view_fields, followers, view.name, name);
  }
  return batch_fields(schema, options);
}

std::vector<uint8_t> pixels_of(const RecordArray& array, const ImageOutput& output, int64_t copy,
                               const ImageSize& size) {
  const auto count = static_cast<size_t>(3 * size.height * size.width);
  const size_t first = static_cast<size_t>(copy) * count;
  if (output.dtype == DType::u8) {
    const std::span<const uint8_t> values = array.values<uint8_t>().subspan(first, count);
    return {values.begin(), values.end()};
  }
  const std::span<const float> values = array.values<float>().subspan(first, count);
  std::vector<uint8_t> pixels(count);
  for (size_t i = 0; i < count; ++i) {
    const float value =
        output.normalize ? values[i] * output.std[i % 3] + output.mean[i % 3] : values[i];
    pixels[i] = static_cast<uint8_t>(std::lround(255 * std::clamp(value, 0.0F, 1.0F)));
  }
  return pixels;
}

// The picture at the top left of a canvas.
template <typename T>
void cut_canvas(std::vector<T>& values, ImageSize canvas, ImageSize picture, int64_t channels) {
  const auto row = static_cast<ptrdiff_t>(picture.width * channels);
  for (int64_t y = 0; y < picture.height; ++y) {
    const auto from = values.begin() + static_cast<ptrdiff_t>(y * canvas.width * channels);
    std::copy(from, from + row, values.begin() + static_cast<ptrdiff_t>(y) * row);
  }
  values.resize(static_cast<size_t>(picture.height * picture.width * channels));
}

void read_boxes_of_view(const RecordArrays& arrays, const ViewFollowers& followers,
                        RecordPicture& picture) {
  if (!followers.have_boxes) return;
  const std::string& view = picture.view->name;
  std::vector<RecordPicture::Box>& boxes = picture.boxes.emplace();
  const RecordArray& rows = arrays.of(follower_name("boxes", view));
  const auto copy = static_cast<size_t>(picture.copy);
  const size_t first = copy * static_cast<size_t>(rows.max_rows);
  const std::span<const float> edges = rows.values<float>().subspan(4 * first);
  boxes.resize(static_cast<size_t>(rows.num_rows[copy]));
  for (size_t i = 0; i < boxes.size(); ++i) {
    std::copy_n(edges.begin() + static_cast<ptrdiff_t>(4 * i), 4, boxes[i].edges.begin());
  }
  if (followers.have_labels) {
    const auto labels = arrays.of(follower_name("labels", view)).values<int64_t>().subspan(first);
    for (size_t i = 0; i < boxes.size(); ++i) boxes[i].label = labels[i];
  }
  if (followers.num_points == 0) return;
  const auto per_box = static_cast<size_t>(followers.num_points);
  const auto points =
      arrays.of(follower_name("points", view)).values<float>().subspan(3 * per_box * first);
  const size_t count = boxes.size() * per_box;
  for (size_t i = 0; i < count; ++i) {
    if (points[3 * i + 2] == 0) continue;
    picture.points.push_back(
        {.x = points[3 * i], .y = points[3 * i + 1], .visibility = points[3 * i + 2]});
  }
}

// Fills the picture from the record that was decoded last.
void read_picture(const RecordArrays& arrays, const ViewRequest& request,
                  const ViewFollowers& followers, RecordPicture& picture) {
  const View& view = *picture.view;
  const auto at = static_cast<size_t>(&view - request.wanted.views.data());
  const ImageSize size = image_size(view.image.transform);
  picture.pixels = pixels_of(arrays.of(view.name), view.image.output, picture.copy, size);
  if (!request.mask_field.empty()) {
    const auto count = static_cast<size_t>(size.height * size.width);
    const auto mask = arrays.of(follower_name("mask", view.name))
                          .values<int32_t>()
                          .subspan(static_cast<size_t>(picture.copy) * count, count);
    picture.mask.assign(mask.begin(), mask.end());
  }
  if (const RecordArray* sizes = arrays.unpadded_sizes(at); sizes != nullptr) {
    const auto pair = sizes->values<int64_t>().subspan(static_cast<size_t>(picture.copy) * 2, 2);
    picture.size = {pair[0], pair[1]};
    cut_canvas(picture.pixels, size, picture.size, 3);
    if (!request.mask_field.empty()) cut_canvas(picture.mask, size, picture.size, 1);
  }
  const auto geometry = arrays.geometry(at).values<double>();
  std::copy_n(geometry.begin() + static_cast<ptrdiff_t>(picture.copy) * 9, 9,
              picture.geometry.begin());
  read_boxes_of_view(arrays, followers, picture);
}

// Without what is decoded.
std::vector<RecordPicture> planned_pictures(const ViewRequest& request) {
  std::vector<RecordPicture> pictures;
  pictures.reserve(static_cast<size_t>(request.num_pictures()));
  for (int64_t epoch = 0; epoch < request.num_epochs; ++epoch) {
    for (const View& view : request.wanted.views) {
      for (int64_t copy = 0; copy < std::max<int64_t>(view.copies, 1); ++copy) {
        RecordPicture& picture = pictures.emplace_back();
        picture.view = &view;
        picture.copy = copy;
        picture.epoch = request.first_epoch + epoch;
        picture.size = image_size(view.image.transform);
      }
    }
  }
  return pictures;
}

}  // namespace

std::optional<TensorView> tensor_in(const Schema& schema, const RecordView& record,
                                    std::string_view field) {
  const int at = schema.index_of(field);
  if (at < 0 || schema.fields[static_cast<size_t>(at)].type != FieldType::tensor ||
      record.is_null(static_cast<size_t>(at))) {
    return std::nullopt;
  }
  return record.tensor(static_cast<size_t>(at));
}

int64_t ViewRequest::num_pictures() const {
  int64_t count = 0;
  for (const View& view : wanted.views) count += std::max<int64_t>(view.copies, 1);
  return num_epochs * count;
}

std::vector<std::vector<RecordPicture>> decode_views(const Dataset& dataset,
                                                     const std::vector<int64_t>& records,
                                                     const ViewRequest& request) {
  const ViewFollowers followers = find_followers(dataset, records, request.mask_field);
  check_crops(dataset, request, followers);
  const BatchFields fields = fields_of_views(dataset.schema(), request, followers);
  std::vector<std::vector<RecordPicture>> pictures(records.size(), planned_pictures(request));
  const auto per_epoch = static_cast<size_t>(request.num_pictures() / request.num_epochs);
  tbb::enumerable_thread_specific<RecordArrays> thread_arrays([&] { return RecordArrays(fields); });
  tbb::parallel_for(size_t{0}, records.size(), [&](size_t i) {
    const auto fail = [](std::span<RecordPicture> all, const Error& error) {
      for (RecordPicture& picture : all) picture.problem = error.text(OptionStyle::command_line);
    };
    std::vector<std::byte> bytes;
    try {
      dataset.read(records[i], bytes);
    } catch (const Error& error) {
      return fail(pictures[i], error);
    }
    const RecordView record(dataset.schema(), bytes, dataset.name(records[i]));
    for (size_t first = 0; first < pictures[i].size(); first += per_epoch) {
      const std::span<RecordPicture> of_epoch(&pictures[i][first], per_epoch);
      try {
        RecordArrays& arrays = thread_arrays.local();
        arrays.decode(record, {.seed = request.seed,
                               .epoch = of_epoch.front().epoch,
                               .record_index = dataset.index_in_split(records[i])});
        for (RecordPicture& picture : of_epoch) read_picture(arrays, request, followers, picture);
      } catch (const Error& error) {
        fail(of_epoch, error);
      }
    }
  });
  return pictures;
}

}  // namespace ffkit
