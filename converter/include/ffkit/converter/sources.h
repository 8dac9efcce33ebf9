// The sources there are, for callers who know which one they want. All throw Error with file,
// reason and remedy. `images` says how pictures are stored. describe() declares what a user may
// set; the options must outlive the table.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>
#include <ffkit/format/dataset.h>
#include <ffkit/nuscenes/radar_filter.h>

namespace ffkit {

struct ImageNetOptions {
  // "train", "val", "test": what to convert; empty: all that is there.
  std::vector<std::string> splits;
  // Compare the MD5 sums of the archives with those of the official ones first: reads them whole.
  // Error(corrupt) for another sum, Error(invalid_argument) when there are no archives.
  bool check_archives = false;
  // Fewer flat validation pictures than the devkit has labels are taken, with a note that counts
  // the others; else they are an Error(invalid_argument).
  bool allow_partial = false;
  ImageStorage images;
};

// ImageNet (ILSVRC2012) as it comes: official archives (read in place, never unpacked), extracted,
// or Kaggle's copy, in any mixture. What was found is the first of notes().
//
//   train    ILSVRC2012_img_train.tar    or   train/<wnid>/*     or   train/<wnid>.tar
//   val      ILSVRC2012_img_val.tar      or   val/*, labelled by the devkit or LOC_val_solution.csv
//                                             or   val/<wnid>/*
//   test     ILSVRC2012_img_test*.tar    or   test/*
//   lists    ILSVRC2012_devkit_t12.tar.gz, ILSVRC2012_devkit_t12/, LOC_synset_mapping.txt,
//            LOC_val_solution.csv
//
// All in `path`, or in Kaggle's folders: path[/ILSVRC]/Data/CLS-LOC/{train,val,test}, with the
// lists there or in a folder above. `path` may be the folder CLS-LOC, or train, val or test alone.
//
// Classes: the sorted leaf wnids of the devkit's meta.mat; else those of LOC_synset_mapping.txt;
// else the 1,000 of ILSVRC2012. Label: position of the picture's wnid among them, also where
// pictures of fewer classes are there; -1 for test pictures, whose labels are not public. Id:
// "n01440764/n01440764_10026.JPEG", "ILSVRC2012_val_00000001.JPEG".
std::unique_ptr<Source> open_imagenet(const std::filesystem::path& path,
                                      const ImageNetOptions& options = {});

// Folders of pictures: path/<split>/<class>/*, or path/<class>/*, which becomes one split "train".
//
// A folder of `path` is a split when it, or another one beside it, is named as splits are ("train",
// "Valid", "testing"; "val" is the split of "Valid"), or when `splits` names it; else the folders
// are the classes. A class is a folder that holds pictures, at any depth; others are named in
// notes(). Labels are those that torchvision's ImageFolder gives for the training splits: positions
// among the sorted names of their classes. A class that another split has and these lack is an
// Error(invalid_argument); without a training split, the classes are those of all splits. A split
// "test" whose pictures lie in no class folders has labels -1. tiny-imagenet's val/images/ is
// labelled by val/val_annotations.txt. Splits whose name begins with "train" are training splits.
// Id: "<class>/<file>".
//
// Throws Error(invalid_argument) for pictures beside folders of pictures in a split, where either
// may be a mistake, and Error(not_found) for a link to a folder that is not there; a picture that
// is such a link is a bad sample.
struct ImageFolderOptions {
  // What to convert, by the names of the folders or of the splits; empty: all. Folders that are
  // named here are splits whatever their names.
  std::vector<std::string> splits;
  // Classes are those of all splits together, not of the training splits alone.
  bool classes_from_all = false;
  ImageStorage images;
};
std::unique_ptr<Source> open_image_folder(const std::filesystem::path& path,
                                          const ImageFolderOptions& options = {});

// Pictures and their masks, each in a folder of its own. Files belong together when their paths
// below their folders are equal but for the ending and, where one is given, the suffix before it.
// One record a picture:
//
//   image   the first field, whatever it is called: the picture
//   mask    the other fields, each an `image` whose bytes are the file's: nothing changes a number
//   id      the picture's path in the split, column
//
// Folders directly in the first field's that are named as splits are ("train", "validation"), or
// that `splits` names, are the splits; else there is one, called after the folder or the one above,
// or "train". With `lists` each list is a split, named after its file.
//
// A name without a file in one of the folders is an Error(not_found) that counts such names; so is
// a name of a list without any file. Two files of one name are an Error(invalid_argument). A mask
// is a bad sample when it is not a PNG of one channel, or is not as large as its picture: headers
// alone are read. Links, hidden files and files of other endings are as in open_image_folder().
struct PairedFolder {
  std::string field;             // "mask"
  std::filesystem::path folder;  // below PairsOptions::root, or as given
};
struct PairsOptions {
  // Where data sets that everybody has keep their folders; one of pair_layouts(), empty: none.
  //
  //   ade20k      root/images/{training,validation}, root/annotations/...
  //   cityscapes  root/leftImg8bit/<split>/<city>/*_leftImg8bit.png, and of root/gtFine the files
  //               *_gtFine_labelIds.png
  //   voc         root/JPEGImages, root/SegmentationClass, and the lists train and val of
  //               root/ImageSets/Segmentation; `splits` may name others of them
  std::string layout;
  std::filesystem::path root;
  // At least two with those of the layout; the first is the picture. A field of the layout's gets
  // the folder that is given for it here.
  std::vector<PairedFolder> folders;
  // By field: what stands behind the name and before the ending, "_gtFine_labelIds", or with the
  // ending, "_mask.png". Files without it are left out, with a note. Comes before the layout's.
  std::map<std::string, std::string> suffixes;
  // Text files of one name a line, which may end as a picture's file does: these alone, in their
  // order. Below `root`, or as given.
  std::vector<std::filesystem::path> lists;
  // What to convert; empty: all.
  std::vector<std::string> splits;
  // Fields whose colours are numbers, red + 256 green + 65536 blue: PNGs of three channels.
  std::vector<std::string> panoptic;
  bool skip_unpaired = false;     // names without all files are left out, with a note
  StoreAs store = StoreAs::jpeg;  // of the pictures; or dct
};
std::vector<std::string> pair_layouts();
// Throws Error(invalid_argument) for options that no data could make right.
void validate(const PairsOptions& options);
std::unique_ptr<Source> open_pairs(const PairsOptions& options);

// Shards of the webdataset package: a folder of tar files, of folders of them (train/*.tar), or one
// tar, read in place. Compressed ones (.tar.gz, .tgz, .tar.zst, .tar.bz2, .tar.xz) are decompressed
// once, into temporary files. The split is the folder, or what the names say:
// imagenet-train-{000000..000146}.tar; else all is "train". Samples are the members whose names are
// equal up to the first dot; by extension they become
//
//   jpg png ..   image      the field `image`; seg.png is `seg/image`; several pictures that would
//                           be one field keep their extensions
//   cls          label      scalar i64, a column
//   json, txt    string     `json`, `txt`
//   npy          tensor     `npy`; depth.npy is `depth/npy`
//   others       bytes      named by the extension
//
// Id: the key, "000123", or the text of the member `id_member`. Classes: the lines of `classes`, or
// none, and then labels are any integers.
struct WebDatasetOptions {
  std::filesystem::path classes;  // file with the name of one class a line; empty: none
  // samples that lack a member which others have get a null field; otherwise that is an error
  bool allow_missing = false;
  // Pictures whose names end in numbers, such as 0001.jpg or depth_0001.png, are frames of a video:
  // a list in the order of their numbers, the field "frames" or "depth/frames". Otherwise each of
  // them is a field.
  bool numbered_frames = false;
  // The most bytes of a sample's members together, >= 1 KiB; a larger sample is a bad one. Each
  // thread holds a sample in memory.
  int64_t max_sample_bytes = 1LL << 30;
  StoreAs store = StoreAs::jpeg;  // or dct; pictures stay as they are otherwise
  ExifUse exif = ExifUse::ignore;
  // For compressed tars: where they are decompressed, as SourceArguments::temporary_folder, and
  // what ends that.
  std::filesystem::path temporary_folder;
  const std::atomic<bool>* cancel = nullptr;
  // The extension, "id.txt", of the members whose text is the sample's id, and that are no field. A
  // sample without one has its key. Empty: all ids are keys.
  std::string id_member;
  const GroupOfFiles* group = nullptr;  // the tars that are taken; null: all
};
std::unique_ptr<Source> open_webdataset(const std::filesystem::path& path,
                                        const WebDatasetOptions& options = {});
FileListing webdataset_files(const std::filesystem::path& path,
                             const WebDatasetOptions& options = {});

// COCO: path/annotations/instances_<split>.json (or person_keypoints_<split>.json) with the
// pictures in path/<split>/, path/images/<split>/ or path/images/. One record a picture, in the
// order of the file, with N annotations, N = 0 included:
//
//   image           as its file is
//   boxes           f32 [N, 4]: x, y of the left upper corner, width, height, in pixels
//   image_id        i64, column                        annotation_ids  i64 [N]
//   width, height   i64, columns, by the annotations
//   iscrowd         u8 [N]; 0 where it is not said
//   labels          i64 [N]: position of the category among the ids in ascending order, which are
//                   the classes
//   segmentation    string, when asked for: JSON array of the annotations' segmentations (polygons
//                   or RLE), null for those without
//   semantic        image, when asked for: a PNG of the category's id of each pixel, 0 for none; of
//                   8 bits, or of 16 where an id is above 255
//   instances       image, when asked for: a PNG of 16 bits with k + 1 for the annotation k of the
//                   arrays, 0 for none
//   masks           list of N tensors u32 [R, 2], when asked for: the pixels of each annotation as
//                   runs [begin, end), counted along the rows of the picture, ascending and apart;
//                   R = 0 for an annotation without a segmentation
//   area f32 [N], num_keypoints i64 [N], keypoints f32 [N, K, 3]     when all annotations have them
//   keypoints_cam   f32 [N, K, 3]   as sets of poses like MuCo have them, when all have them; of
//   keypoints_img   f32 [N, K, 2]   the shape that they have in the file. f and c are the picture's
//   keypoints_vis   f32 [N, ...]
//   f, c            f32 [2]
//   id              the picture's file name, column
//
// Arrays that some lack, or that are of different shapes, are left out, with a note. Other members
// are ignored. Pictures whose file is missing are an Error(not_found) that counts them. The
// annotation file is read twice when segmentations are asked for, and must stay as it is.
struct CocoOptions {
  // of one split, with `images`: instead of looking for them; below `path`, or as given
  std::filesystem::path annotations;
  std::filesystem::path images;
  // Instead of annotations/instances_*.json: a folder, below `path` or as given, with
  // panoptic_<split>.json and the PNGs in panoptic_<split>/; with `annotations`, the folder of its
  // PNGs. The annotations are the segments then, `segment_ids` stands for `annotation_ids`, and
  // `panoptic` is an image: the PNG as it is, whose red + 256 green + 65536 blue is a segment's id.
  std::filesystem::path panoptic;
  bool keypoints = false;     // person_keypoints_*.json even if there is instances_*.json
  bool segmentation = false;  // field `segmentation`
  // Fields `semantic` and `instances`: the pixels that pycocotools gives polygons and RLE, painted
  // one over the other, crowds first, then the others in the order of the file. A segmentation that
  // is none, or of another size than its picture, makes a bad sample; annotations without one are
  // counted in the report. Error(unsupported) for ids of categories that are not 1 .. 65535. Field
  // `masks`: the same pixels of each annotation for itself.
  bool semantic_masks = false;
  bool instance_masks = false;
  bool mask_runs = false;
  bool allow_missing = false;     // pictures whose file is missing are left out, with a note
  StoreAs store = StoreAs::jpeg;  // or dct; pictures stay as they are otherwise
};
std::unique_ptr<Source> open_coco(const std::filesystem::path& path,
                                  const CocoOptions& options = {});

// Persons with their root joint, one record a person: the annotation files that the authors of
// 3DMPPE_ROOTNET_RELEASE publish, in their layout below `path`. ffkit/pose/person_record.h has the
// fields.
//
//   human36m   annotations/Human36M_subject<N>_{data,camera,joint_3d}.json, images/
//              splits train, test
//   mpii       annotations/train.json, file names below `path`                                train
//   mscoco     annotations/person_keypoints_<split>.json, pictures as for open_coco()         those
//   muco       MuCo-3DHP.json, file names below `path`                                        train
//   mupots     MuPoTS-3D.json, MultiPersonTestSet/                                            test
//   3dpw       3DPW_<split>.json, imageFiles/<sequence>/                                      those
//
// Persons are left out by the rules of that code, which the options have as defaults; notes() and
// facts() count each reason. Lengths are those of the set, mm or m. What is missing in an
// annotation or of another length than the set's joints is an Error(invalid_argument) with file and
// annotation. Boxes are those of `detections` instead, where that is given: a JSON array of
// {image_id, bbox, score}; roots and joints of these persons are not known, but of Human3.6M, where
// a detection is its picture's person.
struct PersonsOptions {
  std::string set;  // one of person_set_names()
  // For one split, with `images`, as for open_coco(); not for human36m.
  std::filesystem::path annotations;
  std::filesystem::path images;
  std::filesystem::path detections;  // below `path`, or as given
  bool allow_missing = false;        // pictures whose file is missing are left out, with a note
  int64_t protocol = 2;              // human36m: 1 trains on subject 9 too, and tests on 11 alone
  int64_t frame_step = -1;           // human36m: takes every n-th frame; -1: 5 to train, 64 to test
  // Beside the person nearest to the camera, those are left out whose root is nearer than this to
  // another's; 0: none. -1: 500 of muco, 0 of others.
  int64_t min_distance = -1;
  int64_t min_depth = -1;     // of the root; -1: 1500 of muco, 0 of others
  int64_t max_depth = -1;     // 0: any; -1: 7500 of muco, any of others
  int64_t box_percent = 125;  // the box that is cropped is as large as this
  // a box with a side of fewer pixels in the picture is left out; one without extent always is
  int64_t min_box = 0;
  StoreAs store = StoreAs::jpeg;
};
void describe(PersonsOptions& options, OptionTable& table);
std::vector<std::string> person_set_names();
std::unique_ptr<Source> open_persons(const std::filesystem::path& path,
                                     const PersonsOptions& options);

// JSON lines: a file with one object a line, or an array of objects; or a folder of such files at
// any depth (*.jsonl, *.ndjson, *.json, each also with .gz, .zst, .bz2 or .xz, which are
// decompressed once, into temporary files without names). The split is the folder, or what the
// names say (train-00001-of-00008.jsonl, val.jsonl); else all is "train". The fields are the
// members of the first line's object:
//
//   text                string; "id" is a column
//   whole numbers       tensor of `token_dtype`, of the array's shape
//   true, false         scalar u8, column             other numbers   tensor of `real_dtype`
//   whole number        scalar i64, column            texts           list of strings
//   other number        scalar f64, column            anything else   string of its JSON text
//
// Every line must have the same members, in any order; null is a null field. Types are settled over
// all lines: whole numbers and others together are other numbers, whichever come first, and null
// and [] tell nothing. Numbers that token_dtype cannot hold are errors. Empty lines are passed
// over. What is kept in memory is 16 bytes a line. A line of more than `max_line_bytes`, 1 KiB .. 4
// GiB, is a bad sample: parsing takes up to about ten times its bytes, in each thread.
struct JsonlOptions {
  DType token_dtype = DType::i32;  // of arrays of whole numbers: u16, i32 or i64
  DType real_dtype = DType::f64;   // of arrays of other numbers: f32 or f64
  int64_t max_line_bytes = 64 << 20;
  std::filesystem::path temporary_folder;     // for decompressed text; empty: $TMPDIR or /tmp
  int num_threads = 0;                        // that settle the types; 0: one for each core
  const std::atomic<bool>* cancel = nullptr;  // once set, listing ends with Error(cancelled)
  const GroupOfFiles* group = nullptr;        // the files that are taken; null: all
};
void describe(JsonlOptions& options, OptionTable& table);
std::unique_ptr<Source> open_jsonl(const std::filesystem::path& path,
                                   const JsonlOptions& options = {});
FileListing jsonl_files(const std::filesystem::path& path, const JsonlOptions& options = {});

// Texts as tokens: a file, or a folder of files at any depth, whose documents become blocks
// (ffkit/text/token_data.h), a record each, of about `block_bytes` of text. With a tokenizer there
// is a split "tokenizer", too. Splits are told by folders and files that are named as splits are.
//
//   .jsonl .ndjson .json    a document is a line, or an element of an array: the text of its member
//                           `text_field`, or the tokens of its member `tokens_field`
//   .txt, or `ending`       a document is a file, or a line; an empty line is an empty document
//
// Each may be compressed (.gz, .zst, .bz2, .xz): such files are decompressed once, into temporary
// files without names. What is something else by its first bytes, such as a picture, is refused by
// name. Only the member that is asked for can make a document of JSON bad; of one that is there
// twice, the last one counts, as in Python.
//
// Bytes that are no UTF-8 become U+FFFD and are counted, but by the tokenizer "bytes". A byte-order
// mark at the beginning of a file is left out, but of texts by "bytes". Documents without a token
// are counted and left out. A token outside of the vocabulary, a document that is no JSON object
// with that member, and a longer one than `max_document_bytes` is an error that names file and
// line; unless ConvertOptions::on_error is fail, that document alone is left out and reported.
// Texts are listed by their sizes where a document is a file, and read once otherwise.
struct TextOptions {
  // As Tokenizer::open() takes it; may be empty with `tokens_field`.
  std::filesystem::path tokenizer;
  // The ending of the files' names, compressed or not; empty: JSON if there is any, else .txt.
  std::string ending;
  // What a document of texts is: "file" or "line"; empty: file. With "file", .json files are texts.
  std::string document;
  std::string text_field = "text";
  std::string tokens_field;         // an array of tokens, instead of a text; empty: texts
  int64_t vocabulary_size = 0;      // without a tokenizer: 1 .. 2^24
  int64_t end_of_text = -1;         // the token behind each document; -1: what the tokenizer says
  int64_t block_bytes = 256 << 10;  // 1 KiB .. 1 GiB
  int64_t max_document_bytes = 64 << 20;      // 1 KiB .. 1 GiB
  std::filesystem::path temporary_folder;     // for decompressed text; empty: $TMPDIR or /tmp
  const std::atomic<bool>* cancel = nullptr;  // once set, listing ends with Error(cancelled)
  const GroupOfFiles* group = nullptr;        // the files that are taken; null: all
};
void describe(TextOptions& options, OptionTable& table);
// Throws Error(invalid_argument) for options that no data could make right.
void validate(const TextOptions& options);
std::unique_ptr<Source> open_text(const std::filesystem::path& path, const TextOptions& options);
FileListing text_files(const std::filesystem::path& path, const TextOptions& options);

// nuScenes: path/<version>/*.json (the tables) with the files they name below `path`. The official
// splits of the version whose scenes are there become one split each, of keyframes, with
// "<split>_sweeps" and "<split>_maps" beside it: ffkit/nuscenes/record.h says what their records
// hold. Records refer to each other by number: none is left out for what is wrong with it, none
// shuffled.
//
// Tables and files are checked first. Missing or empty files are an Error(not_found) that counts
// them by sensor, unless allow_partial: then their picture or points are null, sweeps without a
// file are left out, and so are keyframes of which no file is there; files that are damaged are
// then null fields too, with a line in the report. lidarseg, panoptic, CAN bus and map masks are
// taken when they are there; notes() says which.
struct NuScenesOptions {
  // "v1.0-trainval", "v1.0-test", "v1.0-mini", or a folder with splits.json; empty: the one that is
  // there
  std::string version;
  std::vector<std::string> splits;  // to convert, official ones or those of splits.json; empty: all
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
  ImageStorage images;  // intrinsics are scaled with pictures that are resized; ExifUse::ignore
};
void describe(NuScenesOptions& options, OptionTable& table);
std::unique_ptr<Source> open_nuscenes(const std::filesystem::path& path,
                                      const NuScenesOptions& options = {});

// All splits of the data set at `path`, of FFRecord v1 or ffkit's own: a data set folder, one
// split's folder, a folder of v1 files, or one file. Throws Error(not_found) for a folder without
// any, and as Dataset::open does.
std::vector<Dataset> open_splits(const std::filesystem::path& path,
                                 const ShardReaderOptions& options = {});

// Data sets that are there already, v1 ones above all, each split a Dataset as open_splits() gives
// them; their records are taken over field by field. Splits whose name begins with "train" are
// training splits. All must have the same schema and, where they have any, the same classes:
// Error(invalid_argument) otherwise.
std::unique_ptr<Source> open_datasets(std::vector<Dataset> splits);

// Data sets of ffkit's own again, each split a Dataset, whole, as open_splits() gives them, with
// the pictures in the dct code or, for StoreAs::jpeg, as the JPEGs that they were made from.
// Everything else is taken over: other fields, the order of the records, and the manifest with its
// schema, classes, facts and options. A picture without a dct code stays as it is and is reported.
// Throws Error(invalid_argument) for FFRecord v1, for a part of a conversion, and when no field
// holds pictures. Read errors are those of Dataset::read() and decode_dct_to_jpeg().
struct TranscodeOptions {
  StoreAs store = StoreAs::dct;  // or jpeg
  bool keeps_shards = true;      // with the same records as before; false: they are cut by size
};
std::unique_ptr<Source> open_transcoded(std::vector<Dataset> splits,
                                        const TranscodeOptions& options);
// Sets zstd_level and zstd_dictionary_bytes to what `splits` were made with: the first level that
// is not 0, the largest dictionary.
void take_over_compression(const std::vector<Dataset>& splits, ConvertOptions& options);

// Generated pictures of textured shapes that a network can learn, for trying things out without
// data. The class is given by shape, texture and number of shapes; colours, places, sizes, turns
// and noise are random. `conversion` is what the pictures are converted with: its seed draws them.
struct DemoOptions {
  int64_t num_classes = 10;  // 2 .. 1152
  int64_t num_train = 2000;  // pictures, 1 or more; classes take turns
  int64_t num_val = 500;     // 0: no val split
  int64_t size = 64;         // width and height in pixels, 16 .. 2048
  ImageStorage images;
};
void describe(DemoOptions& options, OptionTable& table);
std::unique_ptr<Source> make_demo(const DemoOptions& options, const ConvertOptions& conversion);

// Made-up persons in records of open_persons(): figures of 17 joints as MuPoTS has them, before a
// camera that is known, one in each picture, 2.5 to 7 m away.
struct DemoPoseOptions {
  int64_t num_train = 2000;  // pictures, 1 or more
  int64_t num_val = 500;     // 0: no val split
  int64_t size = 128;        // width and height in pixels, 32 .. 2048
  ImageStorage images;       // without a change of size
};
std::unique_ptr<Source> make_demo_pose(const DemoPoseOptions& options,
                                       const ConvertOptions& conversion);

// A made-up nuScenes set that a detector can learn: a vehicle drives along a road, with five to
// nine objects of seven classes around it, seen by six cameras and a lidar; the radars measure
// nothing. A root in the official layout is written when the source is made, and read by
// open_nuscenes() with its default options; records, facts and options do not depend on the folder.
// Of `conversion` the seed draws the scenes, and the threads write the root until it is cancelled.
struct DemoNuScenesOptions {
  int64_t num_train_scenes = 60;  // 1 .. 700
  int64_t num_val_scenes = 12;    // 0 .. 150; 0: no val split
  int64_t num_keyframes = 10;     // of a scene, half a second apart, 2 .. 100
  int64_t width = 320;  // of pictures, 64 .. 1600, a multiple of 16; the height is 9/16 of it
  // Where the root is kept: a new or empty folder, or one that holds the root of the same numbers,
  // which is used as it is. Empty: a temporary folder in $TMPDIR or /tmp, which the source removes
  // in its destructor.
  std::filesystem::path root;
  ImageStorage images;
};
void describe(DemoNuScenesOptions& options, OptionTable& table);
// Throws Error(invalid_argument) for numbers out of range and for a root folder that holds anything
// else, Error(io), Error(cancelled). What was written of an unfinished root is removed.
std::unique_ptr<Source> make_demo_nuscenes(const DemoNuScenesOptions& options,
                                           const ConvertOptions& conversion);

}  // namespace ffkit
