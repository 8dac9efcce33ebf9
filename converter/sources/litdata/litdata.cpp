// Chunks of LitData (litdata/streaming/writer.py and item_loader.py).
//
//   chunk  u32 n │ u32 offsets[n + 1] │ samples; or frames of zstd (framed_chunk.h)
//   sample u32 sizes[leaves] │ leaves, one behind the other; of a TokensLoader: one leaf alone

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include <ffkit/converter/row_sources.h>
#include <ffkit/format/option_names.h>

#include "format/errors_only.h"
#include "format/make_error.h"
#include "input/source_error.h"
#include "places/place.h"
#include "sources/litdata/framed_chunk.h"
#include "sources/litdata/litdata_format.h"
#include "sources/rows/indexed_rows.h"
#include "sources/rows/row_source.h"
#include "sources/rows/stored_values.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// How the samples of a chunk are compressed, beside chunks that are compressed as files.
enum class InChunk : uint8_t { plain, frames, samples };

// What all chunks of a data set have in common.
struct LitDataConfig {
  std::vector<std::string> formats;
  std::vector<std::string> names;
  std::string compression;  // "zstd:4"; empty: none
  InChunk in_chunk = InChunk::plain;
  bool are_tokens = false;  // written for a TokensLoader
  bool operator==(const LitDataConfig&) const = default;
};

// Behind samples that are rows of an Arrow table as well, or only that.
constexpr std::string_view kArrowFooter("LDARW01\0", 8);

LitDataConfig config_of(const IndexValue& config) {
  if (config.find("encryption")) {
    throw config.error(ErrorCode::unsupported,
                       "says that the chunks are encrypted, which are not read; write them again "
                       "without encryption");
  }
  LitDataConfig read;
  const auto loader = config.find("item_loader");
  const std::string loader_name = loader ? loader->text() : "PyTreeLoader";
  read.are_tokens = loader_name == "TokensLoader";
  if (loader_name != "PyTreeLoader" && !read.are_tokens) {
    throw config.error(ErrorCode::unsupported,
                       fmt::format("has the item loader '{}', and chunks of PyTreeLoader and "
                                   "TokensLoader are read; write the samples with one of these",
                                   loader_name));
  }
  for (const IndexValue& format : config.at("data_format").list()) {
    read.formats.push_back(format.text());
  }
  const IndexValue spec = config.at("data_spec");
  try {
    read.names = leaf_names(spec.text());
  } catch (const Error& error) {
    throw spec.error(error.code(), error.message());
  }
  if (read.names.size() != read.formats.size() || (read.are_tokens && read.names.size() != 1)) {
    throw config.error(
        ErrorCode::corrupt,
        fmt::format("has {} formats for {} values of a sample; write the index again",
                    read.formats.size(), read.names.size()));
  }
  if (const auto compression = config.find("compression")) read.compression = compression->text();
  if (!read.compression.empty() && read.compression != "zstd" &&
      !read.compression.starts_with("zstd:")) {
    throw config.error(ErrorCode::unsupported,
                       fmt::format("has the compression '{}', and zstd is read; write the chunks "
                                   "with it",
                                   read.compression));
  }
  const auto level = config.find("compression_level");
  const std::string level_name = level ? level->text() : "chunk";
  if (level_name == "batch") {
    read.in_chunk = InChunk::frames;
  } else if (level_name == "sample") {
    read.in_chunk = InChunk::samples;
  } else if (level_name != "chunk" && !level_name.empty()) {
    throw config.error(ErrorCode::unsupported,
                       fmt::format("has the compression_level '{}', and chunk, batch and sample "
                                   "are read; write the chunks with one of these",
                                   level_name));
  }
  return read;
}

class LitDataRows final : public IndexedRows {
 public:
  LitDataRows(const fs::path& path, const RowOptions& options)
      : IndexedRows("litdata", path, options) {
    for (const IndexedFolder& folder : find_indexed_folders(path, "LitData", notes_)) {
      read_index(folder);
    }
    set_columns(options);
    if (config_->are_tokens) {
      notes_.push_back(fmt::format(
          "{}: written for a TokensLoader; samples are as long as they were written, and no blocks",
          shown_place(path)));
    }
  }

 protected:
  std::optional<FileRange> find_stream(const InputFile& opened, bool is_compressed) const override {
    if (config_->in_chunk != InChunk::frames) {
      return IndexedRows::find_stream(opened, is_compressed);
    }
    try {
      return read_framed_chunk(opened).frames;
    } catch (const Error& error) {
      throw error.within({.path = opened.path().string()}).with_subject(ErrorSubject::source);
    }
  }

  std::vector<FileRange> read_table(size_t split, size_t file) const override {
    const int64_t end = file_bytes(split, file);
    if (config_->in_chunk == InChunk::frames) {
      const FramedChunk chunk = files(split).with(file, read_framed_chunk);
      return ranges_of(chunk.offsets, 0, end);
    }
    std::array<char, kArrowFooter.size()> footer{};
    if (end >= std::ssize(footer)) {
      read_file(split, file, end - std::ssize(footer), std::as_writable_bytes(std::span(footer)));
    }
    if (std::string_view(footer.data(), footer.size()) == kArrowFooter) {
      throw Error(ErrorCode::unsupported,
                  "holds its samples as an Arrow table, which LitData writes where pyarrow is "
                  "installed and no value is a picture or an array; write the samples where it is "
                  "not installed, or convert a litdata.StreamingDataset of them with "
                  "ffkit.convert.from_torch()");
    }
    return IndexedRows::read_table(split, file);
  }

  void parse(std::span<const std::byte> row, std::span<RowValue> values,
             SampleBuffers& buffers) const override {
    for_each_leaf(row, buffers, [&](size_t leaf, std::span<const std::byte> cell) {
      const std::optional<size_t>& position = positions_[leaf];
      if (!position) return;
      try {
        decode_leaf(formats_[leaf], cell, values[*position], buffers);
      } catch (const Error& error) {
        if (is_out_of_memory(error)) throw;
        throw error.with_message(
            fmt::format("column '{}': {}", config_->names[leaf], error.message()));
      }
    });
  }

 private:
  void read_index(const IndexedFolder& folder) {
    const IndexFile index(folder.folder);
    if (index.root().find("shards")) {
      throw index.root().error(
          ErrorCode::unsupported,
          "is an index of MosaicML Streaming; convert the folder as the kind 'mds'");
    }
    LitDataConfig config = config_of(index.root().at("config"));
    if (config_ && config != *config_) {
      throw index.root().error(ErrorCode::unsupported,
                               "has other formats, names or compression than that of the first "
                               "split; convert the folders one by one");
    }
    config_ = std::move(config);
    std::vector<IndexedFile> files;
    for (const IndexValue& chunk : index.root().at("chunks").list()) {
      const fs::path name = chunk.at("filename").relative_path();
      IndexedFile file{.path = folder.folder / name, .num_rows = chunk.at("chunk_size").count()};
      if (const auto plain = name_without_compression(name.string())) {
        file.compressed = file.path;
        file.path = folder.folder / *plain;
      }
      files.push_back(std::move(file));
    }
    add_indexed_split(folder, index, files);
  }

  // "chunk-0-0.bin" of "chunk-0-0.zstd.bin"; nothing for others.
  std::optional<std::string> name_without_compression(std::string name) const {
    if (config_->compression.empty() || config_->in_chunk != InChunk::plain) return std::nullopt;
    const std::string part = "." + config_->compression;
    const size_t at = name.find(part);
    if (at == std::string::npos) return std::nullopt;
    return name.erase(at, part.size());
  }

  void set_columns(const RowOptions& options) {
    for (const std::string& format : config_->formats) {
      formats_.push_back(parse_litdata_format(format));
    }
    std::vector<RefusedColumn> refused;
    for (size_t i = 0; i < formats_.size(); ++i) {
      LitDataFormat& format = formats_[i];
      if (format.kind == LitDataKind::tensor || format.kind == LitDataKind::numpy) {
        find_dtype(i, format);
      }
      if (format.kind == LitDataKind::refused) {
        refused.push_back({config_->names[i], format.refusal});
      }
    }
    refuse(refused, options);
    for (size_t i = 0; i < formats_.size(); ++i) {
      LitDataFormat& format = formats_[i];
      positions_.emplace_back();
      if (format.kind == LitDataKind::refused) continue;
      const char* const note = format.kind == LitDataKind::pillow ? kPillowStored : format.note;
      if (note != nullptr) {
        notes_.push_back(
            fmt::format("{}: the column '{}' {}", shown_place(path()), config_->names[i], note));
      }
      format.field.name = config_->names[i];
      positions_[i] = columns_.size();
      columns_.push_back({.field = format.field});
    }
  }

  // Of arrays that say it each, by the first sample that can be read.
  void find_dtype(size_t leaf, LitDataFormat& format) {
    const auto dtype = by_first_row([&](std::span<const std::byte> row, SampleBuffers& buffers) {
      std::optional<DType> found;
      for_each_leaf(row, buffers, [&](size_t i, std::span<const std::byte> cell) {
        if (i == leaf) found = dtype_of_array(format.kind, StoredBytes(cell));
      });
      return found;
    });
    if (!dtype) {
      format.kind = LitDataKind::refused;
      format.refusal = "holds arrays of complex numbers, texts or objects";
      return;
    }
    format.field.dtype = *dtype;
    notes_.push_back(fmt::format(
        "{}: the index does not say what the arrays of column '{}' are of; they are {}, as in the "
        "first sample",
        shown_place(path()), config_->names[leaf], to_string(*dtype)));
  }

  static std::optional<DType> dtype_of_array(LitDataKind kind, StoredBytes from) {
    return kind == LitDataKind::tensor ? torch_dtype(from.big_endian_number())
                                       : numpy_dtype(from.number<uint32_t>());
  }

  template <typename Use>
  void for_each_leaf(std::span<const std::byte> row, SampleBuffers& buffers, const Use& use) const {
    if (config_->in_chunk == InChunk::samples) row = inflate_sample(row, buffers);
    if (config_->are_tokens) return use(0, row);
    StoredBytes from(row);
    StoredBytes sizes(from.take(4 * uint64_t{config_->names.size()}));
    for (size_t i = 0; i < config_->names.size(); ++i) use(i, from.take(sizes.number<uint32_t>()));
    from.require_end();
  }

  // Writers do not all say how long it will be.
  std::span<const std::byte> inflate_sample(std::span<const std::byte> row,
                                            SampleBuffers& buffers) const {
    struct Free {
      void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
    };
    const std::unique_ptr<ZSTD_DStream, Free> stream(ZSTD_createDStream());
    if (stream == nullptr) throw std::bad_alloc();
    const auto max_bytes = static_cast<size_t>(options().max_row_bytes);
    std::vector<std::byte>& out = buffers.array();
    out.resize(std::min(max_bytes, std::max<size_t>(4 * row.size(), 4096)));
    ZSTD_inBuffer from{row.data(), row.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (true) {
      const size_t result = ZSTD_decompressStream(stream.get(), &to, &from);
      if (ZSTD_isError(result) != 0) {
        throw error_of(ErrorCode::corrupt, "is zstd data that is damaged: {}",
                       ZSTD_getErrorName(result));
      }
      if (result == 0 && from.pos == from.size) break;
      if (to.pos < to.size) {
        if (from.pos < from.size) continue;
        throw Error(ErrorCode::corrupt, "is zstd data that is cut short");
      }
      if (out.size() == max_bytes) {
        throw error_of(ErrorCode::unsupported,
                       "has more than {} bytes decompressed, as many as a sample may have; take it "
                       "away, or raise the limit with {}",
                       max_bytes, option_name("max_sample_bytes"));
      }
      out.resize(std::min(max_bytes, 2 * out.size()));
      to.dst = out.data();
      to.size = out.size();
    }
    out.resize(to.pos);
    return out;
  }

  static void decode_leaf(const LitDataFormat& format, std::span<const std::byte> cell,
                          RowValue& value, SampleBuffers& buffers) {
    value.is_null = false;
    switch (format.kind) {
      case LitDataKind::plain:
        return value.set_bytes(cell);
      case LitDataKind::number:
        value.bits = stored_scalar(cell, size_of(format.field.dtype));
        // A bool is true for any other byte than 0.
        if (format.field.dtype == DType::u8) value.bits = value.bits != 0 ? 1 : 0;
        return;
      case LitDataKind::pillow:
        return value.set_bytes(stored_pillow(cell, buffers));
      case LitDataKind::jpeg_array:
        value.items = stored_items(cell);
        return;
      case LitDataKind::json: {
        const std::string text =
            litdata_json({reinterpret_cast<const char*>(cell.data()), cell.size()});
        return value.set_bytes(std::as_bytes(std::span(buffers.text(text))));
      }
      case LitDataKind::numbers: {
        const auto side = static_cast<int64_t>(cell.size() / size_of(format.field.dtype));
        return value.set_tensor(stored_tensor(format.field.dtype, {side}, cell));
      }
      case LitDataKind::tensor:
      case LitDataKind::numpy:
        return value.set_tensor(array_of(format, cell));
      case LitDataKind::refused:
        return;
    }
  }

  static TensorView array_of(const LitDataFormat& format, std::span<const std::byte> cell) {
    const bool is_torch = format.kind == LitDataKind::tensor;
    const std::optional<DType> dtype = dtype_of_array(format.kind, StoredBytes(cell));
    if (dtype != format.field.dtype) {
      throw error_of(ErrorCode::unsupported,
                     "is an array of {}, and those before are of {}; convert them to one type",
                     dtype ? to_string(*dtype) : "another type", to_string(format.field.dtype));
    }
    StoredBytes from(cell);
    const auto next = [&] { return is_torch ? from.big_endian_number() : from.number<uint32_t>(); };
    (void)next();  // the dtype
    const uint32_t num_axes = next();
    constexpr uint32_t kMaxAxes = 64;  // NumPy's and torch's limit
    if (num_axes > kMaxAxes) {
      throw error_of(ErrorCode::corrupt, "is an array of {} axes, more than there can be",
                     num_axes);
    }
    std::vector<int64_t> shape(num_axes);
    for (int64_t& side : shape) side = next();
    return stored_tensor(format.field.dtype, std::move(shape), from.rest());
  }

  std::optional<LitDataConfig> config_;
  std::vector<LitDataFormat> formats_;            // of the leaves
  std::vector<std::optional<size_t>> positions_;  // of the leaves in columns_
};

}  // namespace

std::unique_ptr<Source> open_litdata(const fs::path& path, const RowOptions& options) {
  return make_row_source(std::make_unique<LitDataRows>(path, options), options);
}

}  // namespace ffkit
