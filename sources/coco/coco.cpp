#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include <ffkit/base/option_names.h>
#include <ffkit/sources/coco.h>

#include "base/fnv.h"
#include "base/make_error.h"
#include "coco/coco_file.h"
#include "coco/coco_listing.h"
#include "coco/coco_masks.h"
#include "converter/input/listed_source.h"
#include "converter/input/sample_arrays.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "pictures/image_sample.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

struct CocoSplit {
  CocoListing from;
  CocoFile file;
  InputFile annotations;            // again, for segmentations
  std::vector<FileStamp> stamps;    // of the pictures' files; -1 bytes: there is no such file
  std::vector<FileStamp> panoptic;  // of the panoptic PNGs, where they are wanted
  uint32_t crc32c = 0;              // of the annotation file
  std::unordered_map<int64_t, int64_t> labels;  // by the file's category_ids
};

// A field of one id, or of several of them.
Field id_field(const char* name, const CocoIds& ids, bool is_one) {
  if (ids.is_text()) return {name, FieldType::string, DType::u8, is_one};
  if (is_one) return {name, FieldType::scalar, DType::i64, true};
  return {name, FieldType::tensor, DType::i64};
}

class Coco : public ListedSource {
 public:
  Coco(const fs::path& path, const CocoOptions& options)
      : path_(path),
        is_panoptic_(!options.panoptic.empty()),
        has_segmentation_(options.segmentation),
        mask_kinds_{.semantic = options.semantic_masks,
                    .instances = options.instance_masks,
                    .runs = options.mask_runs},
        storer_(as_they_are(options.store)) {
    for (CocoListing& found : list_coco(path, options, notes_))
      add_split(std::move(found), options);
    make_schema();
  }

  std::map<std::string, std::string> facts(size_t split) const override {
    const CocoListing& from = splits_.at(split).from;
    return {{"kind", "coco"},
            {"path", absolute_name(path_)},
            {"annotations", absolute_name(from.annotations)},
            {"images", absolute_name(from.images)}};
  }

  std::map<std::string, std::string> options() const override {
    return manifest_options(storer_.storage());
  }

  bool checks_headers_only() const override { return storer_.checks_headers_only(); }
  std::vector<fs::path> roots() const override {
    std::vector<fs::path> roots = {path_};
    for (const CocoSplit& split : splits_) roots.push_back(split.from.images);
    return roots;
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    const CocoSplit& from = splits_.at(split);
    const size_t number = picture_number(split, index);
    return from.stamps.at(number).num_bytes +
           (is_panoptic_ ? from.panoptic.at(number).num_bytes : 0);
  }

  SampleIdentity identity(size_t split, int64_t index) const override {
    const CocoSplit& from = splits_.at(split);
    const size_t number = picture_number(split, index);
    SampleIdentity identity{.name = from.file.pictures[number].file_name,
                            .num_bytes = from.stamps[number].num_bytes,
                            .modified = static_cast<uint64_t>(from.stamps[number].modified_ns)};
    if (!is_panoptic_) return identity;
    const FileStamp& panoptic = from.panoptic[number];
    identity.num_bytes += panoptic.num_bytes;
    identity.modified =
        fnv1a64(std::as_bytes(std::span(&panoptic.modified_ns, 1)), identity.modified);
    return identity;
  }

  std::optional<std::string> listed_id(size_t split, int64_t index) const override {
    return splits_.at(split).file.pictures[picture_number(split, index)].file_name;
  }

  std::vector<SourceInput> inputs(size_t split) const override {
    const CocoSplit& from = splits_.at(split);
    return {{.name = from.from.annotations.filename().string(),
             .num_bytes = from.annotations.size(),
             .crc32c = from.crc32c}};
  }

  void will_read(size_t split, int64_t index) const override {
    const CocoSplit& from = splits_.at(split);
    const size_t number = picture_number(split, index);
    announce_range(describe(split, index), 0, from.stamps[number].num_bytes);
    if (!is_panoptic_) return;
    announce_range(from.from.panoptic / from.file.panoptic_names[number], 0,
                   from.panoptic[number].num_bytes);
  }

  std::string describe(size_t split, int64_t index) const override {
    const CocoSplit& from = splits_.at(split);
    return (from.from.images / from.file.pictures[picture_number(split, index)].file_name).string();
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    const CocoSplit& from = splits_.at(split);
    const size_t number = picture_number(split, index);
    const CocoPicture& picture = from.file.pictures[number];
    const PixelSize own =
        set_picture(record, buffers, picture, describe(split, index), from.stamps[number]);
    if (from.file.picture_ids.is_text()) {
      record.set_string(kPictureId, buffers.text(from.file.picture_ids.text(picture.id)));
    } else {
      record.set_scalar(kPictureId, picture.id);
    }
    const bool has_size = picture.width >= 0 && picture.height >= 0;
    record.set_scalar(kWidth, has_size ? picture.width : own.width);
    record.set_scalar(kHeight, has_size ? picture.height : own.height);
    set_annotations(record, buffers, from.file, from.file.annotations_of(number));
    size_t field = kIsCrowd + 1;
    if (is_panoptic_) {
      const std::string& name = from.file.panoptic_names[number];
      record.set_bytes(field++, read_mask_file(from.from.panoptic / name, from.panoptic[number],
                                               MaskNumbers::panoptic, own, describe(split, index),
                                               "panoptic", buffers));
    }
    if (has_labels_) set_labels(record, buffers, from, number, field++);
    if (has_category_ids_) {
      set_ids(record, buffers, from.file.category_ids, from.file.annotations.category_id,
              from.file.annotations_of(number), field++);
    }
    if (has_segmentation_) {
      record.set_string(field++,
                        buffers.text(segmentation_json(from.annotations, from.file, number)));
    }
    if (mask_kinds_.any()) {
      set_masks(record, buffers, from, number, own, field);
      field +=
          size_t{mask_kinds_.semantic} + size_t{mask_kinds_.instances} + size_t{mask_kinds_.runs};
    }
    set_arrays(record, buffers, from.file, number, field);
    record.set_string(schema_.fields.size() - 1, picture.file_name);
  }

 private:
  // The fields that there always are; make_schema().
  enum : size_t { kImage, kPictureId, kWidth, kHeight, kBoxes, kAnnotationIds, kIsCrowd };

  size_t picture_number(size_t split, int64_t index) const {
    return taken_.at(split).at(static_cast<size_t>(index));
  }

  void add_split(CocoListing from, const CocoOptions& options) {
    InputFile annotations(from.annotations);
    const uint32_t crc = crc32c_of(annotations);
    const bool is_panoptic = !from.panoptic.empty();
    CocoFile file = read_coco_file(annotations, options.allow_missing, is_panoptic);
    notes_.insert(notes_.end(), file.notes.begin(), file.notes.end());
    require_safe_names(file, from.annotations);
    std::vector<FileStamp> stamps = look_at_pictures(from.images, file.pictures);
    std::vector<FileStamp> panoptic;
    if (is_panoptic) panoptic = look_at_files(from.panoptic, file.panoptic_names);
    SourceSplit info{.name = from.split, .is_training = from.split.starts_with("train")};
    std::vector<size_t> taken =
        pictures_that_are_there({from.images, from.annotations, from.panoptic}, file, stamps,
                                panoptic, options.allow_missing, notes_);
    for (const size_t i : taken) {
      info.num_bytes += stamps[i].num_bytes + (is_panoptic ? panoptic[i].num_bytes : 0);
    }
    std::map<ClassId, std::string> categories;
    for (const auto& [id, name] : file.categories) {
      categories.emplace(class_id(file.category_ids, id), name);
    }
    if (splits_.empty()) {
      categories_ = std::move(categories);
    } else if (categories != categories_) {
      throw source_error(from.annotations, ErrorCode::invalid_argument,
                         "has other categories than '{}'; convert them apart, by {}",
                         splits_.front().from.annotations.string(), option_name("annotations"));
    }
    require_same_ids(file, from.annotations);
    if (mask_kinds_.semantic && require_ids_for_masks(file, from.annotations)) {
      mask_kinds_.is_wide = true;
    }
    const auto is_bare = [&file](size_t i) { return file.annotations_of(i).empty(); };
    const auto num_bare = std::ranges::count_if(taken, is_bare);
    if (num_bare > 0) {
      notes_.push_back(
          fmt::format("{}: {} of {} pictures have no annotation and are taken with none",
                      from.annotations.string(), num_bare, taken.size()));
    }
    info.num_samples = std::ssize(taken);
    infos_.push_back(std::move(info));
    taken_.push_back(std::move(taken));
    splits_.push_back({std::move(from), std::move(file), std::move(annotations), std::move(stamps),
                       std::move(panoptic), crc});
  }

  static ClassId class_id(const CocoIds& ids, int64_t number) {
    if (ids.is_text()) return ids.text(number);
    return number;
  }

  // Ids are numbers in all splits, or texts.
  void require_same_ids(const CocoFile& file, const fs::path& annotations) const {
    if (splits_.empty()) return;
    const CocoSplit& first = splits_.front();
    for (const auto& [ids, of] : {std::pair{&CocoFile::picture_ids, "pictures"},
                                  {&CocoFile::annotation_ids, "annotations"},
                                  {&CocoFile::category_ids, "categories"}}) {
      if ((file.*ids).is_text() == (first.file.*ids).is_text()) continue;
      if ((file.*ids).is_empty() || (first.file.*ids).is_empty()) continue;
      throw source_error(annotations, ErrorCode::invalid_argument,
                         "has other ids of {} than '{}', numbers in one and texts in the other; "
                         "write both alike, or convert them apart, by {}",
                         of, first.from.annotations.string(), option_name("annotations"));
    }
  }

  void make_schema() {
    schema_.fields = {{"image", FieldType::image},
                      id_field("image_id", any_ids(&CocoFile::picture_ids), true),
                      {"width", FieldType::scalar, DType::i64, true},
                      {"height", FieldType::scalar, DType::i64, true},
                      {"boxes", FieldType::tensor, DType::f32},
                      id_field(is_panoptic_ ? "segment_ids" : "annotation_ids",
                               any_ids(&CocoFile::annotation_ids), false),
                      {"iscrowd", FieldType::tensor, DType::u8}};
    if (is_panoptic_) schema_.fields.push_back({"panoptic", FieldType::image});
    has_category_ids_ = std::ranges::all_of(splits_,
                                            [](const CocoSplit& split) {
                                              return split.file.annotations.size() == 0 ||
                                                     !split.file.annotations.category_id.empty();
                                            }) &&
                        std::ranges::any_of(splits_, [](const CocoSplit& split) {
                          return split.file.has_categories || split.file.annotations.size() > 0;
                        });
    has_labels_ = has_category_ids_ && !categories_.empty();
    if (has_labels_) {
      schema_.fields.push_back({"labels", FieldType::tensor, DType::i64});
      for (const auto& [id, name] : categories_) {
        class_ids_.push_back(id);
        classes_.push_back(name);
      }
    }
    if (has_category_ids_) {
      schema_.fields.push_back(id_field("category_ids", any_ids(&CocoFile::category_ids), false));
    }
    for (CocoSplit& split : splits_) {
      for (const auto& [number, name] : split.file.categories) {
        const auto found =
            std::ranges::lower_bound(class_ids_, class_id(split.file.category_ids, number));
        split.labels[number] = found - class_ids_.begin();
      }
    }
    if (has_segmentation_) schema_.fields.push_back({"segmentation", FieldType::string});
    if (mask_kinds_.semantic) schema_.fields.push_back({"semantic", FieldType::image});
    if (mask_kinds_.instances) schema_.fields.push_back({"instances", FieldType::image});
    if (mask_kinds_.runs) {
      schema_.fields.push_back(
          {"masks", FieldType::list, DType::u32, /*column=*/false, FieldType::tensor});
    }
    add_array([](const CocoFile& file) -> const CocoNumbers& { return file.annotations.area; });
    add_array(
        [](const CocoFile& file) -> const CocoNumbers& { return file.annotations.num_keypoints; });
    for (size_t i = 0; i < CocoAnnotations{}.arrays.size(); ++i) {
      add_array(
          [i](const CocoFile& file) -> const CocoNumbers& { return file.annotations.arrays[i]; });
    }
    for (size_t i = 0; i < CocoFile{}.picture_arrays.size(); ++i) {
      add_array([i](const CocoFile& file) -> const CocoNumbers& { return file.picture_arrays[i]; },
                false);
    }
    schema_.fields.push_back({"id", FieldType::string, DType::u8, true});
  }

  // Of a split that has any.
  const CocoIds& any_ids(CocoIds CocoFile::*of) const {
    for (const CocoSplit& split : splits_) {
      if (!(split.file.*of).is_empty()) return split.file.*of;
    }
    return splits_.front().file.*of;
  }

  // A field for the numbers that `of` gives, when all elements of all splits have them.
  void add_array(std::function<const CocoNumbers&(const CocoFile&)> of,
                 bool of_annotations = true) {
    size_t num_elements = 0;
    size_t count = 0;
    const CocoNumbers* shown = nullptr;  // the first that has a shape
    bool is_uneven = false;
    for (const CocoSplit& split : splits_) {
      const CocoNumbers& numbers = of(split.file);
      num_elements += of_annotations ? split.file.annotations.size() : split.file.pictures.size();
      count += numbers.count;
      if (numbers.count == 0) continue;
      if (shown == nullptr) shown = &numbers;
      is_uneven = is_uneven || numbers.is_uneven || shown->shape != numbers.shape;
    }
    if (count == 0) return;
    const std::string name = shown->name;
    if (is_uneven || count < num_elements) {
      notes_.push_back(
          fmt::format("{}: '{}' is left out: {}", path_.string(), name,
                      is_uneven ? "its arrays are of different shapes"
                                : fmt::format("only {} of {} {} have it", count, num_elements,
                                              of_annotations ? "annotations" : "pictures")));
      return;
    }
    std::vector<int64_t> shape = shown->shape;
    // COCO's flat x, y, v, x, y, v, ...
    if (name == "keypoints" && shape.size() == 1 && shape[0] % 3 == 0) shape = {shape[0] / 3, 3};
    schema_.fields.push_back(
        {name, FieldType::tensor, name == "num_keypoints" ? DType::i64 : DType::f32});
    arrays_.push_back({std::move(of), std::move(shape), shown->stride(), of_annotations});
  }

  // Gives the size that the picture has.
  PixelSize set_picture(RecordBuilder& record, SampleBuffers& buffers, const CocoPicture& picture,
                        const std::string& origin, const FileStamp& listed) const {
    const std::span<const std::byte> bytes = read_listed_file(origin, listed, buffers);
    const ImageStorer::Stored stored = of_sample(origin, [&] {
      const ImageStorer::Stored made = storer_.store(bytes, picture.file_name, buffers);
      const auto [width, height] = made.size;
      const bool has_size = picture.width >= 0 && picture.height >= 0;
      if (has_size && (width != picture.width || height != picture.height)) {
        buffers.report({fmt::format("is {} x {} pixels, but {} x {} by its annotations", width,
                                    height, picture.width, picture.height),
                        "taken as it is; its boxes may not fit"});
      }
      return made;
    });
    record.set_bytes(kImage, stored.bytes);
    return stored.size;
  }

  // Numbers, or a JSON list of texts.
  void set_ids(RecordBuilder& record, SampleBuffers& buffers, const CocoIds& ids,
               const std::vector<int64_t>& all, std::span<const size_t> chosen,
               size_t field) const {
    if (schema_.fields[field].type == FieldType::string) {
      std::string text = "[";
      for (const size_t i : chosen) text += (text.size() > 1 ? "," : "") + ids.json(all[i]);
      record.set_string(field, buffers.text(text + "]"));
      return;
    }
    const auto out = new_array<int64_t>(buffers, chosen.size());
    std::ranges::transform(chosen, out.begin(), [&all](size_t i) { return all[i]; });
    record.set_tensor(field, {DType::i64, {std::ssize(chosen)}, std::as_bytes(out)});
  }

  void set_annotations(RecordBuilder& record, SampleBuffers& buffers, const CocoFile& file,
                       std::span<const size_t> chosen) const {
    const CocoAnnotations& all = file.annotations;
    const auto n = std::ssize(chosen);
    const auto boxes = new_array<float>(buffers, 4 * chosen.size());
    const auto crowds = new_array<uint8_t>(buffers, chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i) {
      std::copy_n(&all.box[4 * chosen[i]], 4, &boxes[4 * i]);
      crowds[i] = all.is_crowd[chosen[i]];
    }
    record.set_tensor(kBoxes, {DType::f32, {n, 4}, std::as_bytes(boxes)});
    set_ids(record, buffers, file.annotation_ids, all.id, chosen, kAnnotationIds);
    record.set_tensor(kIsCrowd, {DType::u8, {n}, std::as_bytes(crowds)});
  }

  static void set_labels(RecordBuilder& record, SampleBuffers& buffers, const CocoSplit& from,
                         size_t picture, size_t field) {
    const auto chosen = from.file.annotations_of(picture);
    const auto labels = new_array<int64_t>(buffers, chosen.size());
    std::ranges::transform(chosen, labels.begin(), [&](size_t i) {
      return from.labels.at(from.file.annotations.category_id[i]);
    });
    record.set_tensor(field, {DType::i64, {std::ssize(labels)}, std::as_bytes(labels)});
  }

  // Of pictures as they are: a mask is as large as its picture.
  void set_masks(RecordBuilder& record, SampleBuffers& buffers, const CocoSplit& from,
                 size_t number, PixelSize own, size_t field) const {
    const CocoPicture& picture = from.file.pictures[number];
    const bool has_size = picture.width >= 0 && picture.height >= 0;
    if (own == PixelSize{}) return;  // a broken picture that is kept: no masks
    if (has_size &&
        own != PixelSize{static_cast<int>(picture.width), static_cast<int>(picture.height)}) {
      throw error_at(from.from.images / picture.file_name, ErrorCode::invalid_argument,
                     "is {} x {} pixels, but {} x {} by its annotations, so its masks do not fit",
                     own.width, own.height, picture.width, picture.height)
          .with_remedy("correct that, or leave such pictures out with " +
                       option_set("on_error", "skip"));
    }
    CocoMasks masks = paint_coco_masks(from.annotations, from.file, number, own, mask_kinds_);
    for (auto* mask : {&masks.semantic, &masks.instances}) {
      if (mask->empty()) continue;
      std::vector<std::byte>& bytes = buffers.array();
      bytes = std::move(*mask);
      record.set_bytes(field++, bytes);
    }
    if (mask_kinds_.runs) {
      std::vector<TensorView> tensors;
      tensors.reserve(masks.runs.size());
      for (const std::vector<uint32_t>& runs : masks.runs) {
        tensors.push_back({.dtype = DType::u32,
                           .shape = {std::ssize(runs) / 2, 2},
                           .data = std::as_bytes(std::span(runs))});
      }
      record.set_list(field, tensors);
    }
    if (masks.num_without == 0) return;
    buffers.report({fmt::format("{} of its {} annotations have no segmentation", masks.num_without,
                                from.file.annotations_of(number).size()),
                    "not in its masks"});
  }

  void set_arrays(RecordBuilder& record, SampleBuffers& buffers, const CocoFile& file,
                  size_t picture, size_t field) const {
    const auto chosen = file.annotations_of(picture);
    for (const Array& array : arrays_) {
      const CocoNumbers& from = array.of(file);
      const std::span<const size_t> elements =
          array.of_annotations ? chosen : std::span<const size_t>(&picture, 1);
      std::vector<int64_t> shape = array.shape;
      if (array.of_annotations) shape.insert(shape.begin(), std::ssize(chosen));
      const bool is_integer = schema_.fields[field].dtype == DType::i64;
      const size_t count = elements.size() * array.stride;
      const auto floats = new_array<float>(buffers, count);
      for (size_t i = 0; i < elements.size(); ++i) {
        std::copy_n(&from.values[elements[i] * array.stride], array.stride,
                    &floats[i * array.stride]);
      }
      if (is_integer) {
        const auto integers = new_array<int64_t>(buffers, count);
        std::ranges::transform(floats, integers.begin(),
                               [](float value) { return static_cast<int64_t>(value); });
        record.set_tensor(field++, {DType::i64, shape, std::as_bytes(integers)});
      } else {
        record.set_tensor(field++, {DType::f32, shape, std::as_bytes(floats)});
      }
    }
  }

  struct Array {
    std::function<const CocoNumbers&(const CocoFile&)> of;
    std::vector<int64_t> shape;  // of one element
    size_t stride = 0;
    bool of_annotations = true;
  };

  const fs::path path_;
  const bool is_panoptic_;
  const bool has_segmentation_;
  CocoMaskKinds mask_kinds_;
  const ImageStorer storer_;
  bool has_labels_ = false;
  bool has_category_ids_ = false;
  std::vector<CocoSplit> splits_;
  std::vector<std::vector<size_t>> taken_;  // the pictures of each split that are there
  std::map<ClassId, std::string> categories_;
  std::vector<Array> arrays_;
};

}  // namespace

std::unique_ptr<Source> open_coco(const fs::path& path, const CocoOptions& options) {
  const PlacesListed listed;
  return std::make_unique<Coco>(Place(path).path(), options);
}

}  // namespace ffkit
