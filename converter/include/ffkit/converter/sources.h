// The sources there are, for callers who know which one they want. All throw Error with file,
// reason and remedy. `images` says how pictures are stored.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>
#include <ffkit/format/dataset.h>
#include <ffkit/nuscenes/radar_filter.h>

namespace ffkit {

struct ImageNetOptions {
  // "train", "val", "test": what to convert; empty: all that is there.
  std::vector<std::string> splits;
  // Compare the MD5 sums of the archives with those of the official ones first: reads them whole. Error(corrupt) for another sum,
  // Error(invalid_argument) when there are no archives.
  bool check_archives = false;
  ImageStorage images;
};

// ImageNet (ILSVRC2012) as it comes: official archives (read in place, never unpacked), extracted, or Kaggle's copy, in any mixture. What was
// found is the first of notes().
//
//   train    ILSVRC2012_img_train.tar    or   train/<wnid>/*
//   val      ILSVRC2012_img_val.tar      or   val/*, labelled by the devkit or LOC_val_solution.csv   or   val/<wnid>/*
//   test     ILSVRC2012_img_test*.tar    or   test/*
//   lists    ILSVRC2012_devkit_t12.tar.gz, ILSVRC2012_devkit_t12/, LOC_synset_mapping.txt, LOC_val_solution.csv
//
// All in `path`, or in Kaggle's folders: path[/ILSVRC]/Data/CLS-LOC/{train,val,test}, with the lists there or in a folder above. `path` may be
// the folder CLS-LOC, or train, val or test alone.
//
// Classes: the sorted leaf wnids of the devkit's meta.mat; else those of LOC_synset_mapping.txt; else the 1,000 of ILSVRC2012. Label: position of
// the picture's wnid among them, also where pictures of fewer classes are there; -1 for test pictures, whose labels are not public. Id:
// "n01440764/n01440764_10026.JPEG", "ILSVRC2012_val_00000001.JPEG".
std::unique_ptr<Source> open_imagenet(const std::filesystem::path& path,
                                      const ImageNetOptions& options = {});

// Folders of pictures: path/<split>/<class>/*, or path/<class>/*, which becomes one split "train".
// Classes are the sorted names of the class folders of all splits together. Splits whose name
// begins with "train" are training splits. Id: "<class>/<file>".
std::unique_ptr<Source> open_image_folder(const std::filesystem::path& path,
                                          const ImageStorage& images = {});

// Shards of the webdataset package: a folder of tar files, of folders of them (train/*.tar), or one tar, read in place. The split is the
// folder, or what the names say: imagenet-train-{000000..000146}.tar; else all is "train". Samples are the members whose names are equal
// up to the first dot; by extension they become
//
//   jpg png ..   image      the field `image`; seg.png is `seg/image`; several pictures that would be one field keep their extensions
//   cls          label      scalar i64, a column
//   json, txt    string     `json`, `txt`
//   npy          tensor     `npy`; depth.npy is `depth/npy`
//   others       bytes      named by the extension
//
// Id: the key, "000123". Classes: the lines of `classes`, or none, and then labels are any integers.
struct WebDatasetOptions {
  std::filesystem::path classes;  // file with the name of one class a line; empty: none
  bool allow_missing =
      false;  // samples that lack a member which others have get a null field; otherwise that is an error
  // Of a sample's members together, 1 KiB or more; a larger sample is a bad one. Each thread holds one in memory.
  int64_t max_sample_bytes = 1LL << 30;
};
std::unique_ptr<Source> open_webdataset(const std::filesystem::path& path,
                                        const WebDatasetOptions& options = {});

// COCO: path/annotations/instances_<split>.json (or person_keypoints_<split>.json) with the pictures in path/<split>/, path/images/<split>/ or
// path/images/. One record a picture, in the order of the file, with N annotations, N = 0 included:
//
//   image           as its file is                     boxes           f32 [N, 4]: x, y of the left upper corner, width, height, in pixels
//   image_id        i64, column                        annotation_ids  i64 [N]
//   width, height   i64, columns, by the annotations   iscrowd         u8 [N]; 0 where it is not said
//   labels          i64 [N]: position of the category among the ids in ascending order, which are the classes
//   segmentation    string, when asked for: JSON array of the annotations' segmentations (polygons or RLE), null for those without
//   area f32 [N], num_keypoints i64 [N], keypoints f32 [N, K, 3]     when all annotations have them
//   keypoints_cam f32 [N, K, 3], keypoints_img f32 [N, K, 2], keypoints_vis f32 [N, ...], f f32 [2], c f32 [2] (of the picture)
//                   as sets of poses like MuCo have them, when all have them; of the shape that they have in the file
//   id              the picture's file name, column
//
// Arrays that some lack, or that are of different shapes, are left out, with a note. Other members are ignored. Pictures whose file is missing
// are an Error(not_found) that counts them. The annotation file is read twice when segmentations are asked for, and must stay as it is.
struct CocoOptions {
  std::filesystem::path
      annotations;  // of one split, with `images`: instead of looking for them; below `path`, or as given
  std::filesystem::path images;
  bool keypoints = false;      // person_keypoints_*.json even if there is instances_*.json
  bool segmentation = false;   // field `segmentation`
  bool allow_missing = false;  // pictures whose file is missing are left out, with a note
};
std::unique_ptr<Source> open_coco(const std::filesystem::path& path,
                                  const CocoOptions& options = {});

// JSON lines: a file with one object a line, or a folder of such files (*.jsonl), or of folders of them. The split is the folder, or what the
// names say (train-00001-of-00008.jsonl, val.jsonl); else all is "train". The fields are the members of the first line's object:
//
//   text                string; "id" is a column      whole numbers   tensor of `token_dtype`, of the array's shape
//   true, false         scalar u8, column             other numbers   tensor f32
//   whole number        scalar i64, column            texts           list of strings
//   other number        scalar f64, column            anything else   string of its JSON text
//
// Every line must have the same members, in any order; null is a null field. The type of one that is null or [] in the first line is told by the
// lines that follow, up to the 1,000th. Numbers that token_dtype cannot hold are errors. Empty lines are
// passed over. What is kept in memory is 16 bytes a line. `token_dtype`: u16, i32 or i64. A line of more than `max_line_bytes`, 1 KiB .. 4 GiB, is a bad
// sample: parsing takes up to about ten times its bytes, in each thread.
inline constexpr int64_t kMaxLineBytes = 64 << 20;
std::unique_ptr<Source> open_jsonl(const std::filesystem::path& path,
                                   DType token_dtype = DType::i32,
                                   int64_t max_line_bytes = kMaxLineBytes);

// nuScenes: path/<version>/*.json (the tables) with the files they name below `path`. The official splits of the version whose scenes are there
// become one split each, of keyframes, with "<split>_sweeps" and "<split>_maps" beside it: ffkit/nuscenes/record.h says what their records
// hold. Records refer to each other by number: none is left out for what is wrong with it, none shuffled.
//
// Tables and files are checked first. Missing or empty files are an Error(not_found) that counts them by sensor, unless allow_partial: then
// their image or points are null, sweeps without a file are left out, and so are keyframes of which no file is there; files that are damaged are then null
// fields too, with a line in the report. lidarseg, panoptic, CAN bus
// and map masks are taken when they are there; notes() says which.
struct NuScenesOptions {
  std::string
      version;  // "v1.0-trainval", "v1.0-test", "v1.0-mini"; empty: the one whose folder is there
  std::vector<std::string> cameras;  // channels to take, "CAM_FRONT"
  bool all_cameras = true;           // whatever `cameras` says
  bool radar = true;
  int lidar_sweeps = 10;  // frames before each keyframe, 0 .. 100; 0: none
  int radar_sweeps = 5;
  int camera_sweeps = 0;
  bool allow_partial = false;
  DType lidar_dtype = DType::f32;  // or f16
  nuscenes::RadarFilter radar_filter = nuscenes::
      kAllRadarPoints;  // of stored points; the default constructed one is the devkit's default
  ImageStorage images;  // intrinsics are scaled with images that are resized
};
std::unique_ptr<Source> open_nuscenes(const std::filesystem::path& path,
                                      const NuScenesOptions& options = {});

// All splits of the data set at `path`, of FFRecord v1 or ffkit's own: a data set folder, one split's folder, a folder of v1 files, or one
// file. Throws Error(not_found) for a folder without any, and as Dataset::open does.
std::vector<Dataset> open_splits(const std::filesystem::path& path,
                                 const ShardReaderOptions& options = {});

// Data sets that are there already, v1 ones above all, each split a Dataset as open_splits() gives them; their records are taken over field by
// field. Splits whose name begins with "train" are training splits. All must have the same schema and, where they have any, the same classes:
// Error(invalid_argument) otherwise.
std::unique_ptr<Source> open_datasets(std::vector<Dataset> splits);

// Generated pictures of textured shapes that a network can learn, for trying things out without
// data. The class is given by shape, texture and number of shapes; colours, places, sizes, turns
// and noise are random.
struct DemoOptions {
  int64_t num_classes = 10;  // 2 .. 1152
  int64_t num_train = 2000;  // pictures, 1 or more; classes take turns
  int64_t num_val = 500;     // 0: no val split
  int64_t size = 64;         // width and height in pixels, 16 .. 2048
  uint64_t seed = 0;
  ImageStorage images;
};
std::unique_ptr<Source> make_demo(const DemoOptions& options);

// A made-up nuScenes set that a detector can learn: a vehicle drives along a road, with five to nine objects of seven classes around it, seen by
// six cameras and a lidar; the radars measure nothing. A root in the official layout is written when the source is made, and read by
// open_nuscenes() with its default options; records, facts and options do not depend on the folder.
struct DemoNuScenesOptions {
  int64_t num_train_scenes = 60;  // 1 .. 700
  int64_t num_val_scenes = 12;    // 0 .. 150; 0: no val split
  int64_t num_keyframes = 10;     // of a scene, half a second apart, 2 .. 100
  int64_t width = 320;  // of pictures, 64 .. 1600, a multiple of 16; the height is 9/16 of it
  uint64_t seed = 0;
  // Where the root is kept: a new or empty folder, or one that holds the root of the same numbers, which is used as it is. Empty: a temporary
  // folder in $TMPDIR or /tmp, which the source removes in its destructor.
  std::filesystem::path root;
  int num_threads = 0;  // that write the root; 0: one for each core
  const std::atomic<bool>* cancel =
      nullptr;  // once set, writing the root ends with Error(cancelled)
  ImageStorage images;
};
// Throws Error(invalid_argument) for numbers out of range and for a root folder that holds anything else, Error(io), Error(cancelled). What was
// written of an unfinished root is removed.
std::unique_ptr<Source> make_demo_nuscenes(const DemoNuScenesOptions& options);

}  // namespace ffkit
