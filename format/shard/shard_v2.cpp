// ShardFile of an ffkit shard.
#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include <ffkit/base/crc32c.h>
#include <ffkit/base/error.h>

#include "base/little_endian.h"
#include "shard/shard_file.h"
#include "shard/shard_layout.h"

namespace ffkit {
namespace {

// 4 bytes of a zstd frame stand for 128 KiB at most (RFC 8878, 3.1.1.2).
constexpr int64_t kMaxZstdRatio = (128 << 10) / 4;

// Checked access to one index stream of an open shard. Thread-safe.
class StreamReader {
 public:
  // `file` must outlive the reader. `number` is the stream's position in the catalog. Keeps up to
  // `cache_bytes` of pages.
  StreamReader(const RandomReader& file, StreamInfo info, uint32_t number,
               int64_t cache_bytes = kPageBytes)
      : file_(file),
        info_(std::move(info)),
        number_(number),
        slots_(static_cast<size_t>(std::clamp<int64_t>(cache_bytes / kPageBytes, 1,
                                                       std::max<int64_t>(info_.num_pages(), 1)))),
        is_known_(static_cast<size_t>(std::min(info_.num_pages(), kMaxBits) / 64 + 1)) {}
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  // Copies the element at `position` of the payload, which must not cross a page: those of entries
  // and columns do not (FORMAT.md). Throws Error(corrupt) or Error(io).
  void read(int64_t position, std::span<std::byte> element) const {
    const int64_t page_number = position / kPayloadBytes;
    const auto within = static_cast<size_t>(position % kPayloadBytes);
    const size_t number = static_cast<size_t>(page_number) % slots_.size();
    Slot& slot = slots_[number];
    std::mutex& mutex = mutexes_[number % kNumMutexes];
    const auto copy_from = [&](const Page& page) {
      std::memcpy(element.data(), page.data() + within, element.size());
    };
    {
      const std::scoped_lock lock(mutex);
      if (slot.page_number == page_number) return copy_from(*slot.page);
    }
    // Two threads may read the same page at once; the later one's is kept.
    auto page = std::make_unique<Page>();
    load(page_number, *page);
    set_is_known(page_number);
    copy_from(*page);
    const std::scoped_lock lock(mutex);
    slot.page_number = page_number;
    slot.page.swap(page);
  }

  // Tells the kernel that read() will want the page of `position`, unless that was read or asked
  // for before: then the page cache has it. A hint that does not wait.
  void will_read(int64_t position) const {
    const int64_t page_number = position / kPayloadBytes;
    if (set_is_known(page_number)) return;
    file_.announce(info_.offset + page_number * kPageBytes, kPageBytes);
  }

  // The whole payload; checks every page and the checksum over all of them.
  std::vector<std::byte> read_all() const {
    std::vector<std::byte> payload;
    // A sparse file may claim any length: memory is taken for what was read and checked.
    constexpr int64_t kMaxReserved = 64 << 20;
    payload.reserve(static_cast<size_t>(std::min(info_.num_bytes, kMaxReserved)));
    uint32_t crc = 0;
    constexpr int64_t kPagesPerRead = 256;
    std::vector<std::byte> buffer;
    for (int64_t first = 0; first < info_.num_pages(); first += kPagesPerRead) {
      const int64_t count = std::min(kPagesPerRead, info_.num_pages() - first);
      buffer.resize(static_cast<size_t>(count * kPageBytes));
      const auto page_of_buffer = [&](int64_t i) {
        return std::span<const std::byte, kPageBytes>(buffer.data() + i * kPageBytes, kPageBytes);
      };
      without_damaged_copy(file_, [&] {
        file_.read_at(info_.offset + first * kPageBytes, buffer);
        for (int64_t i = 0; i < count; ++i) {
          check_page(page_of_buffer(i), first + i, number_, info_, file_.path().string());
        }
      });
      for (int64_t i = 0; i < count; ++i) {
        const std::span<const std::byte, kPageBytes> page = page_of_buffer(i);
        crc = crc32c(page.last(4), crc);
        const int64_t used = std::min(kPayloadBytes, info_.num_bytes - (first + i) * kPayloadBytes);
        payload.insert(payload.end(), page.begin(), page.begin() + used);
      }
    }
    if (crc != info_.crc32c) {
      throw Error(
          ErrorCode::corrupt,
          fmt::format(
              "the index stream '{}' is damaged: CRC-32C over its pages is {:08x}, expected "
              "{:08x}; copy or convert the shard again",
              info_.name, crc, info_.crc32c),
          {.path = file_.path().string(), .offset = info_.offset});
    }
    return payload;
  }

 private:
  using Page = std::array<std::byte, kPageBytes>;
  struct Slot {
    int64_t page_number = -1;
    std::unique_ptr<Page> page;
  };

  void load(int64_t page_number, Page& page) const {
    without_damaged_copy(file_, [&] {
      file_.read_at(info_.offset + page_number * kPageBytes, page);
      check_page(page, page_number, number_, info_, file_.path().string());
    });
  }

  // Returns what it was.
  bool set_is_known(int64_t page_number) const {
    const auto bit = static_cast<size_t>(page_number % kMaxBits);
    std::atomic<uint64_t>& word = is_known_[bit / 64];
    const uint64_t mask = uint64_t{1} << (bit % 64);
    if ((word.load(std::memory_order_relaxed) & mask) != 0) return true;
    return (word.fetch_or(mask, std::memory_order_relaxed) & mask) != 0;
  }

  const RandomReader& file_;
  StreamInfo info_;
  uint32_t number_;
  // Page p is kept in slot p modulo their number, if at all: pages that lie together do not
  // displace each other.
  mutable std::vector<Slot> slots_;
  static constexpr size_t kNumMutexes = 16;
  mutable std::array<std::mutex, kNumMutexes> mutexes_;  // of slot modulo their number
  // A bit a page, modulo kMaxBits: whether it was read or asked for. To ask takes a system call,
  // which is a tenth of what a small record costs.
  static constexpr int64_t kMaxBits = 1 << 20;
  mutable std::vector<std::atomic<uint64_t>> is_known_;
};

class ShardV2 final : public ShardFile {
 public:
  ShardV2(std::shared_ptr<const RandomReader> file, const ShardReaderOptions& options)
      : file_(std::move(file)), limits_(options) {
    const int64_t size = file_->size();
    if (size < kHeaderBytes + kTrailerBytes) {
      corrupt(fmt::format("has {} bytes, too few for a shard", size), -1);
    }
    without_damaged_copy(*file_, [&] {
      std::array<std::byte, kHeaderBytes> head;
      file_->read_at(0, head);
      header_ = decode_header(head, name());
      read_trailer_and_catalog(size);
    });
    const int entries = catalog_.find_stream("entries");
    entries_ =
        std::make_unique<StreamReader>(*file_, catalog_.streams[static_cast<size_t>(entries)],
                                       static_cast<uint32_t>(entries), options.index_cache_bytes);
  }

  const std::filesystem::path& path() const override { return file_->path(); }
  std::shared_ptr<const RandomReader> reader() const override { return file_; }
  const Schema& schema() const override { return catalog_.schema; }

  ShardFacts facts() const override {
    ShardFacts facts{{catalog_.num_records, trailer_.file_bytes, catalog_.record_bytes,
                      catalog_.raw_bytes, trailer_.catalog_crc32c}};
    facts.alignment = header_.alignment;
    facts.uuid = header_.uuid;
    const int dictionary = catalog_.find_stream("dictionary");
    if (dictionary >= 0) {
      facts.dictionary_bytes = catalog_.streams[static_cast<size_t>(dictionary)].num_bytes;
    }
    return facts;
  }

  RecordLocation locate(int64_t record) const override {
    std::array<std::byte, kEntryBytes> entry;
    entries_->read(record * kEntryBytes, entry);
    const RecordLocation where = decode_entry(entry);
    if (where.codec != Codec::none && where.codec != Codec::zstd &&
        where.codec != Codec::zstd_dictionary) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("the record is stored with codec {}, which this program does not "
                              "know; use a newer ffkit",
                              static_cast<int>(where.codec)),
                  {.path = name(), .record = record, .offset = where.offset});
    }
    if (where.offset < kHeaderBytes || where.stored_bytes < 1 ||
        where.offset > trailer_.catalog_offset ||
        where.stored_bytes > trailer_.catalog_offset - where.offset) {
      corrupt("the index entry of the record points outside of the shard", where.offset, record);
    }
    if (where.codec == Codec::none && where.raw_bytes != where.stored_bytes) {
      corrupt("the index entry of the record has two different lengths", where.offset, record);
    }
    if (where.codec != Codec::none &&
        (where.raw_bytes < 1 || where.raw_bytes > kMaxCompressedBytes ||
         where.raw_bytes / kMaxZstdRatio > where.stored_bytes)) {
      corrupt(fmt::format("the index entry of the record has wrong sizes: {} bytes cannot be "
                          "compressed to {} bytes",
                          where.raw_bytes, where.stored_bytes),
              where.offset, record);
    }
    require_record_fits(where, record, file_->path(), limits_);
    return where;
  }

  void will_locate(int64_t record) const override { entries_->will_read(record * kEntryBytes); }

  std::span<const std::byte> unpack(int64_t record, const RecordLocation& where,
                                    std::span<const std::byte> stored,
                                    UnpackBuffers& buffers) const override {
    if (where.codec == Codec::none) return stored;
    const unsigned long long content = ZSTD_getFrameContentSize(stored.data(), stored.size());
    if (content != static_cast<unsigned long long>(where.raw_bytes)) {
      corrupt("the size of the record's zstd frame differs from its index entry", where.offset,
              record);
    }
    if (buffers.zstd == nullptr) buffers.zstd.reset(ZSTD_createDCtx());
    if (buffers.zstd == nullptr) throw std::bad_alloc();
    buffers.record.resize(static_cast<size_t>(where.raw_bytes));
    const ZSTD_DDict* dictionary =
        where.codec == Codec::zstd_dictionary ? this->dictionary(record, where.offset) : nullptr;
    const size_t size =
        ZSTD_decompress_usingDDict(buffers.zstd.get(), buffers.record.data(), buffers.record.size(),
                                   stored.data(), stored.size(), dictionary);
    if (ZSTD_isError(size) != 0 || size != buffers.record.size()) {
      corrupt(fmt::format("the record cannot be decompressed ({})",
                          ZSTD_isError(size) != 0 ? ZSTD_getErrorName(size) : "it is too short"),
              where.offset, record);
    }
    return buffers.record;
  }

  std::vector<std::byte> scalar_column(size_t field) const override {
    return read_stream("column/" + schema().fields[field].name);
  }

  std::vector<std::string> string_column(size_t field) const override {
    const std::string& column = schema().fields[field].name;
    const auto ends = read_stream("column/" + column + "/ends");
    const auto text = read_stream("column/" + column + "/text");
    std::vector<std::string> values(static_cast<size_t>(catalog_.num_records));
    uint64_t begin = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const auto end = load_le<uint64_t>(ends.data() + 8 * i);
      if (end < begin || end > text.size()) {
        corrupt(fmt::format("the value of column '{}' ends at byte {}, but the column has {} bytes "
                            "and values must follow one another",
                            column, end, text.size()),
                -1, static_cast<int64_t>(i));
      }
      values[i].assign(reinterpret_cast<const char*>(text.data()) + begin, end - begin);
      begin = end;
    }
    return values;
  }

  std::vector<std::byte> stream(const std::string& stream) const override {
    if (catalog_.find_stream(stream) < 0) return {};
    return read_stream(stream);
  }

  std::vector<ShardProblem> verify_index() const override {
    std::vector<ShardProblem> problems;
    for (const StreamInfo& stream : catalog_.streams) {
      try {
        read_stream(stream.name);
      } catch (const Error& e) {
        problems.push_back({.offset = e.context().offset, .message = e.what()});
      }
    }
    if (problems.empty()) check_sums(problems);
    return problems;
  }

 private:
  std::string name() const { return file_->path().string(); }

  [[noreturn]] void corrupt(const std::string& message, int64_t offset, int64_t record = -1) const {
    throw Error(ErrorCode::corrupt, message + "; copy or convert the shard again",
                {.path = name(), .record = record, .offset = offset});
  }

  void check_sums(std::vector<ShardProblem>& problems) const {
    const auto entries = read_stream("entries");
    uint64_t record_bytes = 0;  // unsigned: sums of damaged lengths may overflow
    uint64_t raw_bytes = 0;
    for (size_t at = 0; at < entries.size(); at += kEntryBytes) {
      const RecordLocation where =
          decode_entry(std::span<const std::byte, kEntryBytes>(entries.data() + at, kEntryBytes));
      record_bytes += static_cast<uint64_t>(where.stored_bytes);
      raw_bytes += static_cast<uint64_t>(where.raw_bytes);
    }
    if (record_bytes != static_cast<uint64_t>(catalog_.record_bytes) ||
        raw_bytes != static_cast<uint64_t>(catalog_.raw_bytes)) {
      problems.push_back(
          {.message = fmt::format("{}: the records have {} bytes ({} before compression), but the "
                                  "catalog says {} ({}); copy or convert the shard again",
                                  name(), record_bytes, raw_bytes, catalog_.record_bytes,
                                  catalog_.raw_bytes)});
    }
  }

  void read_trailer_and_catalog(int64_t size) {
    const int64_t tail_bytes = std::min(size, kTailBytes);
    const int64_t tail_start = size - tail_bytes;
    std::vector<std::byte> tail(static_cast<size_t>(tail_bytes));
    file_->read_at(tail_start, tail);
    trailer_ = decode_trailer(std::span<const std::byte, kTrailerBytes>(
                                  tail.data() + tail_bytes - kTrailerBytes, kTrailerBytes),
                              name(), size);
    if (trailer_.uuid != header_.uuid) corrupt("header and trailer belong to different shards", -1);
    std::vector<std::byte> json(static_cast<size_t>(trailer_.catalog_bytes));
    if (trailer_.catalog_offset >= tail_start) {
      std::memcpy(json.data(), tail.data() + (trailer_.catalog_offset - tail_start), json.size());
    } else {
      file_->read_at(trailer_.catalog_offset, json);
    }
    if (const uint32_t crc = crc32c(json); crc != trailer_.catalog_crc32c) {
      corrupt(fmt::format("the catalog is damaged: CRC-32C is {:08x}, expected {:08x}", crc,
                          trailer_.catalog_crc32c),
              trailer_.catalog_offset);
    }
    catalog_ = decode_catalog({reinterpret_cast<const char*>(json.data()), json.size()}, name(),
                              trailer_.catalog_offset);
    if (catalog_.num_records != trailer_.num_records) {
      corrupt(fmt::format("the catalog has {} records, but the trailer has {}",
                          catalog_.num_records, trailer_.num_records),
              -1);
    }
  }

  std::vector<std::byte> read_stream(const std::string& stream) const {
    const auto number = static_cast<size_t>(catalog_.find_stream(stream));
    return StreamReader(*file_, catalog_.streams[number], static_cast<uint32_t>(number)).read_all();
  }

  std::vector<std::byte> read_dictionary() const {
    try {
      return read_stream("dictionary");
    } catch (const Error& error) {
      const ErrorContext& context = error.context();
      if (context.errno_value != EIO) throw;
      throw Error(ErrorCode::io,
                  "the zstd dictionary of the shard cannot be read, so the records that use this "
                  "dictionary cannot be read either",
                  {.path = name(),
                   .offset = context.offset,
                   .errno_value = EIO,
                   .remedy = "copy or convert the shard again"});
    }
  }

  // Read when the first record needs it, once.
  const ZSTD_DDict* dictionary(int64_t record, int64_t offset) const {
    const std::scoped_lock lock(dictionary_mutex_);
    if (dictionary_ == nullptr) {
      const int number = catalog_.find_stream("dictionary");
      if (number < 0 ||
          catalog_.streams[static_cast<size_t>(number)].num_bytes > kMaxDictionaryBytes) {
        corrupt("the record needs a zstd dictionary, but the shard has no dictionary", offset,
                record);
      }
      const std::vector<std::byte> bytes = read_dictionary();
      dictionary_.reset(ZSTD_createDDict(bytes.data(), bytes.size()));
      if (dictionary_ == nullptr) corrupt("the shard's zstd dictionary is damaged", -1);
    }
    return dictionary_.get();
  }

  std::shared_ptr<const RandomReader> file_;
  ShardReaderOptions limits_;
  ShardHeader header_;
  ShardTrailer trailer_;
  Catalog catalog_;
  std::unique_ptr<StreamReader> entries_;
  mutable std::mutex dictionary_mutex_;
  mutable std::unique_ptr<ZSTD_DDict, decltype(&ZSTD_freeDDict)> dictionary_{nullptr,
                                                                             ZSTD_freeDDict};
};

}  // namespace

std::unique_ptr<ShardFile> open_v2_file(std::shared_ptr<const RandomReader> file,
                                        const ShardReaderOptions& options) {
  return std::make_unique<ShardV2>(std::move(file), options);
}

}  // namespace ffkit
