#include "report/tensorboard_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <span>

#include <ffkit/base/crc32c.h>

#include "base/file/file.h"
#include "base/little_endian.h"

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
    : file_(std::make_unique<File>(File::create(new_path(folder)))) {
  std::string version = begin_event(0);
  put_text(version, 3, "brain.Event:2");
  append(version);
  std::string start = begin_event(first_step);
  put_text(start, 7, "\x08\x01");  // status = START
  append(start);
}

TensorboardWriter::~TensorboardWriter() = default;
TensorboardWriter::TensorboardWriter(TensorboardWriter&&) noexcept = default;
TensorboardWriter& TensorboardWriter::operator=(TensorboardWriter&&) noexcept = default;

const fs::path& TensorboardWriter::path() const {
  return file_->path();
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
  file_->write(std::as_bytes(std::span(record)));
}

}  // namespace ffkit
