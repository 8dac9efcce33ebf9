// nuScenes' CAN bus expansion: can_bus/<scene>_<message>.json, an array of messages with a time and
// numbers each. Thread-safe.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <filesystem>
#include <string>
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
  const std::vector<std::string>& messages() const { return messages_; }
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
  // What one thread has read last: keyframes of a scene follow each other.
  struct Cache {
    std::string scene;
    std::vector<std::vector<double>> rows;  // by message, row-major
    std::vector<bool> is_there;
  };

  std::filesystem::path file(size_t message, const std::string& scene) const;
  std::vector<double> read(size_t message, const std::string& scene) const;
  void learn_columns(size_t message, const std::string& scene);

  std::filesystem::path folder_;
  std::vector<std::string> messages_;
  std::vector<std::vector<Column>> columns_;
  std::vector<size_t> width_;
  int64_t num_scenes_without_ = 0;
  int64_t num_empty_files_ = 0;
  mutable tbb::enumerable_thread_specific<Cache> caches_;
};

}  // namespace ffkit::nuscenes
