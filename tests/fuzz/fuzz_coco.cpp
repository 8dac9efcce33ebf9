// A COCO annotation file of any bytes: pictures and annotations that fit together, or an Error.
#include "converter/input/input_file.h"
#include "memory_file.h"
#include "sources/coco/coco_file.h"
#include "touch.h"

namespace {

void require(bool is_right) {
  if (!is_right) std::abort();
}

void check(const ffkit::CocoNumbers& numbers, size_t num_elements) {
  require(numbers.count <= num_elements);
  size_t stride = 1;
  for (const int64_t extent : numbers.shape) stride *= static_cast<size_t>(extent);
  if (!numbers.is_uneven) require(numbers.count == 0 || numbers.stride() == stride);
  ffkit::fuzzing::touch(std::as_bytes(std::span(numbers.values)));
}

void check(const ffkit::CocoFile& file, size_t num_bytes) {
  const ffkit::CocoAnnotations& annotations = file.annotations;
  const size_t count = annotations.size();
  require(!file.pictures.empty() && file.first.size() == file.pictures.size() + 1);
  require(file.order.size() == count && annotations.picture_id.size() == count);
  require(annotations.category_id.empty() || annotations.category_id.size() == count);
  require(annotations.box.size() == 4 * count && annotations.is_crowd.size() == count);
  for (size_t i = 0; i < file.pictures.size(); ++i) {
    for (const size_t a : file.annotations_of(i)) {
      require(a < count && annotations.picture_id[a] == file.pictures[i].id);
    }
  }
  for (const ffkit::FileRange& range : annotations.element) {
    require(range.offset >= 0 && range.num_bytes >= 0 &&
            static_cast<size_t>(range.offset + range.num_bytes) <= num_bytes);
  }
  for (const ffkit::CocoNumbers& numbers : file.picture_arrays)
    check(numbers, file.pictures.size());
  for (const ffkit::CocoNumbers& numbers : annotations.arrays) check(numbers, count);
  check(annotations.area, count);
  check(annotations.num_keypoints, count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static ffkit::testing::MemoryFile memory;
  memory.assign(std::as_bytes(std::span(bytes, size)));
  for (const bool is_panoptic : {false, true}) {
    ffkit::fuzzing::attempt([size, is_panoptic] {
      check(ffkit::read_coco_file(ffkit::InputFile(memory.path()), is_panoptic), size);
    });
  }
  return 0;
}
