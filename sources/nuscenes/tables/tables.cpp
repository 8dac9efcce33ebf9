#include "nuscenes/tables/tables.h"

#include <algorithm>
#include <unordered_map>

#include <ffkit/nuscenes/classes.h>

#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "nuscenes/tables/table_references.h"

namespace ffkit::nuscenes {
namespace {

constexpr const char* kNeeded[] = {
    "attribute", "calibrated_sensor", "category",    "ego_pose", "instance", "log",       "map",
    "sample",    "sample_annotation", "sample_data", "scene",    "sensor",   "visibility"};

void require_all(const fs::path& folder) {
  std::vector<std::string> missing;
  for (const char* name : kNeeded) {
    const std::string file = std::string(name) + ".json";
    if (!exists_at(folder / file)) missing.push_back(file);
  }
  if (missing.empty()) return;
  throw source_error(folder, ErrorCode::not_found, "the folder lacks {}; {}",
                     fmt::join(missing, ", "), kUnpackAgain);
}

PoseNumbers pose_of(const JsonRow& row) {
  PoseNumbers pose;
  row.numbers("translation", std::span(pose).first(3));
  row.rotation("rotation", std::span(pose).last<4>());
  return pose;
}

class TablesReader {
 public:
  TablesReader(const fs::path& folder, Tables& tables) : folder_(folder), t_(tables) {}

  void read() {
    require_all(folder_);
    read_logs();
    read_maps();
    read_scenes();
    read_samples();
    read_sensors();
    read_ego_poses();
    read_sample_data();
    read_annotation_tables(folder_, t_);
    read_labels("lidarseg", t_.lidarseg);
    read_labels("panoptic", t_.panoptic);
    require_label_names();
  }

 private:
  TableFile file(const char* name) const { return {folder_, name}; }

  void read_logs() {
    struct Log {
      std::string logfile, vehicle, location;
    };
    file("log").read(
        t_.logs,
        [](const JsonRow& row) {
          return Log{std::string(row.text("logfile")), std::string(row.text("vehicle")),
                     std::string(row.text("location"))};
        },
        [this](const Token& /*token*/, Log log) {
          t_.logs.logfile.push_back(std::move(log.logfile));
          t_.logs.vehicle.push_back(std::move(log.vehicle));
          t_.logs.location.push_back(std::move(log.location));
        });
  }

  void read_maps() {
    struct Map {
      std::string filename;
      std::vector<Token> logs;
    };
    const TableFile table = file("map");
    t_.maps.of_log.assign(t_.logs.size(), kNoRow);
    table.read(
        t_.maps,
        [](const JsonRow& row) {
          return Map{std::string(row.text("filename")), row.tokens("log_tokens")};
        },
        [&](const Token& token, Map map) {
          const auto number = static_cast<Row>(t_.maps.filename.size());
          table.require_inside(token, map.filename);
          t_.maps.filename.push_back(std::move(map.filename));
          std::string location;
          for (const Token& log_token : map.logs) {
            // The maps of trainval, test and mini name the logs of all of them.
            const Row log = t_.logs.index.find(log_token);
            if (log == kNoRow) continue;
            t_.maps.of_log[log] = number;
            location = t_.logs.location[log];
          }
          t_.maps.location.push_back(std::move(location));
        });
  }

  void read_scenes() {
    struct Scene {
      Token log, first_sample;
      std::string name;
      int64_t num_samples;
    };
    const TableFile table = file("scene");
    table.read(
        t_.scenes,
        [](const JsonRow& row) {
          return Scene{row.token("log_token"), row.token("first_sample_token"),
                       std::string(row.text("name")), row.integer("nbr_samples")};
        },
        [&](const Token& token, Scene scene) {
          t_.scenes.log.push_back(table.resolve(token, "log_token", scene.log, t_.logs, "log"));
          t_.scenes.name.push_back(std::move(scene.name));
          t_.scenes.num_samples.push_back(scene.num_samples);
          first_samples_.push_back(scene.first_sample);
        });
    // Splits name scenes, so that all but one would be lost.
    std::unordered_map<std::string_view, Row> rows;
    for (Row scene = 0; scene < t_.scenes.size(); ++scene) {
      const auto [other, is_new] = rows.emplace(t_.scenes.name[scene], scene);
      if (is_new) continue;
      table.refuse(t_.scenes.token[scene],
                   fmt::format("the name '{}' of this row is also the name of row {}",
                               t_.scenes.name[scene], to_string(t_.scenes.token[other->second])));
    }
  }

  void read_samples() {
    struct Sample {
      Token scene, prev, next;
      int64_t timestamp;
    };
    const TableFile table = file("sample");
    std::vector<Token> prev;
    std::vector<Token> next;
    table.read(
        t_.samples,
        [](const JsonRow& row) {
          return Sample{row.token("scene_token"), row.token_or_none("prev"),
                        row.token_or_none("next"), row.integer("timestamp")};
        },
        [&](const Token& token, const Sample& sample) {
          t_.samples.timestamp.push_back(sample.timestamp);
          t_.samples.scene.push_back(
              table.resolve(token, "scene_token", sample.scene, t_.scenes, "scene"));
          prev.push_back(sample.prev);
          next.push_back(sample.next);
        });
    t_.samples.prev = table.resolve_links(t_.samples, "prev", prev);
    t_.samples.next = table.resolve_links(t_.samples, "next", next);
    table.require_order(
        t_.samples, t_.samples.prev, t_.samples.next, "scene",
        [this](Row row) { return t_.samples.scene[row]; },
        [this](Row row) { return t_.samples.timestamp[row]; });
    for (size_t i = 0; i < t_.scenes.size(); ++i) {
      t_.scenes.first_sample.push_back(file("scene").resolve(
          t_.scenes.token[i], "first_sample_token", first_samples_[i], t_.samples, "sample"));
    }
  }

  void read_sensors() {
    Rows sensors;
    std::vector<uint8_t> channels;
    file("sensor").read(
        sensors, [](const JsonRow& row) { return channel_number(row.text("channel")); },
        [&](const Token& /*token*/, uint8_t channel) { channels.push_back(channel); });
    struct Calibration {
      Token sensor;
      PoseNumbers pose;
      std::vector<double> intrinsics;
    };
    const TableFile table = file("calibrated_sensor");
    table.read(
        t_.calibrations,
        [](const JsonRow& row) {
          return Calibration{row.token("sensor_token"), pose_of(row),
                             row.matrix("camera_intrinsic")};
        },
        [&](const Token& token, const Calibration& c) {
          const Row sensor = table.resolve(token, "sensor_token", c.sensor, sensors, "sensor");
          std::array<double, 9> intrinsics{};
          const size_t wanted = is_camera(channels[sensor]) ? 9 : 0;
          if (c.intrinsics.size() != wanted) {
            table.refuse(token, fmt::format("'camera_intrinsic' has {} numbers, but must have {}",
                                            c.intrinsics.size(), wanted));
          }
          std::ranges::copy(c.intrinsics, intrinsics.begin());
          t_.calibrations.channel.push_back(channels[sensor]);
          t_.calibrations.pose.push_back(c.pose);
          t_.calibrations.intrinsics.push_back(intrinsics);
        });
  }

  void read_ego_poses() {
    const TableFile table = file("ego_pose");
    table.read(
        t_.ego_poses, [](const JsonRow& row) { return pose_of(row); },
        [this](const Token& /*token*/, const PoseNumbers& pose) {
          t_.ego_poses.pose.push_back(pose);
        });
  }

  void read_sample_data() {
    struct Data {
      Token sample, ego_pose, calibration, prev, next;
      int64_t timestamp;
      bool is_key_frame;
      std::string filename;
    };
    const TableFile table = file("sample_data");
    SampleDataRows& all = t_.sample_data;
    std::vector<Token> prev;
    std::vector<Token> next;
    table.read(
        all,
        [](const JsonRow& row) {
          return Data{row.token("sample_token"),
                      row.token("ego_pose_token"),
                      row.token("calibrated_sensor_token"),
                      row.token_or_none("prev"),
                      row.token_or_none("next"),
                      row.integer("timestamp"),
                      row.boolean("is_key_frame"),
                      std::string(row.text("filename"))};
        },
        [&](const Token& token, const Data& d) {
          all.timestamp.push_back(d.timestamp);
          all.sample.push_back(
              table.resolve(token, "sample_token", d.sample, t_.samples, "sample"));
          all.ego_pose.push_back(
              table.resolve(token, "ego_pose_token", d.ego_pose, t_.ego_poses, "ego_pose"));
          const Row calibration = table.resolve(token, "calibrated_sensor_token", d.calibration,
                                                t_.calibrations, "calibrated_sensor");
          all.calibration.push_back(calibration);
          all.channel.push_back(t_.calibrations.channel[calibration]);
          t_.num_other_channels += all.channel.back() == kOtherChannel ? 1 : 0;
          all.is_key_frame.push_back(d.is_key_frame);
          table.require_inside(token, d.filename);
          all.filename.add(d.filename);
          prev.push_back(d.prev);
          next.push_back(d.next);
        });
    all.prev = table.resolve_links(all, "prev", prev);
    std::vector<Token>().swap(prev);
    // Not kept: the frames before are wanted, those after are not.
    const std::vector<Row> following = table.resolve_links(all, "next", next);
    std::vector<Token>().swap(next);
    table.require_order(
        all, all.prev, following, "sensor or scene",
        [&](Row row) { return std::pair(all.channel[row], t_.samples.scene[all.sample[row]]); },
        [&](Row row) { return all.timestamp[row]; });
  }

  // Optional tables.
  void read_labels(const char* name, LabelFiles& labels) {
    const TableFile table = file(name);
    if (!exists_at(table.path())) return;
    labels.is_there = true;
    struct Label {
      Token token, sample_data;
      std::string filename;
    };
    std::vector<std::pair<Row, std::string>> found;
    read_rows<Label>(
        table.path(),
        [](const JsonRow& row) {
          return Label{row.token("token"), row.token("sample_data_token"),
                       std::string(row.text("filename"))};
        },
        [&](Label label) {
          table.require_inside(label.token, label.filename);
          found.emplace_back(table.resolve(label.token, "sample_data_token", label.sample_data,
                                           t_.sample_data, "sample_data"),
                             std::move(label.filename));
        });
    std::ranges::sort(found);
    for (auto& [row, filename] : found) {
      labels.sample_data.push_back(row);
      labels.filename.push_back(std::move(filename));
    }
  }

  // The devkit refuses such tables too: nobody could say what a label stands for.
  void require_label_names() const {
    if (t_.num_categories_without_label == 0) return;
    if (!t_.lidarseg.is_there && !t_.panoptic.is_there) return;
    throw source_error(file("category").path(), ErrorCode::invalid_argument,
                       "{} of {} categories have no 'index', but {}.json needs an 'index' in each "
                       "category; use the category.json of nuScenes-lidarseg",
                       t_.num_categories_without_label, t_.categories.size(),
                       t_.lidarseg.is_there ? "lidarseg" : "panoptic");
  }

  const fs::path& folder_;
  Tables& t_;
  std::vector<Token> first_samples_;  // of scenes
};

}  // namespace

std::string_view channel_name(uint8_t channel) {
  if (is_camera(channel)) return kCameras[channel];
  return channel == kLidarChannel ? kLidar : kRadars.at(channel - kLidarChannel - 1U);
}

uint8_t channel_number(std::string_view name) {
  for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
    if (channel_name(channel) == name) return channel;
  }
  return kOtherChannel;
}

void TextPool::add(std::string_view text) {
  text_ += text;
  end_.push_back(text_.size());
}

std::string_view TextPool::operator[](size_t i) const {
  const uint64_t begin = i == 0 ? 0 : end_[i - 1];
  return std::string_view(text_).substr(begin, end_[i] - begin);
}

std::string_view LabelFiles::of(Row row) const {
  const auto found = std::ranges::lower_bound(sample_data, row);
  if (found == sample_data.end() || *found != row) return {};
  return filename[static_cast<size_t>(found - sample_data.begin())];
}

void read_tables(const fs::path& folder, Tables& tables) {
  TablesReader(folder, tables).read();
}

}  // namespace ffkit::nuscenes
