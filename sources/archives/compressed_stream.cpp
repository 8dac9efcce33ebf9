#include "archives/compressed_stream.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "archives/archive_reader.h"
#include "converter/input/source_error.h"

namespace ffkit {
namespace {

constexpr size_t kCompressedChunkBytes = 256 << 10;

// The range of the file, a chunk at a time.
class Chunks {
 public:
  Chunks(const InputFile& file, FileRange range)
      : file_(file),
        buffer_(kCompressedChunkBytes),
        position_(range.offset),
        end_(range.offset + range.num_bytes) {}

  // Empty at the end.
  std::span<const std::byte> next() {
    const auto num_bytes = std::min<int64_t>(end_ - position_, std::ssize(buffer_));
    const auto chunk = std::span(buffer_).first(static_cast<size_t>(num_bytes));
    if (num_bytes > 0) file_.read_at(position_, chunk);
    position_ += num_bytes;
    return chunk;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::corrupt, what + "; download or copy the file again",
                {.path = file_.path().string(), .offset = position_});
  }

 private:
  const InputFile& file_;
  std::vector<std::byte> buffer_;
  int64_t position_;
  const int64_t end_;
};

}  // namespace

class CompressedStream::Decoder {
 public:
  Decoder() = default;
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  // At least one byte, or 0 at the end; `out` is not empty.
  virtual size_t read_some(std::span<std::byte> out) = 0;
};

namespace {

class GzipDecoder : public CompressedStream::Decoder {
 public:
  GzipDecoder(const InputFile& file, FileRange range) : chunks_(file, range) {
    constexpr int kGzipOnly = MAX_WBITS + 16;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  size_t read_some(std::span<std::byte> out) override {
    // Below zlib's limit of 4 GiB.
    const auto wanted = static_cast<uInt>(std::min<size_t>(out.size(), 1 << 30));
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = wanted;
    while (stream_.avail_out == wanted) {
      if (!refill()) {
        if (is_within_member_) chunks_.fail("the gzip data are cut short");
        return 0;
      }
      if (!is_within_member_ && !begin_member()) return 0;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      if (result == Z_STREAM_END) {
        is_within_member_ = false;
        if (inflateReset(&stream_) != Z_OK) throw std::bad_alloc();
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        chunks_.fail(fmt::format("the gzip data are damaged: {}",
                                 stream_.msg == nullptr ? "it ends too early" : stream_.msg));
      }
    }
    return wanted - stream_.avail_out;
  }

 private:
  bool refill() {
    if (stream_.avail_in > 0) return true;
    const auto chunk = chunks_.next();
    // zlib's interface wants it; it does not write there.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(chunk.data()));
    stream_.avail_in = static_cast<uInt>(chunk.size());
    return !chunk.empty();
  }

  // False when only zeros follow, with which some programs fill the last block of a tape or disk.
  bool begin_member() {
    if (num_members_++ > 0 && *stream_.next_in != 0x1F) {
      do {
        for (; stream_.avail_in > 0; --stream_.avail_in, ++stream_.next_in) {
          if (*stream_.next_in != 0) chunks_.fail("the file has other data after its gzip data");
        }
      } while (refill());
      return false;
    }
    is_within_member_ = true;
    return true;
  }

  Chunks chunks_;
  z_stream stream_{};
  bool is_within_member_ = false;
  int64_t num_members_ = 0;
};

class ZstdDecoder : public CompressedStream::Decoder {
 public:
  ZstdDecoder(const InputFile& file, FileRange range, int largest_window_log)
      : chunks_(file, range), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, largest_window_log);
  }

  size_t read_some(std::span<std::byte> out) override {
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (output.pos == 0) {
      if (input_.pos == input_.size) {
        const auto chunk = chunks_.next();
        if (chunk.empty()) {
          // What it has already read may still be on its way out.
          if (!is_within_frame_ || !flush(output)) {
            if (is_within_frame_) chunks_.fail("the zstd data are cut short");
            return 0;
          }
          continue;
        }
        input_ = {chunk.data(), chunk.size(), 0};
      }
      decode(output, input_);
    }
    return output.pos;
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  bool flush(ZSTD_outBuffer& output) {
    ZSTD_inBuffer nothing{nullptr, 0, 0};
    decode(output, nothing);
    return output.pos > 0 || !is_within_frame_;
  }

  void decode(ZSTD_outBuffer& output, ZSTD_inBuffer& input) {
    const size_t result = ZSTD_decompressStream(stream_.get(), &output, &input);
    if (ZSTD_isError(result) != 0) {
      // Not with the code of the error, whose header is for static linking.
      const std::string why = ZSTD_getErrorName(result);
      if (why.find("llocation error") != std::string::npos) throw std::bad_alloc();
      chunks_.fail(fmt::format("the zstd data are damaged: {}", why));
    }
    is_within_frame_ = result != 0;
  }

  Chunks chunks_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  bool is_within_frame_ = false;
};

// bzip2 and xz: libarchive knows their ways to stand behind each other.
class FilterDecoder : public CompressedStream::Decoder {
 public:
  FilterDecoder(const InputFile& file, FileRange range, ContentKind kind)
      : file_(file),
        range_(range),
        chunks_(file, range),
        kind_(kind),
        archive_(archive_read_new()) {
    archive* const a = archive_.get();
    if (a == nullptr) throw std::bad_alloc();
    const int result = kind == ContentKind::xz ? archive_read_support_filter_xz(a)
                                               : archive_read_support_filter_bzip2(a);
    // With a warning it would start a program of that name.
    if (result != ARCHIVE_OK) {
      throw source_error(file.path(), ErrorCode::unsupported,
                         "is {}, which the libarchive of this build cannot read; decompress it",
                         content_name(kind));
    }
    archive_read_support_format_raw(a);
    archive_read_set_callback_data(a, this);
    archive_read_set_read_callback(a, read_callback);
    if (archive_read_open1(a) != ARCHIVE_OK) fail();
    archive_entry* entry = nullptr;
    const int header = archive_read_next_header(a, &entry);
    if (read_error_) std::rethrow_exception(read_error_);
    if (header == ARCHIVE_EOF) {
      is_at_end_ = true;
    } else if (header != ARCHIVE_OK) {
      fail();
    }
    if (archive_filter_count(a) < 2) fail();  // not recognised: it would be passed on as it is
  }

  size_t read_some(std::span<std::byte> out) override {
    if (is_at_end_) return 0;
    const la_ssize_t n = archive_read_data(archive_.get(), out.data(), out.size());
    if (read_error_) std::rethrow_exception(read_error_);
    if (n < 0) fail();
    is_at_end_ = n == 0;
    if (is_at_end_) require_end();
    return static_cast<size_t>(n);
  }

 private:
  static la_ssize_t read_callback(archive* a, void* self, const void** buffer) {
    auto& decoder = *static_cast<FilterDecoder*>(self);
    try {
      const auto chunk = decoder.chunks_.next();
      *buffer = chunk.data();
      return static_cast<la_ssize_t>(chunk.size());
    } catch (...) {
      decoder.read_error_ = std::current_exception();
      archive_set_error(a, EIO, "read failed");
      return ARCHIVE_FATAL;
    }
  }

  // libarchive takes anything behind bzip2 data as its end, a damaged stream as well.
  void require_end() const {
    std::vector<std::byte> rest(kCompressedChunkBytes);
    const int64_t end = range_.offset + range_.num_bytes;
    for (int64_t at = range_.offset + archive_filter_bytes(archive_.get(), -1); at < end;) {
      const auto piece =
          std::span(rest).first(static_cast<size_t>(std::min<int64_t>(end - at, std::ssize(rest))));
      file_.read_at(at, piece);
      if (std::ranges::any_of(piece, [](std::byte b) { return b != std::byte{0}; })) {
        chunks_.fail(fmt::format("the file has other data after its {}", content_name(kind_)));
      }
      at += std::ssize(piece);
    }
  }

  [[noreturn]] void fail() const {
    if (read_error_) std::rethrow_exception(read_error_);
    const char* detail = archive_error_string(archive_.get());
    chunks_.fail(fmt::format("the {} are damaged or cut short{}{}", content_name(kind_),
                             detail == nullptr ? "" : ": ", detail == nullptr ? "" : detail));
  }

  const InputFile& file_;
  const FileRange range_;
  Chunks chunks_;
  const ContentKind kind_;
  std::unique_ptr<archive, FreeArchive> archive_;
  std::exception_ptr read_error_;  // thrown in a callback: must not pass through C code
  bool is_at_end_ = false;
};

std::unique_ptr<CompressedStream::Decoder> decoder_of(const InputFile& file, FileRange range,
                                                      ContentKind kind, int largest_window_log) {
  switch (kind) {
    case ContentKind::gzip:
      return std::make_unique<GzipDecoder>(file, range);
    case ContentKind::zstd:
      return std::make_unique<ZstdDecoder>(file, range, largest_window_log);
    case ContentKind::bzip2:
    case ContentKind::xz:
      return std::make_unique<FilterDecoder>(file, range, kind);
    default:
      throw source_error(file.path(), ErrorCode::unsupported,
                         "is {}, not gzip, zstd, bzip2 or xz data; decompress it",
                         content_name(kind));
  }
}

}  // namespace

CompressedStream::CompressedStream(const InputFile& file, ContentKind kind, int largest_window_log)
    : CompressedStream(file, {.offset = 0, .num_bytes = file.size()}, kind, largest_window_log) {}

CompressedStream::CompressedStream(const InputFile& file, FileRange range, ContentKind kind,
                                   int largest_window_log)
    : decoder_(decoder_of(file, range, kind, largest_window_log)) {}

CompressedStream::~CompressedStream() = default;

bool CompressedStream::takes(ContentKind kind) {
  return kind == ContentKind::gzip || kind == ContentKind::zstd || kind == ContentKind::bzip2 ||
         kind == ContentKind::xz;
}

size_t CompressedStream::read(std::span<std::byte> out) {
  size_t num_read = 0;
  while (num_read < out.size()) {
    const size_t n = decoder_->read_some(out.subspan(num_read));
    if (n == 0) break;
    num_read += n;
  }
  return num_read;
}

}  // namespace ffkit
