// Records of persons: what `ffconvert coco SRC DST --persons SET` writes, one record a person.
//
// Lengths of a set with depth are those of its annotations: millimetres, of 3DPW metres. Pixels
// count from the centre of the left upper one.
#pragma once

namespace ffkit::pose {

namespace person {
inline constexpr const char* kImage = "image";       // image: the whole picture, as its file is
inline constexpr const char* kImageId = "image_id";  // scalar i64, column
// scalar i64, column: of the annotation; of a detection, its number in its file from 0, which
// stands for -1 - number
inline constexpr const char* kAnnotationId = "annotation_id";
inline constexpr const char* kWidth = "width";    // scalar i64, column: of the picture
inline constexpr const char* kHeight = "height";  // scalar i64, column
// tensor f64 [4]: x, y of the left upper corner, width, height. The box that is cropped: clipped to
// the picture, of the crop's aspect ratio, 1.25 times as large
inline constexpr const char* kBox = "box";
// Tensor f32 [1, 4]: the box as it was annotated or detected.
inline constexpr const char* kBoxes = "boxes";
inline constexpr const char* kFocal = "focal";    // tensor f64 [2]: focal lengths, pixels
inline constexpr const char* kCentre = "centre";  // tensor f64 [2]: principal point, pixels
// tensor f64 [3]: of the root joint x, y in pixels and the depth; zeros of a detection
inline constexpr const char* kRootImage = "root_image";
// Tensor f64 [3]: X, Y, Z before the camera; zeros without depth.
inline constexpr const char* kRootCamera = "root_camera";
// scalar f32, column: 1, or 0 where x and y are not known; of MPII and Human3.6M what is annotated
inline constexpr const char* kRootVisible = "root_visible";
// Scalar u8, column: 1 where the depth is known.
inline constexpr const char* kHasDepth = "has_depth";
// Scalar f64, column: of a detection; 1 of an annotation.
inline constexpr const char* kScore = "score";
// Tensor f32 [J, 3]: x, y in pixels and whether it is visible; J = 0 of a detection.
inline constexpr const char* kJoints = "joints";
// tensor f64 [R, 3]: the roots of all valid annotations of the picture, where a set has is_valid
inline constexpr const char* kPictureRoots = "picture_roots";
inline constexpr const char* kId = "id";  // string, column: "TS1/img_000001.jpg#12"
}  // namespace person

// Facts in the manifest beside those of every source.
inline constexpr const char* kSetFact = "persons";  // "muco", ...
// Annotations with is_valid 1 in all of the file, where a set has is_valid.
inline constexpr const char* kValidRootsFact = "valid_roots";

}  // namespace ffkit::pose
