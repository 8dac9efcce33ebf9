// The views of records as a Loader makes them: pixels, masks, boxes and key points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>
#include <ffkit/image/rgb_image.h>
#include <ffkit/image/view_geometry.h>

#include "views/wanted_views.h"

namespace ffkit {

// The tensor of this field of a record, if it has one.
std::optional<TensorView> tensor_in(const Schema& schema, const RecordView& record,
                                    std::string_view field);

struct ViewRequest {
  std::string image_field;
  std::string mask_field;  // empty: no masks
  WantedViews wanted;
  uint64_t seed = 0;  // the loader's
  int64_t first_epoch = 0;
  int64_t num_epochs = 1;

  // Pictures of a record, over all epochs.
  [[nodiscard]] int64_t num_pictures() const;
};

// One picture of a record.
struct RecordPicture {
  struct Box {
    BoxEdges edges;  // in pixels of the view, within it
    int64_t label = -1;
  };
  struct Point {
    double x, y;
    double visibility;  // COCO's: 1 hidden, 2 visible
  };

  const View* view = nullptr;  // of the request
  int64_t copy = 0;
  int64_t epoch = 0;
  ImageSize size = 0;           // of the view; where that is padded, of the picture alone
  std::vector<uint8_t> pixels;  // [height, width, 3] RGB
  std::vector<int32_t> mask;    // [height, width]; empty without
  ViewMatrix geometry = {};
  std::optional<std::vector<Box>> boxes;  // those that are kept; nothing where records have none
  std::vector<Point> points;              // those that lie in the view
  std::string problem;                    // why it is missing
};

// The pictures of each record, by epoch, then by view, then by copy: num_pictures() each. They
// draw the random numbers of the record in the whole split. `records` are numbers in `dataset`;
// the first of them that can be read and has boxes says which boxes, key points and kind of mask
// there are. What is wrong with a record becomes its pictures' problem. Decodes on all threads.
// Throws Error(invalid_argument) for views that no Loader takes.
std::vector<std::vector<RecordPicture>> decode_views(const Dataset& dataset,
                                                     const std::vector<int64_t>& records,
                                                     const ViewRequest& request);

}  // namespace ffkit
