// Persons for RootNet. Throws Error with file, reason and remedy. describe() declares the options,
// which must outlive the table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// Persons with their root joint, one record per person, from the annotation files of
// 3DMPPE_ROOTNET_RELEASE, in their layout below `path`. ffkit/pose/person_record.h has the fields.
//
//   human36m   annotations/Human36M_subject<N>_{data,camera,joint_3d}.json, images/
//              splits train, test
//   mpii       annotations/train.json, file names below `path`                                train
//   mscoco     annotations/person_keypoints_<split>.json, pictures as for open_coco()         those
//   muco       MuCo-3DHP.json, file names below `path`                                        train
//   mupots     MuPoTS-3D.json, MultiPersonTestSet/                                            test
//   3dpw       3DPW_<split>.json, imageFiles/<sequence>/                                      those
//
// Persons are left out by the rules of that code, which are the defaults of the options; notes()
// and facts() count each reason. Lengths are those of the set, mm or m. Missing members, and arrays
// that do not fit the number of joints, are Error(invalid_argument) with file and annotation. If
// `detections` is given, boxes come from this JSON array of {image_id, bbox, score}; roots and
// joints of these persons are unknown, except in Human3.6M, where a detection is the person of its
// picture.
struct PersonsOptions {
  std::string set;  // one of person_set_names()
  // For one split, with `images`, as for open_coco(); not for human36m.
  std::filesystem::path annotations;
  std::filesystem::path images;
  std::filesystem::path detections;  // below `path`, or as given
  bool allow_missing = false;        // pictures whose file is missing are left out, with a note
  int64_t protocol = 2;              // human36m: 1 trains on subject 9 too, and tests on 11 alone
  int64_t frame_step = -1;           // human36m: takes every n-th frame; -1: 5 to train, 64 to test
  // Leaves out persons whose root is nearer than this to another person's, except the person
  // nearest to the camera; 0: none. -1: 500 for muco, 0 for others.
  int64_t min_distance = -1;
  int64_t min_depth = -1;     // of the root; -1: 1500 of muco, 0 of others
  int64_t max_depth = -1;     // 0: any; -1: 7500 of muco, any of others
  int64_t box_percent = 125;  // the box that is cropped is as large as this
  // leaves out boxes with a side of fewer pixels in the picture; always leaves out empty boxes
  int64_t min_box = 0;
  StoreAs store = StoreAs::jpeg;
};
void describe(PersonsOptions& options, OptionTable& table);
std::vector<std::string> person_set_names();
std::unique_ptr<Source> open_persons(const std::filesystem::path& path,
                                     const PersonsOptions& options);

}  // namespace ffkit
