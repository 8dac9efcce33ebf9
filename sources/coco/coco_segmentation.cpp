#include "coco/coco_segmentation.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <span>

#include <ffkit/base/option_names.h>
#include <ffkit/image/image_codec.h>

#include "coco/coco_masks.h"
#include "converter/input/source_error.h"
#include "numbers/json_tables.h"

namespace ffkit {
namespace {

constexpr size_t kMaxNumber = std::numeric_limits<uint16_t>::max();

// Reads annotations one after another, with the memory of the one before.
class SegmentationReader {
 public:
  SegmentationReader(const InputFile& annotations, const CocoFile& file)
      : annotations_(annotations), file_(file) {}

  // Sets `segmentation`, which lives until the next call; false where there is none.
  bool read(size_t annotation, simdjson::dom::element& segmentation) {
    const FileRange range = file_.annotations.element[annotation];
    const auto num_bytes = static_cast<size_t>(range.num_bytes);
    element_.resize(num_bytes + simdjson::SIMDJSON_PADDING);
    const std::span<char> read = std::span(element_).first(num_bytes);
    annotations_.read_at(range.offset, std::as_writable_bytes(read));
    simdjson::dom::element value;
    simdjson::dom::object object;
    if (parse_as_python(parser_, read, value) != simdjson::SUCCESS ||
        value.get_object().get(object) != simdjson::SUCCESS) {
      throw Error(ErrorCode::corrupt, "was changed during the conversion; start again",
                  {.path = annotations_.path().string(), .offset = range.offset});
    }
    return find_member(object, "segmentation", segmentation);
  }

 private:
  const InputFile& annotations_;
  const CocoFile& file_;
  simdjson::dom::parser parser_;
  std::vector<char> element_;
};

bool is_empty_list(simdjson::dom::element value) {
  simdjson::dom::array array;
  return value.get_array().get(array) == simdjson::SUCCESS && array.begin() == array.end();
}

// Pixels down the columns, as runs count them.
class MaskColumns {
 public:
  explicit MaskColumns(PixelSize size)
      : size_(size), pixels_(static_cast<size_t>(size.width) * static_cast<size_t>(size.height)) {}

  void paint(std::span<const PixelRun> runs, size_t number) {
    for (const PixelRun& run : runs) {
      std::fill(pixels_.begin() + run.begin, pixels_.begin() + run.end,
                static_cast<uint16_t>(number));
    }
  }

  template <typename T>
  std::vector<std::byte> png() const {
    const auto width = static_cast<size_t>(size_.width);
    const auto height = static_cast<size_t>(size_.height);
    std::vector<T> rows(pixels_.size());
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) {
        rows[y * width + x] = static_cast<T>(pixels_[x * height + y]);
      }
    }
    return encode_mask_png({.data = rows.data(),
                            .dtype = dtype_of<T>(),
                            .width = size_.width,
                            .height = size_.height,
                            .stride = size_.width});
  }

 private:
  const PixelSize size_;
  std::vector<uint16_t> pixels_;
};

// Runs down the columns as runs along the rows.
class RowRuns {
 public:
  explicit RowRuns(PixelSize size)
      : width_(size.width),
        height_(size.height),
        is_inside_(static_cast<size_t>(width_) * static_cast<size_t>(height_)) {}

  std::vector<uint32_t> of(std::span<const PixelRun> columns) {
    int64_t top = height_;
    int64_t bottom = 0;
    int64_t left = width_;
    int64_t right = 0;
    for (const PixelRun& run : columns) {
      for (int64_t at = run.begin; at < run.end;) {
        const int64_t x = at / height_;
        const int64_t end = std::min(run.end, (x + 1) * height_);
        for (int64_t y = at - x * height_; y < end - x * height_; ++y) pixel(x, y) = true;
        top = std::min(top, at - x * height_);
        bottom = std::max(bottom, end - x * height_);
        left = std::min(left, x);
        right = std::max(right, x + 1);
        at = end;
      }
    }
    std::vector<uint32_t> runs;
    for (int64_t y = top; y < bottom; ++y) {
      for (int64_t x = left; x < right; ++x) {
        if (!pixel(x, y)) continue;
        const auto at = static_cast<uint32_t>(y * width_ + x);
        if (!runs.empty() && runs.back() == at) {
          ++runs.back();
        } else {
          runs.insert(runs.end(), {at, at + 1});
        }
        pixel(x, y) = false;
      }
    }
    return runs;
  }

 private:
  uint8_t& pixel(int64_t x, int64_t y) { return is_inside_[static_cast<size_t>(y * width_ + x)]; }

  const int64_t width_;
  const int64_t height_;
  std::vector<uint8_t> is_inside_;  // of the mask at hand; zeros otherwise
};

}  // namespace

std::string segmentation_json(const InputFile& annotations, const CocoFile& file, size_t picture) {
  SegmentationReader reader(annotations, file);
  std::string text = "[";
  for (const size_t i : file.annotations_of(picture)) {
    if (text.size() > 1) text += ',';
    simdjson::dom::element value;
    text += reader.read(i, value) ? simdjson::minify(value) : "null";
  }
  return text + "]";
}

CocoMasks paint_coco_masks(const InputFile& annotations, const CocoFile& file, size_t picture,
                           PixelSize size, const CocoMaskKinds& kinds) {
  const std::span<const size_t> chosen = file.annotations_of(picture);
  if (kinds.instances && chosen.size() > kMaxNumber) {
    throw error_of(ErrorCode::unsupported,
                   "has {} annotations; a mask of instances can number {} at most", chosen.size(),
                   kMaxNumber);
  }
  SegmentationReader reader(annotations, file);
  MaskColumns semantic(kinds.semantic ? size : PixelSize{});
  MaskColumns instances(kinds.instances ? size : PixelSize{});
  RowRuns row_runs(kinds.runs ? size : PixelSize{});
  CocoMasks masks;
  if (kinds.runs) masks.runs.resize(chosen.size());
  for (const bool are_crowds : {true, false}) {
    for (size_t k = 0; k < chosen.size(); ++k) {
      const size_t i = chosen[k];
      if ((file.annotations.is_crowd[i] != 0) != are_crowds) continue;
      simdjson::dom::element segmentation;
      if (!reader.read(i, segmentation) || is_empty_list(segmentation)) {
        ++masks.num_without;
        continue;
      }
      std::vector<PixelRun> runs;
      try {
        runs = runs_of_segmentation(segmentation, size);
      } catch (const Error& error) {
        throw error_at(annotations.path(), error.code(), "annotation {}: segmentation: {}",
                       file.annotation_ids.json(file.annotations.id[i]), error.message())
            .with_remedy("correct it, or leave such pictures out with " +
                         option_set("on_error", "skip"));
      }
      if (kinds.semantic) {
        semantic.paint(runs, static_cast<size_t>(file.annotations.category_id[i]));
      }
      if (kinds.instances) instances.paint(runs, k + 1);
      if (kinds.runs) masks.runs[k] = row_runs.of(runs);
    }
  }
  if (kinds.semantic) {
    masks.semantic = kinds.is_wide ? semantic.png<uint16_t>() : semantic.png<uint8_t>();
  }
  if (kinds.instances) masks.instances = instances.png<uint16_t>();
  return masks;
}

bool require_ids_for_masks(const CocoFile& file, const std::filesystem::path& annotations) {
  const std::string remedy =
      "; number the categories from 1, or take " + option_set("segmentation", "instances");
  const std::vector<int64_t>& ids = file.annotations.category_id;
  if (file.category_ids.is_text() || ids.size() != file.annotations.size()) {
    throw source_error(annotations, ErrorCode::unsupported,
                       "its annotations have no numbers of categories, which a semantic mask is "
                       "made of" +
                           remedy);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 1 && ids[i] <= int64_t{kMaxNumber}) continue;
    throw source_error(annotations, ErrorCode::unsupported,
                       "annotation {} is of the category {}; the numbers of a semantic mask are 1 "
                       "to {}, and 0 is no category{}",
                       file.annotation_ids.json(file.annotations.id[i]), ids[i], kMaxNumber,
                       remedy);
  }
  const auto is_wide = [](int64_t id) { return id > std::numeric_limits<uint8_t>::max(); };
  return std::ranges::any_of(ids, is_wide) ||
         std::ranges::any_of(file.categories,
                             [&](const auto& category) { return is_wide(category.first); });
}

}  // namespace ffkit
