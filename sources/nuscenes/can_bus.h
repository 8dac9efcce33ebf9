// nuScenes' CAN bus expansion: can_bus/<scene>_<message>.json, an array of messages with a time and
// numbers each. Thread-safe.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/source.h>

namespace ffkit::nuscenes {

class CanBus {
 public:
  // Looks which messages there are for `scenes`, and what numbers they have by the first file of
  // each. There may be none at all. Throws Error(corrupt) for a file that is no array of such
  // messages.
  CanBus(const std::filesystem::path& root, const std::vector<std::string>& scenes);

  // "pose", "zoesensors", ...; those that some scene has.
  std::vector<std::string> messages() const;
  size_t num_messages() const { return messages_.size(); }
  // "utime,accel.0,accel.1,...": of message i, in the file's order.
  std::string columns(size_t message) const;
  int64_t num_scenes_without() const { return num_scenes_without_; }
  // Files that are there but hold no message; they count as missing.
  int64_t num_empty_files() const { return num_empty_files_; }

  // Sets `field` to message i's [m, columns] f64, those after `begin` up to `end` (microseconds),
  // by time; null when the scene has no such file. Throws Error(corrupt) for messages that are not
  // as the first file's.
  void set(size_t message, const std::string& scene, int64_t begin, int64_t end,
           RecordBuilder& record, size_t field, SampleBuffers& buffers) const;

 private:
  struct Column {
    std::string key;
    size_t count = 0;  // 0: a number; else so many in an array
  };
  // A kind of messages, and what numbers its files have by the first one.
  struct Message {
    std::string name;
    std::vector<Column> columns;
    size_t width = 0;  // numbers of a row
  };
  // What one thread has read last, [rows, width] by message: keyframes of a scene follow each
  // other. Nothing where there is no such file.
  struct Cache {
    std::string scene;
    std::vector<std::optional<std::vector<double>>> rows;
  };

  std::filesystem::path file(std::string_view message, const std::string& scene) const;
  // Throws as the constructor.
  Message learn(const char* name, const std::string& scene) const;
  std::vector<double> read(const Message& message, const std::string& scene) const;

  std::filesystem::path folder_;
  std::vector<Message> messages_;
  int64_t num_scenes_without_ = 0;
  int64_t num_empty_files_ = 0;
  mutable tbb::enumerable_thread_specific<Cache> caches_;
};

}  // namespace ffkit::nuscenes
