#include "copy/shard_copy.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <ffkit/base/crc32c.h>
#include <ffkit/format/shard_reader.h>

#include "base/make_error.h"
#include "format/dataset/dataset_files.h"
#include "format/reader/open_shards.h"
#include "input/cancel.h"
#include "storage/reader/random_reader.h"
#include "storage/stores/arriving.h"

namespace ffkit {
namespace {

constexpr int64_t kPieceBytes = 4 << 20;
constexpr size_t kPiecesAhead = 4;
// A header; and a trailer, a catalog, and the index of 8,000 records.
constexpr int64_t kBeginBytes = 4096;
constexpr int64_t kEndBytes = 256 << 10;

// A shard of which the begin and the end are in memory.
class EndsReader : public RandomReader {
 public:
  EndsReader(std::filesystem::path path, int64_t num_bytes)
      : path_(std::move(path)), size_(num_bytes) {}

  const std::filesystem::path& path() const noexcept override { return path_; }
  int64_t size() const override { return size_; }
  void announce(int64_t, int64_t) const noexcept override {}
  int descriptor() const noexcept override { return -1; }
  void read_at(int64_t offset, std::span<std::byte> out, int64_t record) const override {
    const int64_t num_bytes = std::ssize(out);
    if (offset < 0 || offset + num_bytes > size_) {
      throw Error(ErrorCode::corrupt, "ends too early",
                  {.path = path_.string(), .record = record, .offset = offset});
    }
    if (const int64_t end = size_ - std::ssize(end_); offset >= end) {
      std::memcpy(out.data(), end_.data() + (offset - end), out.size());
    } else if (offset + num_bytes <= std::ssize(begin_)) {
      std::memcpy(out.data(), begin_.data() + offset, out.size());
    } else {
      read_between(offset, out, record);
    }
  }
  void read(int64_t offset, std::span<std::byte> out, Done done) const override {
    std::exception_ptr error;
    try {
      read_at(offset, out, -1);
    } catch (...) {
      error = std::current_exception();
    }
    done(std::move(error));
  }

 protected:
  // What is in neither.
  virtual void read_between(int64_t offset, std::span<std::byte> out, int64_t record) const = 0;

  const std::filesystem::path path_;
  const int64_t size_;
  std::vector<std::byte> begin_;
  std::vector<std::byte> end_;
};

// A file in a store, of one version. Without the cache of the machine: each byte is read once.
class PlainReader final : public EndsReader {
 public:
  PlainReader(const StoredFile& file, int64_t num_bytes, std::string version)
      : EndsReader(file.place.shown(), num_bytes), file_(file), version_(std::move(version)) {
    const int64_t end_bytes = std::min(size_, kEndBytes);
    end_.resize(static_cast<size_t>(end_bytes));
    if (end_bytes > 0)
      file_.store->read(file_.place.address(), size_ - end_bytes, end_, {size_, version_});
    begin_.resize(static_cast<size_t>(std::min(size_ - end_bytes, kBeginBytes)));
    if (!begin_.empty()) file_.store->read(file_.place.address(), 0, begin_, {size_, version_});
  }

 private:
  void read_between(int64_t offset, std::span<std::byte> out, int64_t) const override {
    file_.store->read(file_.place.address(), offset, out, {size_, version_});
  }

  const StoredFile file_;
  const std::string version_;
};

// The parts of a shard that are not records, as they passed.
class PassedReader final : public EndsReader {
 public:
  PassedReader(std::filesystem::path path, int64_t num_bytes, std::vector<std::byte> begin,
               std::vector<std::byte> end)
      : EndsReader(std::move(path), num_bytes) {
    begin_ = std::move(begin);
    end_ = std::move(end);
  }

 private:
  void read_between(int64_t offset, std::span<std::byte>, int64_t record) const override {
    throw Error(ErrorCode::corrupt, "has its index between its records",
                {.path = path_.string(), .record = record, .offset = offset});
  }
};

// As the shard is opened, compared with the manifest.
ShardReader open_checked(std::shared_ptr<const RandomReader> reader, const ManifestShard& listed,
                         const Schema& schema) {
  const std::string path = reader->path().string();
  ShardReader shard = reader_of(open_shard_file(std::move(reader), {}), {});
  const std::string difference = shard_difference(shard.facts(), shard.schema(), listed, schema);
  if (!difference.empty()) {
    throw error_at(path, ErrorCode::corrupt, difference)
        .with_subject(ErrorSubject::shard)
        .with_remedy("copy or convert the data set again");
  }
  if (shard.facts().version == 1) {
    throw error_at(path, ErrorCode::unsupported,
                   "is an FFRecord v1 file, which cannot be checked during a copy")
        .with_subject(ErrorSubject::shard)
        .with_remedy("convert it with 'ffconvert v1', or copy it with the store's tool");
  }
  return shard;
}

// Records of a shard as its bytes pass, front to back.
class RecordChecks {
 public:
  RecordChecks(const ShardReader& shard, std::string path) : path_(std::move(path)) {
    places_.reserve(static_cast<size_t>(shard.num_records()));
    for (int64_t i = 0; i < shard.num_records(); ++i) {
      const RecordLocation at = shard.locate(i);
      places_.push_back({at.offset, at.stored_bytes, at.checksum, i});
    }
    std::ranges::sort(places_, {}, &Place::offset);
    if (!places_.empty()) {
      begin_ = places_.front().offset;
      end_ = places_.back().offset + places_.back().num_bytes;
    }
  }

  // Where records begin and end.
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }

  // The next bytes; the first is at `offset`.
  void add(int64_t offset, std::span<const std::byte> bytes) {
    const int64_t end = offset + std::ssize(bytes);
    while (next_ < places_.size()) {
      const Place& place = places_[next_];
      const int64_t from = std::max(place.offset, offset);
      const int64_t to = std::min(place.offset + place.num_bytes, end);
      if (from < to) {
        crc_ = crc32c(
            bytes.subspan(static_cast<size_t>(from - offset), static_cast<size_t>(to - from)),
            crc_);
      }
      if (place.offset + place.num_bytes > end) return;
      if (crc_ != place.checksum) {
        throw Error(
            ErrorCode::corrupt,
            fmt::format("the record's checksum is {:08x} instead of {:08x}", crc_, place.checksum),
            {.path = path_,
             .record = place.record,
             .offset = place.offset,
             .subject = ErrorSubject::shard,
             .remedy = "convert the data set again, or copy it from another place"});
      }
      crc_ = 0;
      ++next_;
    }
  }

 private:
  struct Place {
    int64_t offset = 0;
    int64_t num_bytes = 0;
    uint32_t checksum = 0;
    int64_t record = 0;
  };

  const std::string path_;
  std::vector<Place> places_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  size_t next_ = 0;
  uint32_t crc_ = 0;
};

// The pieces of a file, in order, while those behind are underway.
class Pieces {
 public:
  Pieces(const StoredFile& file, int64_t num_bytes, std::string version)
      : file_(file), num_bytes_(num_bytes), version_(std::move(version)) {}
  // What is underway owns its memory.
  ~Pieces() = default;
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  // Empty at the end.
  std::span<const std::byte> next() {
    current_ = nullptr;
    while (asked_ < num_bytes_ && underway_.size() < kPiecesAhead) ask();
    if (underway_.empty()) return {};
    current_ = underway_.front();
    underway_.pop_front();
    current_->wait();
    return current_->bytes;
  }

 private:
  void ask() {
    const int64_t num_bytes = std::min(kPieceBytes, num_bytes_ - asked_);
    const auto piece = std::make_shared<Arriving>(static_cast<size_t>(num_bytes));
    underway_.push_back(piece);
    file_.store->read(file_.place.address(), asked_, piece->bytes, {num_bytes_, version_},
                      tells(piece));
    asked_ += num_bytes;
  }

  const StoredFile file_;
  const int64_t num_bytes_;
  const std::string version_;
  int64_t asked_ = 0;
  std::deque<std::shared_ptr<Arriving>> underway_;
  std::shared_ptr<Arriving> current_;
};

ObjectFacts facts_of(const StoredFile& file) {
  const std::optional<ObjectFacts> facts = file.store->find(file.place.address());
  if (!facts) {
    throw Error(ErrorCode::not_found, "the manifest lists this shard, but the file does not exist",
                {.path = file.place.shown(),
                 .subject = ErrorSubject::shard,
                 .remedy = "copy or convert the data set again"});
  }
  return *facts;
}

}  // namespace

void copy_shard(const StoredFile& from, const StoredFile& to, const ManifestShard& listed,
                const Schema& schema, const std::atomic<bool>* cancel) {
  const ObjectFacts facts = facts_of(from);
  const std::string path = from.place.shown();
  const int64_t num_bytes = facts.num_bytes;
  const ShardReader shard =
      open_checked(std::make_shared<PlainReader>(from, num_bytes, facts.version), listed, schema);
  RecordChecks records(shard, path);
  const std::unique_ptr<Upload> upload = to.store->upload(to.place.address(), num_bytes);
  // A reader of the trailer may begin among the last records.
  const int64_t begin_of_end = std::max<int64_t>(0, std::min(records.end(), num_bytes - kEndBytes));
  std::vector<std::byte> begin;
  std::vector<std::byte> end;
  begin.reserve(static_cast<size_t>(records.begin()));
  end.reserve(static_cast<size_t>(num_bytes - begin_of_end));
  Pieces pieces(from, num_bytes, facts.version);
  int64_t offset = 0;
  for (std::span<const std::byte> piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
    throw_if_cancelled(cancel);
    records.add(offset, piece);
    const int64_t piece_end = offset + std::ssize(piece);
    if (offset < records.begin()) {
      const auto part =
          piece.first(static_cast<size_t>(std::min(std::ssize(piece), records.begin() - offset)));
      begin.insert(begin.end(), part.begin(), part.end());
    }
    if (piece_end > begin_of_end) {
      const auto part =
          piece.subspan(static_cast<size_t>(std::max<int64_t>(0, begin_of_end - offset)));
      end.insert(end.end(), part.begin(), part.end());
    }
    upload->add(piece);
    offset = piece_end;
  }
  const ShardReader passed = open_checked(
      std::make_shared<PassedReader>(path, num_bytes, std::move(begin), std::move(end)), listed,
      schema);
  if (const std::vector<ShardProblem> problems = passed.verify_index(); !problems.empty()) {
    throw Error(ErrorCode::corrupt, problems.front().message,
                {.path = path, .offset = problems.front().offset, .subject = ErrorSubject::shard});
  }
  throw_if_cancelled(cancel);
  upload->finish();
}

bool is_listed_shard(const StoredFile& file, const ManifestShard& listed) {
  try {
    const auto reader = std::make_shared<PlainReader>(file, listed.file_bytes, "");
    const ShardReader shard = reader_of(open_shard_file(reader, {}), {});
    return shard.facts().checksum == listed.checksum &&
           shard.facts().num_records == listed.num_records;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::unsupported) throw;
    return false;
  }
}

}  // namespace ffkit
