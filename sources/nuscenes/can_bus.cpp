#include "nuscenes/can_bus.h"

#include <simdjson.h>

#include <algorithm>
#include <numeric>

#include <ffkit/base/enum_names.h>

#include "converter/input/input_file.h"
#include "converter/input/sample_arrays.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "numbers/json_numbers.h"
#include "numbers/json_tables.h"

namespace ffkit::nuscenes {
namespace {

namespace dom = simdjson::dom;

constexpr const char* kTime = "utime";
// can_bus_api.py of the devkit; "meta" and "route" are of a scene, not of a time.
constexpr const char* kMessages[] = {"ms_imu",          "pose",       "steeranglefeedback",
                                     "vehicle_monitor", "zoesensors", "zoe_veh_info"};
constexpr int64_t kMaxFileBytes = 256 << 20;

[[noreturn]] void refuse_file(const fs::path& path, const std::string& what) {
  throw source_error(path, ErrorCode::corrupt,
                     "the file is not a file of CAN bus messages: {}; unpack can_bus.zip again",
                     what);
}

// Calls use(dom::object) for each message of a file.
template <typename Use>
void for_messages(const fs::path& path, const Use& use) {
  const std::vector<std::byte> bytes = read_source_bytes(path, kMaxFileBytes);
  dom::parser parser;
  dom::array array;
  const auto error = parser.parse(reinterpret_cast<const char*>(bytes.data()), bytes.size())
                         .get_array()
                         .get(array);
  if (error != simdjson::SUCCESS)
    refuse_file(path,
                json_problem({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, error));
  for (const dom::element element : array) {
    dom::object object;
    if (element.get_object().get(object) != simdjson::SUCCESS)
      refuse_file(path, "a message is not an object");
    use(object);
  }
}

// "[]" and nothing: as an export that failed leaves it.
bool has_messages(const fs::path& path) {
  std::error_code none;
  const int64_t size = stamp_of(path, none).num_bytes;
  constexpr int64_t kMaxEmpty = 64;
  if (none || size == 0) return false;
  if (size > kMaxEmpty) return true;
  for (const std::byte byte : read_source_bytes(path, kMaxFileBytes)) {
    if (std::string_view("[] \t\r\n").find(static_cast<char>(byte)) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

CanBus::CanBus(const fs::path& root, const std::vector<std::string>& scenes)
    : folder_(root / "can_bus") {
  if (!is_folder_at(folder_)) return;
  for (const char* name : kMessages) {
    const auto first = std::ranges::find_if(
        scenes, [&](const std::string& scene) { return has_messages(file(name, scene)); });
    if (first != scenes.end()) messages_.push_back(learn(name, *first));
  }
  num_scenes_without_ = std::ranges::count_if(scenes, [this](const std::string& scene) {
    return std::ranges::none_of(
        messages_, [&](const Message& message) { return has_messages(file(message.name, scene)); });
  });
  for (const char* name : kMessages) {
    num_empty_files_ += std::ranges::count_if(scenes, [&](const std::string& scene) {
      const fs::path path = file(name, scene);
      return exists_at(path) && !has_messages(path);
    });
  }
}

std::vector<std::string> CanBus::messages() const {
  return names_in(messages_);
}

fs::path CanBus::file(std::string_view message, const std::string& scene) const {
  return folder_ / fmt::format("{}_{}.json", scene, message);
}

std::string CanBus::columns(size_t message) const {
  std::vector<std::string> names;
  for (const Column& column : messages_[message].columns) {
    if (column.count == 0) names.push_back(column.key);
    for (size_t i = 0; i < column.count; ++i) names.push_back(fmt::format("{}.{}", column.key, i));
  }
  return fmt::format("{}", fmt::join(names, ","));
}

CanBus::Message CanBus::learn(const char* name, const std::string& scene) const {
  const fs::path path = file(name, scene);
  Message message{.name = name, .columns = {{kTime}}};
  std::vector<Column>& columns = message.columns;
  for_messages(path, [&](const dom::object& object) {
    if (columns.size() > 1) return;
    for (const dom::key_value_pair member : object) {
      if (member.key == kTime) continue;
      const std::vector<int64_t> shape = json_shape(member.value);
      columns.push_back(
          {std::string(member.key), shape.empty() ? 0 : static_cast<size_t>(shape.front())});
    }
  });
  if (columns.size() == 1) refuse_file(path, "it has no message with numbers");
  for (const Column& column : columns) message.width += std::max<size_t>(column.count, 1);
  return message;
}

std::vector<double> CanBus::read(const Message& message, const std::string& scene) const {
  const fs::path path = file(message.name, scene);
  std::vector<double> rows;
  for_messages(path, [&](const dom::object& object) {
    for (const Column& column : message.columns) {
      dom::element value;
      if (object.at_key(column.key).get(value) != simdjson::SUCCESS) {
        refuse_file(path, fmt::format("a message has no '{}'", column.key));
      }
      const auto count = static_cast<int64_t>(column.count);
      try {
        append_numbers(value, std::span(&count, column.count == 0 ? 0 : 1), rows);
      } catch (const Error& error) {
        refuse_file(path, fmt::format("'{}': {}", column.key, error.what()));
      }
    }
  });
  const size_t width = message.width;
  std::vector<size_t> order(rows.size() / width);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t row) { return rows[row * width]; });
  std::vector<double> sorted;
  sorted.reserve(rows.size());
  for (const size_t row : order)
    sorted.insert(sorted.end(), &rows[row * width], &rows[row * width] + width);
  return sorted;
}

void CanBus::set(size_t message, const std::string& scene, int64_t begin, int64_t end,
                 RecordBuilder& record, size_t field, SampleBuffers& buffers) const {
  Cache& cache = caches_.local();
  if (cache.scene != scene) {
    cache = {};
    for (const Message& one : messages_) {
      auto& rows = cache.rows.emplace_back();
      if (has_messages(file(one.name, scene))) rows = read(one, scene);
    }
    cache.scene = scene;
  }
  if (!cache.rows[message]) return;
  const size_t width = messages_[message].width;
  const std::vector<double>& rows = *cache.rows[message];
  std::vector<double> taken;
  for (size_t at = 0; at < rows.size(); at += width) {
    if (rows[at] <= static_cast<double>(begin) || rows[at] > static_cast<double>(end)) continue;
    taken.insert(taken.end(), &rows[at], &rows[at] + width);
  }
  set_copy<double>(record, field, taken,
                   {static_cast<int64_t>(taken.size() / width), static_cast<int64_t>(width)},
                   buffers);
}

}  // namespace ffkit::nuscenes
