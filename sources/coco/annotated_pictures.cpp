#include "coco/annotated_pictures.h"

#include <algorithm>
#include <functional>
#include <map>

#include <nlohmann/json.hpp>

#include <ffkit/base/option_names.h>

#include "base/fnv.h"
#include "converter/input/listed_source.h"
#include "converter/input/sample_arrays.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "pictures/image_sample.h"

namespace ffkit {
namespace {

bool has_size(const CocoPicture& picture) {
  return picture.width >= 0 && picture.height >= 0;
}

// A field of one id, or of several of them.
Field id_field(const char* name, const CocoIds& ids, bool is_one) {
  if (ids.is_text()) return {name, FieldType::string, DType::u8, is_one};
  if (is_one) return {name, FieldType::scalar, DType::i64, true};
  return {name, FieldType::tensor, DType::i64};
}

class AnnotatedPictures : public ListedPictures {
 public:
  explicit AnnotatedPictures(AnnotatedSet set) : ListedPictures(set.storage), set_(std::move(set)) {
    notes_ = std::move(set_.notes);
    for (AnnotatedSplit& split : set_.splits) add_split(std::move(split));
    make_schema();
  }

  std::map<std::string, std::string> facts(size_t split) const override {
    const CocoListing& from = splits_.at(split).from;
    return {{"kind", set_.kind},
            {"path", absolute_name(set_.path)},
            {"annotations", absolute_name(from.annotations)},
            {"images", absolute_name(from.images)}};
  }

  std::vector<fs::path> roots() const override {
    std::vector<fs::path> roots = {set_.path};
    for (const AnnotatedSplit& split : splits_) roots.push_back(split.from.images);
    return roots;
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return num_bytes_of(splits_.at(split), picture_number(split, index));
  }

  SampleIdentity identity(size_t split, int64_t index) const override {
    const AnnotatedSplit& from = splits_.at(split);
    const size_t number = picture_number(split, index);
    SampleIdentity identity{.name = from.file.pictures[number].file_name,
                            .num_bytes = num_bytes_of(from, number),
                            .modified = static_cast<uint64_t>(from.stamps[number].modified_ns)};
    for_each_beside(from, number, [&](const FileBeside& file) {
      identity.modified =
          fnv1a64(std::as_bytes(std::span(&file.stamp.modified_ns, 1)), identity.modified);
    });
    return identity;
  }

  std::optional<std::string> listed_id(size_t split, int64_t index) const override {
    return splits_.at(split).file.pictures[picture_number(split, index)].file_name;
  }

  std::vector<SourceInput> inputs(size_t split) const override { return splits_.at(split).inputs; }

  void will_read(size_t split, int64_t index) const override {
    const AnnotatedSplit& from = splits_.at(split);
    const size_t number = picture_number(split, index);
    announce_range(describe(split, index), 0, from.stamps[number].num_bytes);
    for_each_beside(from, number, [](const FileBeside& file) {
      announce_range(file.path, 0, file.stamp.num_bytes);
    });
  }

  std::string describe(size_t split, int64_t index) const override {
    const AnnotatedSplit& from = splits_.at(split);
    return (from.from.images / from.file.pictures[picture_number(split, index)].file_name).string();
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    const AnnotatedSplit& from = splits_.at(split);
    const size_t number = picture_number(split, index);
    const CocoPicture& picture = from.file.pictures[number];
    const PixelSize own =
        set_picture(record, buffers, picture, describe(split, index), from.stamps[number]);
    if (from.file.picture_ids.is_text()) {
      record.set_string(kPictureId, buffers.text(from.file.picture_ids.text(picture.id)));
    } else {
      record.set_scalar(kPictureId, picture.id);
    }
    record.set_scalar(kWidth, has_size(picture) ? picture.width : own.width);
    record.set_scalar(kHeight, has_size(picture) ? picture.height : own.height);
    if (from.labels == nullptr) {
      from.file.say_left_out(number, buffers);
      set_annotated(record, buffers, from, number, from.file, number, own);
    } else {
      const CocoFile file = from.labels->read(number, from.beside[number].front(), own, buffers);
      set_annotated(record, buffers, from, number, file, 0, own);
    }
    record.set_string(schema_.fields.size() - 1, picture.file_name);
  }

 private:
  // The fields that there always are; make_schema().
  enum : size_t { kImage, kPictureId, kWidth, kHeight, kBoxes, kAnnotationIds, kIsCrowd };

  size_t picture_number(size_t split, int64_t index) const {
    return splits_.at(split).taken.at(static_cast<size_t>(index));
  }

  template <typename Body>
  static void for_each_beside(const AnnotatedSplit& from, size_t number, const Body& body) {
    if (from.beside.empty()) return;
    for (const FileBeside& file : from.beside[number]) {
      if (file.stamp.num_bytes >= 0) body(file);
    }
  }

  static int64_t num_bytes_of(const AnnotatedSplit& from, size_t number) {
    int64_t sum = from.stamps[number].num_bytes;
    for_each_beside(from, number, [&](const FileBeside& file) { sum += file.stamp.num_bytes; });
    return sum;
  }

  // The annotations of picture `at` of `file`, which are those of picture `number` of `from`.
  void set_annotated(RecordBuilder& record, SampleBuffers& buffers, const AnnotatedSplit& from,
                     size_t number, const CocoFile& file, size_t at, PixelSize own) const {
    const auto chosen = file.annotations_of(at);
    set_annotations(record, buffers, file, chosen);
    const std::string picture = (from.from.images / from.file.pictures[number].file_name).string();
    size_t field = kIsCrowd + 1;
    if (set_.is_panoptic) {
      const FileBeside& panoptic = from.beside[number].front();
      record.set_bytes(field++, read_mask_file(panoptic.path, panoptic.stamp, MaskNumbers::panoptic,
                                               own, picture, "panoptic", buffers));
    }
    if (has_labels_) {
      const auto labels = new_array<int64_t>(buffers, chosen.size());
      std::ranges::transform(chosen, labels.begin(), [&](size_t i) {
        return from.label_of.at(file.annotations.category_id[i]);
      });
      record.set_tensor(field++, {DType::i64, {std::ssize(labels)}, std::as_bytes(labels)});
    }
    if (has_category_ids_) {
      set_ids(record, buffers, file.category_ids, file.annotations.category_id, chosen, field++);
    }
    if (set_.has_segmentation) {
      record.set_string(field++, buffers.text(segmentation_json(from.annotations.get(), file, at)));
    }
    if (set_.masks.any()) {
      if (set_.has_mask_files) {
        set_mask_files(record, buffers, from.beside[number], own, picture, field);
      } else {
        set_masks(record, buffers, from, number, file, at, own, field);
      }
      field += size_t{set_.masks.semantic} + size_t{set_.masks.instances} + size_t{set_.masks.runs};
    }
    set_arrays(record, buffers, file, at, field);
    if (set_.has_poses) {
      nlohmann::json poses = nlohmann::json::array();
      for (const size_t i : chosen) poses.push_back(file.annotations.pose[i]);
      record.set_string(schema_.fields.size() - 2, buffers.text(poses.dump()));
    }
  }

  void add_split(AnnotatedSplit split) {
    const CocoFile& file = split.file;
    SourceSplit info{.name = split.from.split,
                     .num_samples = std::ssize(split.taken),
                     .is_training = split.from.split.starts_with("train")};
    for (const size_t i : split.taken) info.num_bytes += num_bytes_of(split, i);
    std::map<ClassId, std::string> categories;
    for (const auto& [id, name] : file.categories) {
      categories.emplace(class_id(file.category_ids, id), name);
    }
    if (splits_.empty()) {
      categories_ = std::move(categories);
    } else if (categories != categories_) {
      throw source_error(
          split.from.annotations, ErrorCode::invalid_argument,
          "this file has other categories than '{}'; convert the two files separately, with {}",
          splits_.front().from.annotations.string(), option_name("annotations"));
    }
    require_same_ids(file, split.from.annotations);
    if (set_.masks.semantic && !set_.has_mask_files) {
      require_ids_for_masks(file, split.from.annotations, set_.masks);
    }
    const auto is_bare = [&file](size_t i) { return file.annotations_of(i).empty(); };
    const auto num_bare = split.labels ? 0 : std::ranges::count_if(split.taken, is_bare);
    if (num_bare > 0) {
      add_note(notes_, split.from.annotations.string(),
               "{} of {} pictures have no annotation and are kept without any", num_bare,
               split.taken.size());
    }
    infos_.push_back(std::move(info));
    splits_.push_back(std::move(split));
  }

  static ClassId class_id(const CocoIds& ids, int64_t number) {
    return ids.is_text() ? ClassId(ids.text(number)) : ClassId(number);
  }

  // Ids are numbers in all splits, or texts.
  void require_same_ids(const CocoFile& file, const fs::path& annotations) const {
    if (splits_.empty()) return;
    const AnnotatedSplit& first = splits_.front();
    for (const auto& [ids, of] : {std::pair{&CocoFile::picture_ids, "pictures"},
                                  {&CocoFile::annotation_ids, "annotations"},
                                  {&CocoFile::category_ids, "categories"}}) {
      if ((file.*ids).is_text() == (first.file.*ids).is_text()) continue;
      if ((file.*ids).is_empty() || (first.file.*ids).is_empty()) continue;
      throw source_error(annotations, ErrorCode::invalid_argument,
                         "has other ids of {} than '{}': one has numbers, the other has "
                         "texts; use one type in both, or convert them separately, with {}",
                         of, first.from.annotations.string(), option_name("annotations"));
    }
  }

  void make_schema() {
    schema_.fields = {{"image", FieldType::image},
                      id_field("image_id", any_ids(&CocoFile::picture_ids), true),
                      {"width", FieldType::scalar, DType::i64, true},
                      {"height", FieldType::scalar, DType::i64, true},
                      {"boxes", FieldType::tensor, DType::f32},
                      id_field(set_.is_panoptic ? "segment_ids" : "annotation_ids",
                               any_ids(&CocoFile::annotation_ids), false),
                      {"iscrowd", FieldType::tensor, DType::u8}};
    if (set_.is_panoptic) schema_.fields.push_back({"panoptic", FieldType::image});
    has_category_ids_ = std::ranges::all_of(splits_,
                                            [](const AnnotatedSplit& split) {
                                              return split.file.annotations.size() == 0 ||
                                                     !split.file.annotations.category_id.empty();
                                            }) &&
                        std::ranges::any_of(splits_, [](const AnnotatedSplit& split) {
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
    for (AnnotatedSplit& split : splits_) {
      for (const auto& [number, name] : split.file.categories) {
        const auto found =
            std::ranges::lower_bound(class_ids_, class_id(split.file.category_ids, number));
        split.label_of[number] = found - class_ids_.begin();
      }
    }
    if (set_.has_segmentation) schema_.fields.push_back({"segmentation", FieldType::string});
    if (set_.masks.semantic) {
      schema_.fields.push_back({"semantic", FieldType::image});
      if (set_.masks.has_zero) {
        notes_.push_back(fmt::format(
            "0 is a category, so pixels without category are {} in the field 'semantic'",
            set_.masks.is_wide ? UINT16_MAX : UINT8_MAX));
      }
    }
    if (set_.masks.instances) schema_.fields.push_back({"instances", FieldType::image});
    if (set_.masks.runs) {
      schema_.fields.push_back(
          {"masks", FieldType::list, DType::u32, /*column=*/false, FieldType::tensor});
    }
    add_array([](const CocoFile& file) -> const CocoNumbers& { return file.annotations.area; });
    add_array(
        [](const CocoFile& file) -> const CocoNumbers& { return file.annotations.num_keypoints; });
    for (size_t i = 0; i < splits_.front().file.annotations.arrays.size(); ++i) {
      add_array(
          [i](const CocoFile& file) -> const CocoNumbers& { return file.annotations.arrays[i]; });
    }
    for (size_t i = 0; i < CocoFile{}.picture_arrays.size(); ++i) {
      add_array([i](const CocoFile& file) -> const CocoNumbers& { return file.picture_arrays[i]; },
                false);
    }
    if (set_.has_poses) schema_.fields.push_back({"pose", FieldType::string});
    schema_.fields.push_back({"id", FieldType::string, DType::u8, true});
  }

  // Of a split that has any.
  const CocoIds& any_ids(CocoIds CocoFile::*of) const {
    for (const AnnotatedSplit& split : splits_) {
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
    for (const AnnotatedSplit& split : splits_) {
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
      add_note(notes_, set_.path.string(), "'{}' is left out: {}", name,
               is_uneven ? "its arrays have different shapes"
                         : fmt::format("only {} of {} {} have it", count, num_elements,
                                       of_annotations ? "annotations" : "pictures"));
      return;
    }
    std::vector<int64_t> shape = shown->shape;
    // COCO's flat x, y, v, x, y, v, ...
    if (name == "keypoints" && shape.size() == 1 && shape[0] % 3 == 0) shape = {shape[0] / 3, 3};
    schema_.fields.push_back({name, FieldType::tensor, shown->are_whole ? DType::i64 : DType::f32});
    arrays_.push_back({std::move(of), std::move(shape), shown->stride(), of_annotations});
  }

  // Gives the size that the picture has.
  PixelSize set_picture(RecordBuilder& record, SampleBuffers& buffers, const CocoPicture& picture,
                        const std::string& origin, const FileStamp& listed) const {
    const std::span<const std::byte> bytes = read_listed_file(origin, listed, buffers);
    const ImageStorer::Stored stored = of_sample(origin, [&] {
      const ImageStorer::Stored made = storer_.store(bytes, picture.file_name, buffers);
      report_other_size(picture.width, picture.height, made.size, buffers);
      return made;
    });
    report_turned(bytes, storer_, buffers);
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

  // Masks that are files. A picture that has none gets none.
  void set_mask_files(RecordBuilder& record, SampleBuffers& buffers,
                      const std::vector<FileBeside>& beside, PixelSize own,
                      const std::string& picture, size_t field) const {
    for (size_t at = 1; at < beside.size(); ++at, ++field) {
      const FileBeside& mask = beside[at];
      if (mask.stamp.num_bytes < 0) continue;
      record.set_bytes(field, read_mask_file(mask.path, mask.stamp, MaskNumbers::values, own,
                                             picture, schema_.fields[field].name, buffers));
    }
  }

  // Of pictures as they are: a mask is as large as its picture.
  void set_masks(RecordBuilder& record, SampleBuffers& buffers, const AnnotatedSplit& from,
                 size_t number, const CocoFile& file, size_t at, PixelSize own,
                 size_t field) const {
    const CocoPicture& picture = from.file.pictures[number];
    if (own == PixelSize{}) return;  // a broken picture that is kept: no masks
    if (has_size(picture) &&
        own != PixelSize{static_cast<int>(picture.width), static_cast<int>(picture.height)}) {
      throw error_at(from.from.images / picture.file_name, ErrorCode::invalid_argument,
                     "the picture has {} x {} pixels, but its annotations say {} x {} pixels, so "
                     "its masks do not fit",
                     own.width, own.height, picture.width, picture.height)
          .with_remedy(
              "correct the size in the annotations, or leave out such pictures with " +
              option_set("bad_samples", "skip") + ". If EXIF data rotate the pictures, use " +
              option_set("exif", storer_.storage().exif == ExifUse::apply ? "ignore" : "apply"));
    }
    CocoMasks masks = paint_coco_masks(from.annotations.get(), file, at, own, set_.masks, buffers);
    for (auto* mask : {&masks.semantic, &masks.instances}) {
      if (mask->empty()) continue;
      std::vector<std::byte>& bytes = buffers.array();
      bytes = std::move(*mask);
      record.set_bytes(field++, bytes);
    }
    if (set_.masks.runs) {
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
                                file.annotations_of(at).size()),
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

  AnnotatedSet set_;  // without its splits and notes
  bool has_labels_ = false;
  bool has_category_ids_ = false;
  std::vector<AnnotatedSplit> splits_;
  std::map<ClassId, std::string> categories_;
  std::vector<Array> arrays_;
};

}  // namespace

void report_other_size(int64_t width, int64_t height, PixelSize own, SampleBuffers& buffers) {
  if (width < 0 || height < 0 || (own.width == width && own.height == height)) return;
  buffers.report(
      {fmt::format("the picture has {} x {} pixels, but its annotations say {} x {} pixels",
                   own.width, own.height, width, height),
       "kept as it is, so its boxes may not fit"});
}

std::unique_ptr<Source> make_annotated_source(AnnotatedSet set) {
  return std::make_unique<AnnotatedPictures>(std::move(set));
}

}  // namespace ffkit
