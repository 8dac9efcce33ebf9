// Records of persons: `ffconvert coco SRC DST --persons SET` writes one record a person.
//
// Lengths of a set with depth have the unit of its annotations: metres for 3DPW, else millimetres.
// Pixels count from the centre of the top left one.
#pragma once

namespace ffkit::pose {

namespace person {
inline constexpr const char* kImage = "image";       // image: the whole picture, as its file is
inline constexpr const char* kImageId = "image_id";  // scalar i64, column
// Scalar i64, column: the annotation's. For detection n of a file, counted from 0, it is -1 - n.
inline constexpr const char* kAnnotationId = "annotation_id";
inline constexpr const char* kWidth = "width";    // scalar i64, column: the picture's
inline constexpr const char* kHeight = "height";  // scalar i64, column
// Tensor f64 [4]: the crop: x, y of the top left corner, width, height. The box was clipped to the
// picture, extended to the crop's aspect ratio and made 1.25 times as large.
inline constexpr const char* kBox = "box";
// Tensor f32 [1, 4]: the box as it was annotated or detected.
inline constexpr const char* kBoxes = "boxes";
inline constexpr const char* kFocal = "focal";    // tensor f64 [2]: focal lengths, pixels
inline constexpr const char* kCentre = "centre";  // tensor f64 [2]: principal point, pixels
// Tensor f64 [3]: x, y in pixels and the depth of the root joint; zeros for a detection.
inline constexpr const char* kRootImage = "root_image";
// Tensor f64 [3]: X, Y, Z of the root joint in front of the camera; zeros without depth.
inline constexpr const char* kRootCamera = "root_camera";
// Scalar f32, column: 1, or 0 if x and y are not known. MPII and Human3.6M annotate it.
inline constexpr const char* kRootVisible = "root_visible";
// Scalar u8, column: 1 if the depth is known.
inline constexpr const char* kHasDepth = "has_depth";
// Scalar f64, column: the detection's score; 1 for an annotation.
inline constexpr const char* kScore = "score";
// Tensor f32 [J, 3]: x, y in pixels and whether the joint is visible. J = 0 for a detection.
inline constexpr const char* kJoints = "joints";
// Tensor f64 [R, 3], in a set that has is_valid: the roots of the picture's valid annotations.
inline constexpr const char* kPictureRoots = "picture_roots";
inline constexpr const char* kId = "id";  // string, column: "TS1/img_000001.jpg#12"
}  // namespace person

// Facts in the manifest, beside those that every source has.
inline constexpr const char* kSetFact = "persons";  // "muco", ...
// In a set that has is_valid: the number of annotations in the file whose is_valid is 1.
inline constexpr const char* kValidRootsFact = "valid_roots";

}  // namespace ffkit::pose
