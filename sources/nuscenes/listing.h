// What a conversion of nuScenes will write, in which order and under which numbers; made from the
// tables and from which files are there. Immutable, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nuscenes/tables/tables.h"

namespace ffkit::nuscenes {

struct ListingOptions {
  std::array<bool, kNumChannels> is_taken{};  // channels of keyframes
  // Frames before a keyframe that it refers to; 0: no such field.
  std::array<int, kNumChannels> num_sweeps{};
  bool allow_partial = false;
  std::vector<std::string> splits;  // to take; empty: all
};

struct SplitListing {
  std::string name;
  std::vector<Row> keyframes;  // rows of sample, in record order
  std::vector<Row> sweeps;     // rows of sample_data
  std::vector<Row> maps;       // rows of map
};

// {0, number of a keyframe} or {1, number of a sweep}
using FrameReference = std::array<int64_t, 2>;

class Listing {
 public:
  // The splits of `version` that the tables have scenes of, official ones and those of splits.json.
  // `tables` must outlive this. Looks at every file that will be read. Throws Error(not_found) when
  // some are missing, with their number by sensor and the first of them, unless they may be;
  // Error(corrupt) for tables that contradict themselves, and, unless files may be missing, for
  // lidar files that are no whole number of points and for map masks that are no whole PNG;
  // Error(invalid_argument) when no scene is of a split, when one is of two, and for a sensor that
  // the tables do not have.
  Listing(const Tables& tables, std::filesystem::path root, const std::string& version,
          const ListingOptions& options);

  const std::vector<SplitListing>& splits() const { return splits_; }
  const std::vector<std::string>& notes() const { return notes_; }
  bool allows_partial() const { return options_.allow_partial; }

  // The row of sample_data of a keyframe's channel.
  Row key_frame(Row sample, uint8_t channel) const { return key_frames_[sample][channel]; }
  // Of the file of a row of sample_data that is taken; 0 when it is missing.
  int64_t file_bytes(Row sample_data) const { return file_bytes_[sample_data]; }
  // Time of modification of that file, and a hash of those of a keyframe's labels; 0 for none.
  int64_t modified_ns(Row sample_data) const { return modified_ns_[sample_data]; }
  uint64_t labels_modified(Row sample) const { return labels_modified_[sample]; }
  // Number of a keyframe's record in its split, or -1 for kNoRow and for what is left out.
  int64_t number_of(Row sample) const;
  // Of a map's record in a split; -1 for kNoRow and for a map without a file.
  static int64_t map_number(const SplitListing& split, Row map);
  // The frames before a keyframe that are there, newest first.
  std::vector<FrameReference> sweeps(Row sample, uint8_t channel) const;
  // The labels' file of a keyframe, empty for none.
  std::string_view labels(const LabelFiles& files, Row sample) const;

 private:
  void list_keyframes(const std::string& version);
  void require_channels() const;
  void list_scene(Row scene, SplitListing& split);
  void find_key_frames();
  void mark_files();
  void look_at_files();
  void look_at_labels(const LabelFiles& files, const char* what, std::vector<bool>& is_there);
  void leave_out_empty_keyframes();
  void list_sweeps();
  void list_maps();
  void note_parts_left_out(const std::string& version);
  void count_sweeps_left_out();
  // Calls use(row of sample_data) for the frames before a keyframe, newest first.
  template <typename Use>
  void for_frames_before(Row sample, uint8_t channel, const Use& use) const;

  const Tables& t_;
  const std::filesystem::path root_;
  const ListingOptions options_;
  std::vector<SplitListing> splits_;
  std::vector<std::string> notes_;
  std::vector<std::array<Row, kNumChannels>> key_frames_;  // by sample
  std::vector<int64_t> file_bytes_;                        // by sample_data; -1: not taken
  std::vector<int64_t> modified_ns_;                       // by sample_data
  std::vector<uint64_t> labels_modified_;                  // by sample
  std::vector<Row> keyframe_number_;                       // by sample
  std::vector<Row> sweep_number_;                          // by sample_data
  std::vector<bool> has_lidarseg_;                         // by sample
  std::vector<bool> has_panoptic_;
};

// Splits of nuScenes' tables: the official ones, and those that the devkit reads from splits.json
// beside the tables, {"my_train": ["scene-0001", ..]}.

inline constexpr const char* kSplitsFile = "splits.json";

bool is_official_version(std::string_view version);

struct SceneSplit {
  std::string name;
  std::vector<std::string> scenes;  // names; not all need be in the tables
  bool is_own = false;              // of splits.json
};

// The splits of `folder`, the tables of `version`, that `wanted` names, all where it is empty:
// official ones first, then those of splits.json, in its order. A split of splits.json that is
// called as one that the devkit has a list of is taken in place of it where the tables have no
// scene of that list, with a note. Throws Error(corrupt or invalid_argument) for a splits.json that
// is not as the devkit wants it or means something else there, and for a wanted split that is not
// there.
std::vector<SceneSplit> list_scene_splits(const std::filesystem::path& folder,
                                          const std::string& version,
                                          const std::vector<std::string>& scenes,
                                          const std::vector<std::string>& wanted,
                                          std::vector<std::string>& notes);

}  // namespace ffkit::nuscenes
