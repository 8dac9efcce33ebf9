#include "report/metrics_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/base/crc32c.h>

#include "base/json_text.h"
#include "base/little_endian.h"
#include "base/make_error.h"
#include "data/warning.h"
#include "report/json_number.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A name that is not taken; viewers read the files of a folder in the order of their names.
fs::path new_path(const fs::path& folder) {
  char host[256] = "host";
  static_cast<void>(gethostname(host, sizeof(host) - 1));
  for (int n = 0;; ++n) {
    fs::path path = folder / fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                                         static_cast<int64_t>(now_seconds()), host, getpid(), n);
    if (!fs::exists(path)) return path;
  }
}

template <typename T>
void put_fixed(std::string& out, T value) {
  std::byte bytes[sizeof(T)];
  store_le(bytes, value);
  out.append(reinterpret_cast<const char*>(bytes), sizeof(T));
}

// Protobuf's wire format: a field is its number and wire type, then its value.
enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_key(std::string& out, int field, WireType type) {
  put_varint(out, static_cast<uint64_t>(field) << 3 | type);
}

void put_text(std::string& out, int field, std::string_view text) {
  put_key(out, field, kLengthDelimited);
  put_varint(out, text.size());
  out.append(text);
}

std::string begin_event(int64_t step) {
  std::string event;
  put_key(event, 1, kFixed64);
  put_fixed(event, std::bit_cast<uint64_t>(now_seconds()));
  put_key(event, 2, kVarint);
  put_varint(event, step);
  return event;
}

uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

}  // namespace

TensorboardWriter::TensorboardWriter(const fs::path& folder, int64_t first_step)
    : file_(File::create(new_path(folder))) {
  std::string version = begin_event(0);
  put_text(version, 3, "brain.Event:2");
  append(version);
  std::string start = begin_event(first_step);
  put_text(start, 7, "\x08\x01");  // status = START
  append(start);
}

void TensorboardWriter::write(int64_t step, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    put_text(value, 1, scalar.tag);
    put_key(value, 2, kFixed32);
    put_fixed(value, std::bit_cast<uint32_t>(static_cast<float>(scalar.value)));
    put_text(summary, 1, value);
  }
  std::string event = begin_event(step);
  put_text(event, 5, summary);
  append(event);
}

void TensorboardWriter::append(const std::string& event) {
  std::string record;
  put_fixed<uint64_t>(record, event.size());
  put_fixed(record, masked_crc(record));
  record += event;
  put_fixed(record, masked_crc(event));
  file_.write(std::as_bytes(std::span(record)));
}

namespace {

using Json = nlohmann::ordered_json;

// The lines of `path` up to `last_step`, each step once, without that step's validation unless it
// `is_validated`; nothing when there is no such file. A last line without an end was cut off.
std::string read_lines(const fs::path& path, int64_t last_step, bool is_validated) {
  if (!fs::exists(path)) return {};
  const std::string text = read_whole_text(path, std::numeric_limits<int64_t>::max());
  std::string kept;
  std::set<std::pair<int64_t, bool>> seen;
  int64_t num_damaged = 0;
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const auto step = json.is_object() ? json.find("step") : json.end();
    if (!json.is_object() || step == json.end() || !step->is_number_integer()) {
      ++num_damaged;
      continue;
    }
    const auto kind = json.find("kind");
    const bool is_validation = kind != json.end() && *kind == "validation";
    if (*step > last_step || (!is_validated && *step == last_step && is_validation)) continue;
    if (seen.emplace(*step, is_validation).second) kept += line + "\n";
  }
  if (num_damaged > 0) {
    warn_on_stderr(fmt::format("{}: {} damaged {} left out", path.string(), num_damaged,
                               num_damaged == 1 ? "line is" : "lines are"));
  }
  return kept;
}

// Under another name first: a run that is killed here keeps its log.
fs::path cut(const fs::path& path, int64_t last_step, bool is_validated) {
  const std::string kept = read_lines(path, last_step, is_validated);
  write_durably(path, kept);
  return path;
}

}  // namespace

std::string metrics_line(const TrainMetrics& m, const std::string& units) {
  return json_text(Json{{"kind", "train"},
                        {"step", m.step},
                        {"epoch", m.epoch},
                        {"loss", json_number(m.loss)},
                        {"lr", m.lr},
                        {units + "_per_second", m.units_per_second},
                        {"data_wait_share", m.data_wait_share}});
}

std::string metrics_line(const ValidationMetrics& m, const std::string& units) {
  Json line = {{"kind", "validation"},
               {"step", m.step},
               {"epoch", m.epoch},
               {"train_loss", json_number(m.train_loss)}};
  for (const auto& [name, value] : m.result.metrics) line[name] = json_number(value);
  line[units] = m.result.count;
  line["seconds"] = m.seconds;
  return json_text(line);
}

MetricsLog::MetricsLog(const fs::path& work_dir, int64_t steps_done, std::string units,
                       bool is_validated)
    : path_(cut(work_dir / kMetricsName, steps_done, is_validated)),
      tensorboard_(work_dir, steps_done + 1),
      units_(std::move(units)) {}

void MetricsLog::add(const TrainMetrics& m) {
  append(metrics_line(m, units_));
  tensorboard_.write(m.step, {{"train/loss", m.loss},
                              {"train/lr", m.lr},
                              {"train/" + units_ + "_per_second", m.units_per_second},
                              {"train/data_wait_share", m.data_wait_share},
                              {"train/epoch", static_cast<double>(m.epoch)}});
}

void MetricsLog::add(const ValidationMetrics& m) {
  append(metrics_line(m, units_));
  std::vector<Scalar> scalars;
  for (const auto& [name, value] : m.result.metrics)
    scalars.push_back({"validation/" + name, value});
  tensorboard_.write(m.step, scalars);
}

void MetricsLog::append(const std::string& line) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "ae"),
                                                             std::fclose);
  const std::string text = line + "\n";
  if (!file || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    const int error = errno;
    throw io_error_at(path_, "cannot append to the log", error).with_remedy(remedy_of_errno(error));
  }
}

void MetricsWindow::add_step(double num_units, double seconds, double wait_seconds) {
  ++num_steps_;
  num_units_ += num_units;
  seconds_ += seconds;
  wait_seconds_ += wait_seconds;
}

TrainMetrics MetricsWindow::take(int64_t step, int64_t epoch, double lr) {
  const TrainMetrics out{.step = step,
                         .epoch = epoch,
                         .loss = loss_sum_ / num_steps_,
                         .lr = lr,
                         .units_per_second = seconds_ > 0 ? num_units_ / seconds_ : 0,
                         .data_wait_share = seconds_ > 0 ? wait_seconds_ / seconds_ : 0};
  *this = {};
  return out;
}

}  // namespace ffkit
