#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/sources/nuscenes.h>

#include "archives/parallel_io.h"
#include "base/fnv.h"
#include "converter/input/input_file.h"
#include "converter/input/listed_source.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "nuscenes/can_bus.h"
#include "nuscenes/listing.h"
#include "nuscenes/record_reader.h"
#include "nuscenes/tables/tables.h"

namespace ffkit {
namespace nuscenes {
namespace {

// The folder of tables that is there.
std::string find_version(const fs::path& path, const std::string& wanted) {
  if (!is_folder_at(path)) {
    throw source_error(path, ErrorCode::not_found,
                       "there is no such folder; give the folder with v1.0-*/ and samples/");
  }
  std::vector<std::string> found;
  for (const char* version : {"v1.0-trainval", "v1.0-test", "v1.0-mini"}) {
    if (is_folder_at(path / version)) found.emplace_back(version);
  }
  // Own sets may have a version of any name; the devkit looks for their splits there.
  for (const FolderEntry& entry : FolderEntries(path)) {
    const std::string name = entry.path().filename().string();
    if (std::ranges::find(found, name) != found.end()) continue;
    std::error_code none;
    if (exists_at(entry.path() / kSplitsFile, none) &&
        exists_at(entry.path() / "scene.json", none)) {
      found.push_back(name);
    }
  }
  std::ranges::sort(found);
  const std::string is_there = found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
  if (!wanted.empty()) {
    if (std::ranges::find(found, wanted) != found.end()) return wanted;
    const std::string remedy =
        is_official_version(wanted)
            ? fmt::format("unpack {}_meta.tgz in this folder", wanted)
            : fmt::format("for your own scenes, write the splits into {} beside the tables",
                          kSplitsFile);
    throw source_error(
        path, ErrorCode::not_found,
        "there is no folder {} with the tables (existing folders with tables: {}); {}", wanted,
        is_there, remedy);
  }
  if (found.size() == 1) return found.front();
  throw source_error(
      path, ErrorCode::not_found,
      "expected one folder with tables (v1.0-trainval, v1.0-test, v1.0-mini, or another folder "
      "with {}), but found {}; {}",
      kSplitsFile, is_there,
      found.empty() ? "unpack v1.0-*_meta.tgz here" : "choose one with " + option_name("version"));
}

KeyframeFields fields_of(const NuScenesOptions& options) {
  KeyframeFields fields{.radar = options.radar,
                        .lidar_dtype = options.lidar_dtype,
                        .lidar_sweeps = options.lidar_sweeps > 0,
                        .radar_sweeps = options.radar_sweeps > 0,
                        .camera_sweeps = options.camera_sweeps > 0};
  check_options(options);
  for (const std::string& camera : options.cameras) {
    if (std::ranges::find(kCameras, camera) != kCameras.end()) continue;
    throw error_of(ErrorCode::invalid_argument, "'{}' is not a camera; the cameras are {}", camera,
                   fmt::join(kCameras, ", "));
  }
  for (const std::string_view camera : kCameras) {
    const bool is_named = std::ranges::find(options.cameras, camera) != options.cameras.end();
    if (options.all_cameras || is_named) fields.cameras.emplace_back(camera);
  }
  return fields;
}

ListingOptions listing_options(const NuScenesOptions& options, const KeyframeFields& fields) {
  ListingOptions result{.allow_partial = options.allow_partial, .splits = options.splits};
  for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
    if (is_camera(channel)) {
      result.is_taken[channel] =
          std::ranges::find(fields.cameras, channel_name(channel)) != fields.cameras.end();
      result.num_sweeps[channel] = options.camera_sweeps;
    } else if (channel == kLidarChannel) {
      result.is_taken[channel] = true;
      result.num_sweeps[channel] = options.lidar_sweeps;
    } else {
      result.is_taken[channel] = options.radar;
      result.num_sweeps[channel] = options.radar_sweeps;
    }
  }
  return result;
}

// The files that are neither a sample's own nor told by the tables: the tables, and the messages of
// the CAN bus.
std::vector<SourceInput> list_inputs(const fs::path& root, const std::string& version) {
  std::vector<SourceInput> inputs;
  for (const fs::path& folder : {root / version, root / "can_bus"}) {
    std::error_code none;
    for (const FolderEntry& entry : FolderEntries(folder, none)) {
      if (entry.path().extension() != ".json" || entry.is_directory()) continue;
      inputs.push_back({.name = entry.path().lexically_relative(root).string()});
    }
  }
  std::ranges::sort(inputs, {}, &SourceInput::name);
  parallel_io_that_throws(inputs.size(), [&](size_t i) {
    inputs[i] = input_of(inputs[i].name, InputFile(root / inputs[i].name));
  });
  return inputs;
}

std::unique_ptr<Tables> load_tables(const fs::path& folder) {
  auto tables = std::make_unique<Tables>();
  read_tables(folder, *tables);
  return tables;
}

std::vector<std::string> scenes_of(const Tables& tables, const Listing& listing) {
  std::vector<std::string> scenes;
  for (const SplitListing& split : listing.splits()) {
    for (const Row sample : split.keyframes) {
      const std::string& name = tables.scenes.name[tables.samples.scene[sample]];
      if (scenes.empty() || scenes.back() != name) scenes.push_back(name);
    }
  }
  return scenes;
}

KeyframeFields with_can_bus(KeyframeFields fields, const CanBus& can_bus) {
  fields.can_bus = can_bus.messages();
  return fields;
}

class NuScenes : public ListedSource {
 public:
  NuScenes(const fs::path& path, const NuScenesOptions& options)
      : path_(path),
        options_(options),
        version_(find_version(path, options.version)),
        fields_(fields_of(options)),
        storer_(options.images),
        inputs_(list_inputs(path, version_)),
        tables_(load_tables(path / version_)),
        listing_(*tables_, path, version_, listing_options(options, fields_)),
        can_bus_(path, scenes_of(*tables_, listing_)),
        reader_(*tables_, listing_, can_bus_, path, with_can_bus(fields_, can_bus_), storer_,
                options.radar_filter) {
    classes_.assign(kClasses.begin(), kClasses.end());
    notes_ = listing_.notes();
    if (can_bus_.num_messages() > 0) {
      notes_.push_back(fmt::format("CAN bus messages are converted ({}); {} scenes have none",
                                   fmt::join(can_bus_.messages(), ", "),
                                   can_bus_.num_scenes_without()));
    }
    if (can_bus_.num_empty_files() > 0) {
      notes_.push_back(fmt::format("{} files of CAN bus messages are empty and count as missing",
                                   can_bus_.num_empty_files()));
    }
    for (const SplitListing& split : listing_.splits()) {
      add(split, Kind::keyframes, split.name, split.keyframes.size());
      add(split, Kind::sweeps, sweeps_split(split.name), split.sweeps.size());
      add(split, Kind::maps, maps_split(split.name), split.maps.size());
    }
  }

  Schema schema() const override { return reader_.keyframe_schema(); }
  bool has_record_references() const override { return true; }
  bool checks_headers_only() const override { return storer_.checks_headers_only(); }
  std::vector<fs::path> roots() const override { return {path_}; }

  Schema split_schema(size_t split) const override {
    const Kind kind = splits_.at(split).kind;
    if (kind == Kind::sweeps) return reader_.sweep_schema();
    return kind == Kind::maps ? reader_.map_schema() : reader_.keyframe_schema();
  }

  std::map<std::string, std::string> facts(size_t /*split*/) const override {
    std::map<std::string, std::string> facts = {
        {"kind", "nuscenes"},
        {"path", absolute_name(path_)},
        {"version", version_},
        {"license", "CC BY-NC-SA 4.0, https://www.nuscenes.org/terms-of-use"}};
    if (!tables_->label_names.empty()) {
      facts["lidarseg_names"] = fmt::format("{}", fmt::join(tables_->label_names, ","));
    }
    const std::vector<std::string> messages = can_bus_.messages();
    for (size_t i = 0; i < messages.size(); ++i) {
      facts[can_bus_field(messages[i])] = can_bus_.columns(i);
    }
    return facts;
  }

  std::map<std::string, std::string> options() const override {
    std::map<std::string, std::string> options = manifest_options(options_.images);
    options["cameras"] = fmt::format("{}", fmt::join(fields_.cameras, ","));
    options["radar"] = options_.radar ? "yes" : "no";
    options["lidar_dtype"] = to_string(options_.lidar_dtype);
    options["lidar_sweeps"] = std::to_string(options_.lidar_sweeps);
    options["radar_sweeps"] = std::to_string(options_.radar_sweeps);
    options["camera_sweeps"] = std::to_string(options_.camera_sweeps);
    if (options_.radar && options_.radar_filter.is_on) options["radar_filter"] = "devkit";
    if (options_.allow_partial) options["allow_partial"] = "yes";
    return options;
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    int64_t num_bytes = 0;
    for_files(split, index, [&](Row row) {
      const int64_t file_bytes = listing_.file_bytes(row);
      num_bytes += is_camera(tables_->sample_data.channel[row]) ? storer_.memory_bytes(file_bytes)
                                                                : file_bytes;
    });
    return num_bytes;
  }

  std::vector<SourceInput> inputs(size_t /*split*/) const override { return inputs_; }

  SampleIdentity identity(size_t split, int64_t index) const override {
    const Listed& listed = splits_.at(split);
    const auto i = static_cast<size_t>(index);
    SampleIdentity identity{.name = name_of(listed, i)};
    const auto add = [&identity](const FileStamp& stamp) {
      identity.num_bytes += stamp.num_bytes;
      identity.modified =
          fnv1a64(std::as_bytes(std::span(&stamp.modified_ns, 1)), identity.modified);
    };
    for_files(split, index, [&](Row row) {
      add({.num_bytes = listing_.file_bytes(row), .modified_ns = listing_.modified_ns(row)});
    });
    if (listed.kind == Kind::keyframes) {
      identity.modified ^= listing_.labels_modified(listed.listing->keyframes.at(i));
    } else if (listed.kind == Kind::maps) {
      std::error_code none;
      add(stamp_of(path_ / identity.name, none));
    }
    return identity;
  }

  // Opening a file costs less than waiting for its disk: the next samples' files are fetched side
  // by side.
  void will_read(size_t split, int64_t index) const override {
    for_files(split, index, [&](Row row) {
      if (listing_.file_bytes(row) <= 0) return;
      if (Place(path_).is_in_store()) {
        announce_range(path_ / tables_->sample_data.filename[row], 0, listing_.file_bytes(row));
        return;
      }
      const int fd = ::open((path_ / tables_->sample_data.filename[row]).c_str(),
                            O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // what is no file is found later
      if (fd < 0) return;
      (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
      ::close(fd);
    });
  }

  std::string describe(size_t split, int64_t index) const override {
    const Listed& listed = splits_.at(split);
    const auto i = static_cast<size_t>(index);
    if (listed.kind != Kind::keyframes) return (path_ / name_of(listed, i)).string();
    const Row sample = listed.listing->keyframes.at(i);
    return fmt::format("{}: sample {} of {}", path_.string(),
                       to_string(tables_->samples.token[sample]),
                       tables_->scenes.name[tables_->samples.scene[sample]]);
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    const Listed& listed = splits_.at(split);
    switch (listed.kind) {
      case Kind::keyframes:
        return reader_.read_keyframe(*listed.listing, index, record, buffers);
      case Kind::sweeps:
        return reader_.read_sweep(*listed.listing, index, record, buffers);
      case Kind::maps:
        return reader_.read_map(*listed.listing, index, record, buffers);
    }
  }

 private:
  enum class Kind : uint8_t { keyframes, sweeps, maps };
  struct Listed {
    const SplitListing* listing = nullptr;
    Kind kind = Kind::keyframes;
  };

  void add(const SplitListing& listing, Kind kind, const std::string& name, size_t num_samples) {
    if (num_samples == 0) return;
    splits_.push_back({&listing, kind});
    SourceSplit info{.name = name, .num_samples = static_cast<int64_t>(num_samples)};
    infos_.push_back(info);
    for (int64_t i = 0; i < info.num_samples; ++i) {
      infos_.back().num_bytes += sample_bytes(infos_.size() - 1, i);
    }
  }

  // A keyframe's token, or the file of a sweep or map.
  std::string name_of(const Listed& listed, size_t i) const {
    if (listed.kind == Kind::sweeps) {
      return std::string(tables_->sample_data.filename[listed.listing->sweeps.at(i)]);
    }
    if (listed.kind == Kind::maps) return tables_->maps.filename[listed.listing->maps.at(i)];
    return to_string(tables_->samples.token[listed.listing->keyframes.at(i)]);
  }

  // Calls use(row of sample_data) for the files of a sample.
  template <typename Use>
  void for_files(size_t split, int64_t index, const Use& use) const {
    const Listed& listed = splits_.at(split);
    const auto i = static_cast<size_t>(index);
    if (listed.kind == Kind::sweeps) use(listed.listing->sweeps.at(i));
    if (listed.kind != Kind::keyframes) return;
    for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
      const Row row = listing_.key_frame(listed.listing->keyframes.at(i), channel);
      if (row != kNoRow && listing_.file_bytes(row) > 0) use(row);
    }
  }

  const fs::path path_;
  const NuScenesOptions options_;
  const std::string version_;
  const KeyframeFields fields_;
  const ImageStorer storer_;
  const std::vector<SourceInput> inputs_;  // before they are read
  const std::unique_ptr<const Tables> tables_;
  const Listing listing_;
  const CanBus can_bus_;
  const RecordReader reader_;
  std::vector<Listed> splits_;
};

}  // namespace
}  // namespace nuscenes

std::unique_ptr<Source> open_nuscenes(const fs::path& path, const NuScenesOptions& options) {
  const PlacesListed listed;
  if (options.images.exif == ExifUse::apply) {
    throw Error(ErrorCode::invalid_argument,
                "ffconvert does not turn the pictures of nuScenes, because boxes and intrinsics "
                "refer to the stored pixels; leave out exif");
  }
  return std::make_unique<nuscenes::NuScenes>(Place(path).path(), options);
}

void describe(NuScenesOptions& options, OptionTable& table) {
  constexpr int kMaxSweeps = 100;
  table
      .add("version", options.version,
           "Folder with the tables, such as v1.0-trainval, v1.0-test or v1.0-mini. A folder with "
           "another name must also contain the devkit's splits.json. This option is necessary if "
           "SRC has several such folders")
      .set_default("the only one in SRC");
  table
      .add("sweeps", options.lidar_sweeps,
           "Number of lidar sweeps before each keyframe. Each sweep is stored only once")
      .set_range(0, kMaxSweeps);
  table
      .add("radar-sweeps", options.radar_sweeps,
           "Number of sweeps of each radar before each keyframe")
      .set_range(0, kMaxSweeps);
  table
      .add("camera-sweeps", options.camera_sweeps,
           "Number of sweeps of each camera before each keyframe")
      .set_range(0, kMaxSweeps);
  table.add_choice(
      "lidar-dtype", options.lidar_dtype, {"f32", "f16"},
      "Data type of lidar points. 'f32' is the type in the files. 'f16' has half the size, with an "
      "error of up to 0.4 cm within 16 m, and of up to 3.1 cm beyond 64 m");
  table.add("allow-partial", options.allow_partial,
            "Stores null fields instead of missing and damaged files, which are otherwise an "
            "error. Keyframes without any file are left out");
  table
      .add_names("splits", options.splits,
                 "Splits to convert, such as train,val. Names in splits.json are also possible")
      .set_default("all");
  table
      .add_words(
          "radar-filter", [&options] { return options.radar_filter.is_on ? "devkit" : "none"; },
          [&options](const std::string& word) {
            options.radar_filter =
                word == "devkit" ? nuscenes::RadarFilter() : nuscenes::kAllRadarPoints;
          },
          "Radar points to store. With 'none', all points are stored. With 'devkit', only points "
          "that pass the devkit's default filters (valid, known motion, unambiguous) are stored")
      .set_choices({"none", "devkit"});
}

namespace {

class NuScenesKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    ffkit::describe(options_, table);
    table
        .add_names("cameras", cameras_,
                   "Cameras to convert, such as CAM_FRONT,CAM_BACK. The word 'none' leaves out all "
                   "cameras")
        .set_default("all six");
    table.add("no-radar", no_radar_, "Leaves out the radars");
    table.add("keyframes-only", keyframes_only_, "Leaves out the sweeps of all sensors");
  }

  void check(const OptionTable& table) const override {
    if (options_.version.find('/') != std::string::npos) {
      table.refuse({"version"}, "is '" + options_.version + "'; give the name of a folder in SRC");
    }
    if (!takes_no_camera()) require_names("cameras", cameras_, nuscenes::kCameras);
    const auto no_effect = [](const char* flag) {
      return "has no effect with " + option_on(flag) + "; remove one of them";
    };
    if (keyframes_only_) {
      table.refuse({"sweeps", "radar-sweeps", "camera-sweeps"}, no_effect("keyframes_only"));
    }
    if (no_radar_) table.refuse({"radar-sweeps"}, no_effect("no_radar"));
  }

  bool keeps_order() const override { return true; }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    NuScenesOptions options = options_;
    options.all_cameras = cameras_.empty();
    if (!takes_no_camera()) options.cameras = cameras_;
    options.radar = !no_radar_;
    if (keyframes_only_) options.lidar_sweeps = options.radar_sweeps = options.camera_sweeps = 0;
    options.images = arguments.images;
    return open_nuscenes(arguments.path, options);
  }

 private:
  bool takes_no_camera() const { return cameras_ == std::vector<std::string>{"none"}; }

  NuScenesOptions options_;
  std::vector<std::string> cameras_;
  bool no_radar_ = false;
  bool keyframes_only_ = false;
};

}  // namespace

SourceKind nuscenes_kind() {
  return {.name = "nuscenes",
          .description =
              "nuScenes: keyframes of cameras, lidar and radars with boxes, and the "
              "sweeps between them",
          .example =
              "/data/nuscenes /fast/nuscenes --version v1.0-trainval\n"
              "  ffconvert nuscenes /data/nuscenes /fast/front --cameras CAM_FRONT "
              "--no-radar --keyframes-only",
          .options = make_source_options<NuScenesKind>,
          .pictures = PictureUse::all,
          .place = 50};
}

}  // namespace ffkit
