#include "coco/coco_masks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <ffkit/base/option_names.h>
#include <ffkit/image/image_codec.h>

#include "converter/input/source_error.h"
#include "numbers/json_numbers.h"
#include "numbers/json_tables.h"

namespace ffkit {
namespace {

// Points of polygons may lie outside of their picture, but not further than any picture is wide.
constexpr double kMaxCoordinate = 1'000'000;
// Steps along the outlines of one segmentation: five for each pixel that is passed.
constexpr int64_t kMaxSteps = 100'000'000;

int64_t num_pixels(PixelSize size) {
  return int64_t{size.width} * size.height;
}

// Where a polygon's outline goes from one column of pixels into another: pixels from there on are
// inside, if they were outside, or outside.
class OutlineCrossings {
 public:
  explicit OutlineCrossings(PixelSize size) : size_(size) {}

  // A point of the outline, in fifths of a pixel.
  void add(int u, int v) {
    if (has_point_ && u != u_) cross(u, v);
    has_point_ = true;
    u_ = u;
    v_ = v;
  }

  std::vector<PixelRun> runs() {
    std::ranges::sort(positions_);
    std::vector<PixelRun> runs;
    const int64_t end = num_pixels(size_);
    for (size_t i = 0; i < positions_.size(); i += 2) {
      const int64_t begin = positions_[i];
      const int64_t until = i + 1 < positions_.size() ? positions_[i + 1] : end;
      if (begin == until) continue;
      if (!runs.empty() && runs.back().end == begin) {
        runs.back().end = until;
      } else {
        runs.push_back({begin, until});
      }
    }
    return runs;
  }

 private:
  void cross(int u, int v) {
    const double x = ((u < u_ ? u : u - 1) + 0.5) / 5 - 0.5;
    if (std::floor(x) != x || x < 0 || x > size_.width - 1) return;
    double y = ((v < v_ ? v : v_) + 0.5) / 5 - 0.5;
    y = std::ceil(std::clamp(y, 0.0, static_cast<double>(size_.height)));
    positions_.push_back(static_cast<int64_t>(x) * size_.height + static_cast<int64_t>(y));
  }

  const PixelSize size_;
  bool has_point_ = false;
  int u_ = 0;
  int v_ = 0;
  std::vector<int64_t> positions_;
};

// The points from (xs, ys) to (xe, ye), one for each step of the longer side.
void add_edge(int xs, int ys, int xe, int ye, OutlineCrossings& crossings) {
  const int dx = std::abs(xe - xs);
  const int dy = std::abs(ys - ye);
  const bool is_flat = dx >= dy;
  const bool is_turned = is_flat ? xs > xe : ys > ye;
  if (is_turned) {
    std::swap(xs, xe);
    std::swap(ys, ye);
  }
  const int num_steps = std::max(dx, dy);
  // Of an edge without length nothing but its point counts.
  const double slope =
      num_steps == 0 ? 0 : static_cast<double>(is_flat ? ye - ys : xe - xs) / num_steps;
  for (int d = 0; d <= num_steps; ++d) {
    const int t = is_turned ? num_steps - d : d;
    if (is_flat) {
      crossings.add(t + xs, static_cast<int>(ys + slope * t + 0.5));
    } else {
      crossings.add(static_cast<int>(xs + slope * t + 0.5), t + ys);
    }
  }
}

std::vector<PixelRun> runs_of_lengths(std::span<const int64_t> lengths, PixelSize size) {
  std::vector<PixelRun> runs;
  int64_t at = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || lengths[i] > num_pixels(size) - at) {
      throw error_of(ErrorCode::invalid_argument,
                     "the runs of its mask do not fit the {} x {} pixels of its picture",
                     size.width, size.height);
    }
    if (i % 2 == 1 && lengths[i] > 0) runs.push_back({at, at + lengths[i]});
    at += lengths[i];
  }
  if (at != num_pixels(size)) {
    throw error_of(ErrorCode::invalid_argument,
                   "the runs of its mask have {} pixels, but its picture has {} x {} pixels", at,
                   size.width, size.height);
  }
  return runs;
}

std::vector<PixelRun> runs_of_object(const simdjson::dom::object& object, PixelSize size) {
  simdjson::dom::element value;
  if (!find_member(object, "size", value)) {
    throw Error(ErrorCode::invalid_argument, "the runs of its mask have no 'size'");
  }
  std::vector<int64_t> sides;
  append_numbers(value, std::vector<int64_t>{2}, sides);
  if (sides[0] != size.height || sides[1] != size.width) {
    throw error_of(
        ErrorCode::invalid_argument,
        "the runs of its mask are for {} x {} pixels, but its picture has {} x {} pixels", sides[1],
        sides[0], size.width, size.height);
  }
  if (!find_member(object, "counts", value)) {
    throw Error(ErrorCode::invalid_argument, "the runs of its mask have no 'counts'");
  }
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    return runs_of_lengths(run_lengths_of_text(text), size);
  }
  simdjson::dom::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) {
    throw error_of(ErrorCode::invalid_argument,
                   "its 'counts' is {}; expected a text or a list of numbers", json_excerpt(value));
  }
  std::vector<int64_t> lengths;
  for (const simdjson::dom::element length : array) lengths.push_back(json_whole_number(length));
  return runs_of_lengths(lengths, size);
}

// The algorithm is rleFrPoly() of COCO's maskApi.c (Piotr Dollar and Tsung-Yi Lin, 2015; BSD
// licence): the outline in fifths of a pixel, of which each point that enters another column at its
// middle turns the pixels below it. Written anew; sums and roundings are in the same order, so the
// pixels are the same.
//
// Takes its steps from `steps_left`.
std::vector<PixelRun> runs_of_outline(std::span<const double> xy, PixelSize size,
                                      int64_t& steps_left) {
  if (xy.size() < 6 || xy.size() % 2 != 0) {
    throw error_of(ErrorCode::invalid_argument,
                   "a polygon has {} numbers; expected x and y for each of at least 3 points",
                   xy.size());
  }
  std::vector<int> fifths;
  fifths.reserve(xy.size() + 2);
  for (const double number : xy) {
    if (!(std::abs(number) <= kMaxCoordinate)) {
      throw error_of(ErrorCode::invalid_argument,
                     "a polygon has the coordinate {}; expected at most {}", number,
                     kMaxCoordinate);
    }
    fifths.push_back(static_cast<int>(5 * number + 0.5));
  }
  fifths.insert(fifths.end(), {fifths[0], fifths[1]});
  for (size_t i = 2; i < fifths.size(); ++i) steps_left -= std::abs(fifths[i] - fifths[i - 2]);
  if (steps_left < 0) {
    throw error_of(ErrorCode::invalid_argument,
                   "the outlines of its polygons are too long, because they have {} pixels or more",
                   kMaxSteps / 5);
  }
  OutlineCrossings crossings(size);
  for (size_t i = 0; i + 2 < fifths.size(); i += 2) {
    add_edge(fifths[i], fifths[i + 1], fifths[i + 2], fifths[i + 3], crossings);
  }
  return crossings.runs();
}

}  // namespace

std::vector<PixelRun> runs_of_polygon(std::span<const double> xy, PixelSize size) {
  int64_t steps_left = kMaxSteps;
  return runs_of_outline(xy, size, steps_left);
}

// As rleFrString() of maskApi.c reads it: numbers of 5 bits a character, from '0' on, the lowest
// first; bit 5 says that more follow, and bit 4 of the last one is the sign. From the fourth on,
// each is the difference from the number two before it.
std::vector<int64_t> run_lengths_of_text(std::string_view text) {
  constexpr int kMaxCharacters = 7;  // 35 bits: more than any picture has pixels
  constexpr int64_t kMaxLength = int64_t{1} << 35;
  std::vector<int64_t> lengths;
  int64_t number = 0;
  int count = 0;
  for (const char c : text) {
    const int bits = c - '0';
    if (bits < 0 || bits > 63 || count == kMaxCharacters) {
      throw Error(ErrorCode::invalid_argument,
                  "the text of its 'counts' is not in the format of pycocotools");
    }
    number += int64_t{bits & 31} << (5 * count++);
    if ((bits & 32) != 0) continue;
    if ((bits & 16) != 0) number -= int64_t{1} << (5 * count);
    if (lengths.size() > 2) number += lengths[lengths.size() - 2];
    if (number < 0 || number > kMaxLength) {
      throw error_of(ErrorCode::invalid_argument,
                     "the text of its 'counts' has a run of {} pixels; download the file again",
                     number);
    }
    lengths.push_back(number);
    number = 0;
    count = 0;
  }
  if (count != 0) {
    throw Error(ErrorCode::invalid_argument,
                "the text of its 'counts' ends in the middle of a number");
  }
  return lengths;
}

std::vector<PixelRun> runs_of_segmentation(
    simdjson::dom::element segmentation, PixelSize size,
    const std::function<void(const std::string& why)>& leave_out) {
  simdjson::dom::object object;
  if (segmentation.get_object().get(object) == simdjson::SUCCESS) {
    return runs_of_object(object, size);
  }
  simdjson::dom::array polygons;
  if (segmentation.get_array().get(polygons) != simdjson::SUCCESS) {
    throw error_of(ErrorCode::invalid_argument,
                   "the segmentation must be a list of polygons or an object of runs, but it is {}",
                   json_excerpt(segmentation));
  }
  std::vector<PixelRun> runs;
  std::vector<double> xy;
  int64_t steps_left = kMaxSteps;
  for (const simdjson::dom::element polygon : polygons) {
    simdjson::dom::array numbers;
    if (polygon.get_array().get(numbers) != simdjson::SUCCESS) {
      throw error_of(ErrorCode::invalid_argument, "{} is not a polygon, [x, y, x, y, ...]",
                     json_excerpt(polygon));
    }
    try {
      xy.clear();
      for (const simdjson::dom::element number : numbers) xy.push_back(json_number<double>(number));
      const std::vector<PixelRun> own = runs_of_outline(xy, size, steps_left);
      runs.insert(runs.end(), own.begin(), own.end());
    } catch (const Error& error) {
      leave_out(error.message());
    }
  }
  return runs;
}

namespace {

constexpr size_t kMaxNumber = std::numeric_limits<uint16_t>::max();

// Reads annotations one after another, with the memory of the one before.
class SegmentationReader {
 public:
  SegmentationReader(const InputFile* annotations, const CocoFile& file)
      : annotations_(annotations), file_(file) {}

  // Sets `segmentation`, which lives until the next call; false where there is none.
  bool read(size_t annotation, simdjson::dom::element& segmentation) {
    if (annotations_ == nullptr) {
      const std::string& text = file_.annotations.segmentation[annotation];
      return !text.empty() && parser_.parse(text).get(segmentation) == simdjson::SUCCESS;
    }
    const FileRange range = file_.annotations.element[annotation];
    const auto num_bytes = static_cast<size_t>(range.num_bytes);
    element_.resize(num_bytes + simdjson::SIMDJSON_PADDING);
    const std::span<char> read = std::span(element_).first(num_bytes);
    annotations_->read_at(range.offset, std::as_writable_bytes(read));
    simdjson::dom::element value;
    simdjson::dom::object object;
    if (parse_as_python(parser_, read, value) != simdjson::SUCCESS ||
        value.get_object().get(object) != simdjson::SUCCESS) {
      throw Error(ErrorCode::corrupt, "was changed during the conversion; start again",
                  {.path = annotations_->path().string(), .offset = range.offset});
    }
    return find_member(object, "segmentation", segmentation);
  }

 private:
  const InputFile* annotations_;
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
  explicit MaskColumns(PixelSize size, uint16_t none = 0)
      : size_(size),
        pixels_(static_cast<size_t>(size.width) * static_cast<size_t>(size.height), none) {}

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

std::string segmentation_json(const InputFile* annotations, const CocoFile& file, size_t picture) {
  SegmentationReader reader(annotations, file);
  std::string text = "[";
  for (const size_t i : file.annotations_of(picture)) {
    if (text.size() > 1) text += ',';
    simdjson::dom::element value;
    text += reader.read(i, value) ? simdjson::minify(value) : "null";
  }
  return text + "]";
}

CocoMasks paint_coco_masks(const InputFile* annotations, const CocoFile& file, size_t picture,
                           PixelSize size, const CocoMaskKinds& kinds, SampleBuffers& buffers) {
  const std::span<const size_t> chosen = file.annotations_of(picture);
  if (kinds.instances && chosen.size() > kMaxNumber) {
    throw error_of(ErrorCode::unsupported,
                   "has {} annotations, but a mask of instances can have at most {}", chosen.size(),
                   kMaxNumber);
  }
  SegmentationReader reader(annotations, file);
  const uint16_t largest = kinds.is_wide ? UINT16_MAX : UINT8_MAX;
  MaskColumns semantic(kinds.semantic ? size : PixelSize{}, kinds.has_zero ? largest : 0);
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
      const auto leave_out = [&](const std::string& why) {
        buffers.leave_out(fmt::format("annotation {}: segmentation: {}",
                                      file.annotation_ids.json(file.annotations.id[i]), why));
      };
      std::vector<PixelRun> runs;
      try {
        runs = runs_of_segmentation(segmentation, size, leave_out);
      } catch (const Error& error) {
        leave_out(error.message());
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

void require_ids_for_masks(const CocoFile& file, const std::filesystem::path& annotations,
                           CocoMaskKinds& kinds) {
  const std::string remedy =
      "; number the categories from 1, or use " + option_set("segmentation", "instances");
  const std::vector<int64_t>& ids = file.annotations.category_id;
  if (file.category_ids.is_text() || ids.size() != file.annotations.size()) {
    throw source_error(annotations, ErrorCode::unsupported,
                       "the categories of the annotations have no numbers, but a semantic mask "
                       "stores the numbers of the categories" +
                           remedy);
  }
  constexpr int64_t kLargest = int64_t{kMaxNumber} - 1;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] <= kLargest) continue;
    throw source_error(annotations, ErrorCode::unsupported,
                       "annotation {} has the category number {}, but a semantic mask can store "
                       "only the numbers 0 to {}{}",
                       file.annotation_ids.json(file.annotations.id[i]), ids[i], kLargest, remedy);
  }
  const auto see = [&kinds](int64_t id) {
    kinds.has_zero = kinds.has_zero || id == 0;
    kinds.is_wide = kinds.is_wide || id > std::numeric_limits<uint8_t>::max();
  };
  std::ranges::for_each(ids, see);
  for (const auto& [id, name] : file.categories) see(id);
  // The largest number of 8 bits stands for none then.
  const auto is_largest = [](int64_t id) { return id == std::numeric_limits<uint8_t>::max(); };
  kinds.is_wide = kinds.is_wide || (kinds.has_zero && std::ranges::any_of(ids, is_largest));
}

}  // namespace ffkit
