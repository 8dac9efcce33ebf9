// Marks: the boxes and joints of a record, to draw into its picture.
#pragma once

#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>

#include "draw/contact_sheet.h"

namespace ffkit {

// The boxes of a set made from COCO: `boxes` f32 [N, 4] as (x, y, width, height), with `labels` i64
// [N] where there are classes. None of other sets.
std::vector<SheetBox> marked_boxes(const Dataset& dataset, const RecordView& record);
// The joints of a record of a person: f32 [J, 3] as (x, y, visible). None of other sets.
std::vector<SheetPoint> marked_joints(const Schema& schema, const RecordView& record);
// The key points of all boxes of a set made from COCO: `keypoints` [N, K, 3] f32 or i64 as (x, y,
// v), without those that are not labelled (v = 0). None of other sets.
std::vector<SheetPoint> marked_keypoints(const Schema& schema, const RecordView& record);

}  // namespace ffkit
