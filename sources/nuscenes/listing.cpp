#include "nuscenes/listing.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <unordered_map>

#include <ffkit/base/option_names.h>

#include "archives/parallel_io.h"
#include "base/fnv.h"
#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "nuscenes/tables/json_rows.h"
#include "pictures/image_sample.h"

namespace ffkit::nuscenes {
namespace {

constexpr int64_t kNotTaken = -1;
constexpr size_t kExamples = 3;

// Zeros for what is not there or no file.
FileStamp stamp_of_file(const fs::path& path) {
  std::error_code none;
  const FileStamp stamp = stamp_of(path, none);
  return none ? FileStamp{} : stamp;
}

struct Missing {
  int64_t num_missing = 0;
  int64_t num_all = 0;
};

}  // namespace

Listing::Listing(const Tables& tables, fs::path root, const std::string& version,
                 const ListingOptions& options)
    : t_(tables), root_(std::move(root)), options_(options) {
  find_key_frames();
  list_keyframes(version);
  mark_files();
  look_at_files();
  look_at_labels(t_.lidarseg, "lidarseg", has_lidarseg_);
  look_at_labels(t_.panoptic, "panoptic", has_panoptic_);
  leave_out_empty_keyframes();
  list_sweeps();
  count_sweeps_left_out();
  list_maps();
  note_parts_left_out(version);
  if (t_.num_further_attributes > 0) {
    notes_.push_back(
        fmt::format("{} annotations outside of the ten classes have more than one attribute; only "
                    "the first one is stored",
                    t_.num_further_attributes));
  }
  if (t_.num_other_channels > 0) {
    notes_.push_back(fmt::format("{} rows of sample_data.json for other sensors are left out",
                                 t_.num_other_channels));
  }
}

// What the official packages and well-known additions bring, and records do not hold.
void Listing::note_parts_left_out(const std::string& version) {
  const std::string boxes = version + "/image_annotations.json";
  constexpr const char* kNoTable = "labels of points, but their table is missing";
  struct Part {
    std::string_view path;
    const char* what;
  };
  for (const Part& part :
       {Part{"maps/expansion", "the vector maps of the map expansion"},
        Part{"maps/prediction", "the scenes of the prediction challenge"},
        Part{"maps/basemap", "the base maps of the map expansion"}, Part{"gts", "occupancy"},
        Part{boxes, "2D boxes"}, Part{t_.lidarseg.is_there ? "" : "lidarseg", kNoTable},
        Part{t_.panoptic.is_there ? "" : "panoptic", kNoTable}}) {
    if (part.path.empty() || !exists_at(root_ / part.path)) continue;
    add_note(notes_, std::string(part.path), "is not converted: it contains {}", part.what);
  }
}

int64_t Listing::number_of(Row sample) const {
  if (sample == kNoRow || keyframe_number_[sample] == kNoRow) return -1;
  return keyframe_number_[sample];
}

int64_t Listing::map_number(const SplitListing& split, Row map) {
  const auto found = std::ranges::find(split.maps, map);
  return map == kNoRow || found == split.maps.end() ? -1 : found - split.maps.begin();
}

std::string_view Listing::labels(const LabelFiles& files, Row sample) const {
  const std::vector<bool>& is_there = &files == &t_.lidarseg ? has_lidarseg_ : has_panoptic_;
  if (!is_there[sample]) return {};
  return files.of(key_frames_[sample][kLidarChannel]);
}

template <typename Use>
void Listing::for_frames_before(Row sample, uint8_t channel, const Use& use) const {
  Row row = key_frames_[sample][channel];
  for (int i = 0; i < options_.num_sweeps[channel]; ++i) {
    row = t_.sample_data.prev[row];
    if (row == kNoRow) return;
    use(row);
  }
}

std::vector<FrameReference> Listing::sweeps(Row sample, uint8_t channel) const {
  std::vector<FrameReference> found;
  for_frames_before(sample, channel, [&](Row row) {
    if (file_bytes_[row] <= 0) return;
    if (!t_.sample_data.is_key_frame[row]) {
      found.push_back({1, sweep_number_[row]});
    } else if (const int64_t number = number_of(t_.sample_data.sample[row]); number >= 0) {
      found.push_back({0, number});
    }
  });
  return found;
}

void Listing::find_key_frames() {
  std::array<Row, kNumChannels> none;
  none.fill(kNoRow);
  key_frames_.assign(t_.samples.size(), none);
  const SampleDataRows& all = t_.sample_data;
  for (Row row = 0; row < all.size(); ++row) {
    if (!all.is_key_frame[row] || all.channel[row] == kOtherChannel) continue;
    Row& place = key_frames_[all.sample[row]][all.channel[row]];
    if (place != kNoRow) {
      throw source_error(
          root_, ErrorCode::corrupt,
          "rows {} and {} of sample_data.json are both the key frame of {} in one sample; {}",
          to_string(all.token[place]), to_string(all.token[row]), channel_name(all.channel[row]),
          kUnpackAgain);
    }
    place = row;
  }
}

void Listing::list_keyframes(const std::string& version) {
  std::unordered_map<std::string_view, Row> scene_of;
  for (Row scene = 0; scene < t_.scenes.size(); ++scene) {
    scene_of.emplace(t_.scenes.name[scene], scene);
  }
  keyframe_number_.assign(t_.samples.size(), kNoRow);
  require_channels();
  size_t num_taken = 0;
  std::unordered_map<Row, std::string> split_of;  // by scene
  for (const SceneSplit& wanted :
       list_scene_splits(root_ / version, version, t_.scenes.name, options_.splits, notes_)) {
    SplitListing split{.name = wanted.name};
    size_t num_found = 0;
    for (const std::string& scene : wanted.scenes) {
      const auto found = scene_of.find(scene);
      if (found == scene_of.end()) continue;
      ++num_found;
      const auto [other, is_new] = split_of.emplace(found->second, wanted.name);
      if (!is_new) {
        throw source_error(root_ / version / kSplitsFile, ErrorCode::invalid_argument,
                           "scene '{}' is in the splits '{}' and '{}'; choose the splits with {}",
                           scene, other->second, wanted.name, option_name("splits"));
      }
      list_scene(found->second, split);
    }
    num_taken += num_found;
    if (num_found < wanted.scenes.size()) {
      notes_.push_back(fmt::format("the tables have {} of {} scenes of split {}", num_found,
                                   wanted.scenes.size(), wanted.name));
    }
    if (!split.keyframes.empty()) splits_.push_back(std::move(split));
  }
  if (splits_.empty()) {
    throw source_error(root_ / version / "scene.json", ErrorCode::invalid_argument,
                       "none of the {} scenes belongs to a split of {}; check the version. For "
                       "your own scenes, write the splits into {}, which the devkit also reads",
                       t_.scenes.size(), version, (root_ / version / kSplitsFile).string());
  }
  if (num_taken < t_.scenes.size()) {
    notes_.push_back(
        fmt::format("{} of the {} scenes belong to no converted split of {} and are left out",
                    t_.scenes.size() - num_taken, t_.scenes.size(), version));
  }
}

// Says at once which sensors a rig does not have.
void Listing::require_channels() const {
  std::array<bool, kNumChannels> is_there{};
  for (const auto& frames : key_frames_) {
    for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
      if (frames[channel] != kNoRow) is_there[channel] = true;
    }
  }
  std::vector<std::string_view> missing;
  std::vector<std::string_view> cameras;  // that there are
  bool lacks_radar = false, lacks_camera = false;
  for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
    if (is_camera(channel) && is_there[channel]) cameras.push_back(channel_name(channel));
    if (!options_.is_taken[channel] || is_there[channel]) continue;
    missing.push_back(channel_name(channel));
    lacks_radar = lacks_radar || is_radar(channel);
    lacks_camera = lacks_camera || is_camera(channel);
  }
  if (missing.empty()) return;
  std::vector<std::string> remedies;
  if (lacks_radar) remedies.push_back("leave the radars out with " + option_on("no_radar"));
  if (lacks_camera) {
    remedies.push_back(fmt::format(
        "choose the existing cameras with {}",
        option_set("cameras",
                   cameras.empty() ? "none" : fmt::format("{}", fmt::join(cameras, ",")))));
  }
  if (!options_.is_taken[kLidarChannel] || is_there[kLidarChannel]) {
    throw source_error(root_, ErrorCode::invalid_argument,
                       "sample_data.json has no key frame of {}; {}", fmt::join(missing, ", "),
                       fmt::join(remedies, ", and "));
  }
  throw source_error(root_, ErrorCode::unsupported,
                     "sample_data.json has no key frame of {}; ffkit converts only data sets with "
                     "a lidar, because all other sensors are stored relative to the lidar",
                     fmt::join(missing, ", "));
}

void Listing::list_scene(Row scene, SplitListing& split) {
  const auto refuse = [&](const std::string& what) {
    throw source_error(root_, ErrorCode::corrupt, "scene '{}' {}; {}", t_.scenes.name[scene], what,
                       kUnpackAgain);
  };
  int64_t count = 0;
  for (Row sample = t_.scenes.first_sample[scene]; sample != kNoRow;
       sample = t_.samples.next[sample]) {
    if (t_.samples.scene[sample] != scene) {
      refuse(
          fmt::format("has the sample {} in its chain of 'next' tokens, but this sample belongs to "
                      "another scene",
                      to_string(t_.samples.token[sample])));
    }
    for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
      if (options_.is_taken[channel] && key_frames_[sample][channel] == kNoRow) {
        refuse(fmt::format("has no key frame of {} for sample {} in sample_data.json",
                           channel_name(channel), to_string(t_.samples.token[sample])));
      }
    }
    split.keyframes.push_back(sample);
    ++count;
  }
  if (count != t_.scenes.num_samples[scene]) {
    refuse(fmt::format("has {} samples in scene.json, but {} samples in sample.json",
                       t_.scenes.num_samples[scene], count));
  }
}

// Marks the files that will be read: those of keyframes, and of the frames before them.
void Listing::mark_files() {
  file_bytes_.assign(t_.sample_data.size(), kNotTaken);
  for (const SplitListing& split : splits_) {
    for (const Row sample : split.keyframes) {
      for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
        if (!options_.is_taken[channel]) continue;
        file_bytes_[key_frames_[sample][channel]] = 0;
        for_frames_before(sample, channel, [this](Row row) { file_bytes_[row] = 0; });
      }
    }
  }
}

void Listing::look_at_files() {
  const SampleDataRows& all = t_.sample_data;
  std::vector<Row> taken;
  for (Row row = 0; row < all.size(); ++row) {
    if (file_bytes_[row] != kNotTaken) taken.push_back(row);
  }
  modified_ns_.assign(all.size(), 0);
  parallel_io(taken.size(), [&](size_t i) {
    const FileStamp stamp = stamp_of_file(root_ / all.filename[taken[i]]);
    file_bytes_[taken[i]] = stamp.num_bytes;
    modified_ns_[taken[i]] = stamp.modified_ns;
  });
  std::array<Missing, kNumChannels> missing{};
  std::vector<std::string_view> examples;
  int64_t num_missing = 0;
  for (const Row row : taken) {
    const uint8_t channel = all.channel[row];
    ++missing[channel].num_all;
    constexpr int64_t kPointBytes = 20;
    if (channel == kLidarChannel && file_bytes_[row] % kPointBytes != 0) {
      if (!options_.allow_partial) {
        throw source_error(root_ / all.filename[row], ErrorCode::corrupt,
                           "the file has {} bytes, but each point has 20 bytes (five f32); unpack "
                           "the file again, or leave its field empty with {}",
                           file_bytes_[row], option_on("allow_partial"));
      }
      file_bytes_[row] = 0;
    }
    if (file_bytes_[row] > 0) continue;
    ++num_missing;
    ++missing[channel].num_missing;
    if (examples.size() < kExamples) examples.push_back(all.filename[row]);
  }
  if (num_missing == 0) return;
  std::vector<std::string> by_sensor;
  for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
    if (missing[channel].num_missing == 0) continue;
    by_sensor.push_back(fmt::format("{} {} of {}", channel_name(channel),
                                    missing[channel].num_missing, missing[channel].num_all));
  }
  const std::string what =
      fmt::format("{} of the {} files are missing, empty or cut off ({}): {}{}", num_missing,
                  taken.size(), fmt::join(by_sensor, ", "), fmt::join(examples, ", "),
                  num_missing > static_cast<int64_t>(kExamples) ? ", ..." : "");
  if (!options_.allow_partial) {
    throw source_error(
        root_, ErrorCode::not_found,
        "{}; unpack the v1.0-*_blobs.tgz archives with these files, leave out sensors or sweeps "
        "with {}, {} or {}, or convert only the existing files with {}",
        what, option_name("cameras"), option_name("no_radar"), option_name("keyframes_only"),
        option_on("allow_partial"));
  }
  notes_.push_back(what + "; the fields of these files are null");
}

void Listing::look_at_labels(const LabelFiles& files, const char* what,
                             std::vector<bool>& is_there) {
  is_there.assign(t_.samples.size(), false);
  labels_modified_.resize(t_.samples.size());
  if (!files.is_there || !options_.is_taken[kLidarChannel]) return;
  std::vector<Row> samples;
  for (const SplitListing& split : splits_) {
    samples.insert(samples.end(), split.keyframes.begin(), split.keyframes.end());
  }
  std::vector<uint8_t> found(samples.size(), 0);
  parallel_io(samples.size(), [&](size_t i) {
    const std::string_view name = files.of(key_frames_[samples[i]][kLidarChannel]);
    if (name.empty()) return;
    const FileStamp stamp = stamp_of_file(root_ / name);
    found[i] = stamp.num_bytes > 0 ? 1 : 0;
    uint64_t& modified = labels_modified_[samples[i]];
    for (const int64_t number : {stamp.num_bytes, stamp.modified_ns}) {
      modified = fnv1a64(std::as_bytes(std::span(&number, 1)), modified);
    }
  });
  int64_t num_found = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    is_there[samples[i]] = found[i] != 0;
    num_found += found[i];
  }
  // v1.0-test has the table's name but no labels.
  if (num_found == std::ssize(samples)) {
    notes_.push_back(fmt::format("{} labels are used", what));
  } else {
    notes_.push_back(
        fmt::format("{} of the {} keyframes have a file of {} labels; the others have null",
                    num_found, samples.size(), what));
  }
}

// A keyframe of which nothing is there, as of blobs that were not downloaded, is no record.
void Listing::leave_out_empty_keyframes() {
  size_t num_left_out = 0;
  for (SplitListing& split : splits_) {
    num_left_out += std::erase_if(split.keyframes, [this](Row sample) {
      for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
        if (options_.is_taken[channel] && file_bytes_[key_frames_[sample][channel]] > 0)
          return false;
      }
      return true;
    });
    for (size_t i = 0; i < split.keyframes.size(); ++i) {
      keyframe_number_[split.keyframes[i]] = static_cast<Row>(i);
    }
  }
  std::erase_if(splits_, [](const SplitListing& split) { return split.keyframes.empty(); });
  if (splits_.empty()) {
    throw source_error(
        root_, ErrorCode::not_found,
        "the folder has no files of keyframes; unpack v1.0-*_blobs.tgz in this folder");
  }
  if (num_left_out > 0) {
    notes_.push_back(
        fmt::format("ffkit leaves out {} keyframes, because they have no files", num_left_out));
  }
}

void Listing::list_sweeps() {
  const SampleDataRows& all = t_.sample_data;
  sweep_number_.assign(all.size(), kNoRow);
  constexpr Row kListed = 0;
  for (SplitListing& split : splits_) {
    std::unordered_map<Row, size_t> position_of;  // of scenes, in the split's order
    for (const Row sample : split.keyframes) {
      position_of.emplace(t_.samples.scene[sample], position_of.size());
      for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
        if (!options_.is_taken[channel]) continue;
        for_frames_before(sample, channel, [&](Row row) {
          if (all.is_key_frame[row] || file_bytes_[row] <= 0 || sweep_number_[row] != kNoRow)
            return;
          sweep_number_[row] = kListed;
          split.sweeps.push_back(row);
        });
      }
    }
    std::ranges::sort(split.sweeps, {}, [&](Row row) {
      return std::tuple(position_of.at(t_.samples.scene[all.sample[row]]), all.channel[row],
                        all.timestamp[row], row);
    });
    for (size_t i = 0; i < split.sweeps.size(); ++i) {
      sweep_number_[split.sweeps[i]] = static_cast<Row>(i);
    }
  }
}

// Frames between the keyframes that are taken, but farther back from the next one than was asked
// for.
void Listing::count_sweeps_left_out() {
  const SampleDataRows& all = t_.sample_data;
  std::vector<bool> is_listed(t_.scenes.size(), false);
  for (const SplitListing& split : splits_) {
    for (const Row sample : split.keyframes) is_listed[t_.samples.scene[sample]] = true;
  }
  std::array<int64_t, kNumChannels> num_left_out{};
  int64_t num_all = 0;
  for (Row row = 0; row < all.size(); ++row) {
    const uint8_t channel = all.channel[row];
    if (channel == kOtherChannel || !options_.is_taken[channel] || all.is_key_frame[row]) continue;
    if (options_.num_sweeps[channel] == 0 || !is_listed[t_.samples.scene[all.sample[row]]])
      continue;
    ++num_all;
    if (file_bytes_[row] == kNotTaken) ++num_left_out[channel];
  }
  std::vector<std::string> by_sensor;
  int64_t sum = 0;
  for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
    if (num_left_out[channel] == 0) continue;
    sum += num_left_out[channel];
    by_sensor.push_back(fmt::format("{} {}", channel_name(channel), num_left_out[channel]));
  }
  if (sum == 0) return;
  notes_.push_back(
      fmt::format("{} of the {} frames between keyframes are left out ({}): they are farther back "
                  "than {}, {} and {} allow, or come after the last keyframe",
                  sum, num_all, fmt::join(by_sensor, ", "), option_name("sweeps"),
                  option_name("radar_sweeps"), option_name("camera_sweeps")));
}

void Listing::list_maps() {
  std::vector<bool> is_there;
  int64_t num_missing = 0;
  int64_t num_damaged = 0;
  for (const std::string& filename : t_.maps.filename) {
    const fs::path path = root_ / filename;
    const bool is_missing = stamp_of_file(path).num_bytes == 0;
    const std::string problem = is_missing ? "" : problem_of_png(path);
    num_missing += is_missing ? 1 : 0;
    num_damaged += problem.empty() ? 0 : 1;
    is_there.push_back(!is_missing && problem.empty());
    if (problem.empty() || options_.allow_partial) continue;
    throw source_error(
        path, ErrorCode::corrupt,
        problem + "; unpack the map again, or leave it out with " + option_on("allow_partial"));
  }
  for (SplitListing& split : splits_) {
    std::vector<bool> is_used(t_.maps.size(), false);
    for (const Row sample : split.keyframes) {
      const Row map = t_.maps.of_log[t_.scenes.log[t_.samples.scene[sample]]];
      if (map != kNoRow && is_there[map]) is_used[map] = true;
    }
    for (Row map = 0; map < t_.maps.size(); ++map) {
      if (is_used[map]) split.maps.push_back(map);
    }
  }
  if (num_missing > 0) {
    notes_.push_back(fmt::format("{} of the {} map masks are missing and are left out", num_missing,
                                 is_there.size()));
  }
  if (num_damaged > 0) {
    notes_.push_back(fmt::format("{} of the {} map masks are damaged and are left out", num_damaged,
                                 is_there.size()));
  }
}

}  // namespace ffkit::nuscenes
