#include "writer/file_sink.h"

#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "addresses/place.h"
#include "base/file/file.h"
#include "base/make_error.h"
#include "stores/object_store.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

class LocalSink : public FileSink {
 public:
  explicit LocalSink(fs::path path)
      : path_(std::move(path)),
        temporary_(path_.string() + ".tmp"),
        file_(File::create(temporary_)) {}

  ~LocalSink() override {
    if (is_finished_) return;
    std::error_code ignored;
    fs::remove(temporary_, ignored);
  }

  void write(std::span<const std::byte> bytes) override { file_.write(bytes); }

  void finish() override {
    file_.sync();
    file_.close();
    rename_durably(temporary_, path_);
    is_finished_ = true;
  }

 private:
  const fs::path path_;
  const fs::path temporary_;
  File file_;
  bool is_finished_ = false;
};

class ObjectSink : public FileSink {
 public:
  ObjectSink(const std::string& address, int64_t expected_bytes)
      : upload_(store_of(address)->upload(address, expected_bytes)) {}

  void write(std::span<const std::byte> bytes) override { upload_->add(bytes); }
  void finish() override { upload_->finish(); }

 private:
  const std::unique_ptr<Upload> upload_;
};

}  // namespace

std::unique_ptr<FileSink> create_sink(const Place& place, int64_t expected_bytes) {
  if (!place.is_in_store()) return std::make_unique<LocalSink>(place.path());
  return std::make_unique<ObjectSink>(place.address(), expected_bytes);
}

void write_text_at(const Place& place, std::string_view text) {
  if (!place.is_in_store()) return write_durably(place.path(), text);
  store_of(place.address())->put(place.address(), std::as_bytes(std::span(text)), false);
}

bool write_object_once(const Place& place, std::string_view text) {
  const std::string& address = place.address();
  const auto store = store_of(address);
  if (store->put(address, std::as_bytes(std::span(text)), true)) return true;
  try {
    return store->read_all(address, std::numeric_limits<int64_t>::max()) == text;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return false;  // removed again meanwhile
    throw;
  }
}

bool is_file_at(const Place& place) {
  if (!place.is_in_store()) return fs::exists(place.path());
  return store_of(place.address())->find(place.address()).has_value();
}

void remove_file_at(const Place& place) {
  if (place.is_in_store()) {
    store_of(place.address())->remove(place.address());
  } else {
    fs::remove(place.path());
  }
}

void require_writable(const Place& place) {
  if (!place.is_in_store()) return;
  const Scheme scheme = parse_address(place.address()).scheme;
  if (scheme != Scheme::hf && scheme != Scheme::https && scheme != Scheme::http) return;
  throw error_at(place.path(), ErrorCode::unsupported,
                 "ffkit cannot write data sets to {}, only to s3://, gs://, az://, r2://, file:// "
                 "and folders; write the data set to one of these places, then copy the data set",
                 scheme == Scheme::hf ? "the Hugging Face hub" : "web servers");
}

}  // namespace ffkit
