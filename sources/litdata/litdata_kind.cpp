// Chunks of LitData (litdata/streaming/writer.py and item_loader.py).
//
//   chunk  u32 n │ u32 offsets[n + 1] │ samples; or frames of zstd (litdata_format.h); or an
//          Arrow table behind offsets of nothing (arrow_chunk.h)
//   sample u32 sizes[leaves] │ leaves, one behind the other; of a TokensLoader: one leaf alone

#include <fmt/ranges.h>

#include <cstring>
#include <map>
#include <mutex>

#include <ffkit/converter/source_kind.h>

#include "arrow/row_batches.h"
#include "converter/input/sample_arrays.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "litdata/arrow_chunk.h"
#include "litdata/litdata_format.h"
#include "rows/indexed_rows.h"
#include "rows/row_source.h"
#include "rows/stored_values.h"

namespace ffkit {
namespace {

// What is the same of many chunks that are Arrow tables.
struct ChunkType {
  ArrowNode root;
  std::vector<TableLeaf> leaves;
  std::vector<const TableLeaf*> of_name;  // of each of the data set's names; null: it has none
};

struct ArrowChunk {
  std::shared_ptr<ChunkType> type;
  FileRange table;
  int64_t num_rows = 0;
};

class LitDataRows final : public IndexedRows {
 public:
  LitDataRows(const fs::path& path, const RowOptions& options)
      : IndexedRows("litdata", path, options) {
    for (const IndexedFolder& folder : find_indexed_folders(path, "LitData", notes_)) {
      read_index(folder);
    }
    set_columns(options);
    if (config_->are_tokens) {
      note("was written for a TokensLoader; samples keep their length and are not cut into blocks");
    }
  }

  bool reads_in_order() const override { return !tables_.empty(); }

  void will_read(size_t split, int64_t row) const override {
    // Of a table, what is read is said when it is.
    if (find_table(split, place_of(split, row).file) == nullptr) {
      IndexedRows::will_read(split, row);
    }
  }

  void read(size_t split, int64_t row, std::span<RowValue> values,
            SampleBuffers& buffers) const override {
    const Place place = place_of(split, row);
    if (const ArrowChunk* chunk = find_table(split, place.file)) {
      return read_table_row(*chunk, split, place, values, buffers);
    }
    IndexedRows::read(split, row, values, buffers);
  }

 protected:
  std::optional<FileRange> find_stream(const InputFile& opened, bool is_compressed) const override {
    if (config_->in_chunk != InChunk::frames) {
      return IndexedRows::find_stream(opened, is_compressed);
    }
    try {
      if (find_table_of(opened)) return std::nullopt;
      return read_framed_chunk(opened).frames;
    } catch (const Error& error) {
      throw error.within({.path = opened.path().string()}).with_subject(ErrorSubject::source);
    }
  }

  std::vector<FileRange> read_table(size_t split, size_t file) override {
    const int64_t end = file_bytes(split, file);
    if (config_->in_chunk == InChunk::frames && !files(split).with(file, find_table_of)) {
      note_plain();
      const FramedChunk chunk = files(split).with(file, read_framed_chunk);
      return ranges_of(chunk.offsets, 0, end);
    }
    const auto table = find_arrow_table(end, [&](int64_t offset, std::span<std::byte> out) {
      read_file(split, file, offset, out);
    });
    if (!table) {
      note_plain();
      return IndexedRows::read_table(split, file);
    }
    const std::vector<std::byte> offsets = offsets_of(split, file, table->offset);
    const int64_t first = 4 + std::ssize(offsets);
    const auto num_rows = std::ssize(offsets) / 4 - 1;
    if (!are_all(offsets, first)) {  // the samples are there, too
      note_plain();
      return ranges_of(offsets, first, table->offset);
    }
    add_table(split, file, *table, num_rows);
    // Of one row, about.
    const int64_t row_bytes =
        std::max<int64_t>(1, table->num_bytes / std::max<int64_t>(1, num_rows));
    return std::vector<FileRange>(static_cast<size_t>(num_rows),
                                  {.offset = table->offset, .num_bytes = row_bytes});
  }

  void parse(std::span<const std::byte> row, std::span<RowValue> values,
             SampleBuffers& buffers) const override {
    for_each_leaf(row, buffers, [&](size_t leaf, std::span<const std::byte> cell) {
      const std::optional<size_t>& position = positions_[leaf];
      if (!position) return;
      in_column(names_[leaf],
                [&] { decode_leaf(formats_[leaf], cell, values[*position], buffers); });
    });
  }

 private:
  // A table in a chunk.
  class TableInput final : public ArrowInput {
   public:
    TableInput(const LitDataRows& rows, size_t split, size_t file, const FileRange& table)
        : rows_(rows), split_(split), file_(file), table_(table) {}
    int64_t size() const override { return table_.num_bytes; }
    void read_at(int64_t offset, std::span<std::byte> out) const override {
      // Batches are read from front to back.
      constexpr int64_t kAhead = 4 << 20;
      const int64_t at = table_.offset + offset;
      rows_.will_read_file(split_, file_, at + std::ssize(out), kAhead);
      rows_.read_file(split_, file_, at, out);
    }

   private:
    const LitDataRows& rows_;
    const size_t split_;
    const size_t file_;
    const FileRange table_;
  };

  static std::optional<FileRange> find_table_of(const InputFile& opened) {
    return find_arrow_table(opened.size(), [&](int64_t offset, std::span<std::byte> out) {
      opened.read_at(offset, out);
    });
  }

  void note_plain() {
    const std::lock_guard lock(mutex_);
    has_plain_chunks_ = true;
  }

  static bool are_all(std::span<const std::byte> offsets, int64_t value) {
    const auto wanted = static_cast<uint32_t>(value);
    for (size_t at = 0; at < offsets.size(); at += sizeof(wanted)) {
      if (std::memcmp(offsets.data() + at, &wanted, sizeof(wanted)) != 0) return false;
    }
    return true;
  }

  std::unique_ptr<ArrowFile> open_table(size_t split, size_t file, const FileRange& table) const {
    return open_arrow_file(std::make_unique<TableInput>(*this, split, file, table),
                           ArrowFormat::ipc);
  }

  void add_table(size_t split, size_t file, const FileRange& table, int64_t num_rows) {
    ArrowNode root = arrow_node(*open_table(split, file, table)->schema().get());
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find_if(
        types_, [&](const std::shared_ptr<ChunkType>& type) { return type->root == root; });
    std::shared_ptr<ChunkType> type = known == types_.end() ? nullptr : *known;
    if (type == nullptr) {
      type = std::make_shared<ChunkType>();
      type->root = std::move(root);
      type->leaves = table_leaves(type->root, config_->names);
      types_.push_back(type);
    }
    tables_[{split, file}] = {.type = type, .table = table, .num_rows = num_rows};
  }

  const ArrowChunk* find_table(size_t split, size_t file) const {
    const auto found = tables_.find({split, file});
    return found == tables_.end() ? nullptr : &found->second;
  }

  void read_table_row(const ArrowChunk& chunk, size_t split, const Place& place,
                      std::span<RowValue> values, SampleBuffers& buffers) const {
    const auto batch =
        batches_.find(files(split).paths()[place.file], 0, {.num_rows = chunk.num_rows}, place.row,
                      [&] { return open_table(split, place.file, chunk.table); });
    int64_t num_bytes = 0;
    for (size_t i = 0; i < names_.size(); ++i) {
      const TableLeaf* const leaf = chunk.type->of_name[i];
      if (leaf == nullptr || !positions_[i]) continue;
      RowValue& value = values[*positions_[i]];
      in_column(names_[i], [&] {
        read_table_leaf(formats_[i], *leaf, *batch->array.get(), place.row - batch->first_row,
                        options().max_sample_bytes, value, buffers);
      });
      num_bytes += value.num_bytes();
    }
    require_sample_size(num_bytes, options().max_sample_bytes);
  }

  // The values of tables, whose types say more than the index: what is None in the first sample is
  // a pickle to the index, and what the first sample lacks is not in it.
  void settle_tables() {
    // Threads have found them in any order.
    std::vector<std::shared_ptr<ChunkType>> in_order;
    for (const auto& [place, chunk] : tables_) {
      if (std::ranges::find(in_order, chunk.type) == in_order.end()) in_order.push_back(chunk.type);
    }
    types_ = std::move(in_order);
    for (const std::shared_ptr<ChunkType>& type : types_) {
      for (const TableLeaf& leaf : type->leaves) {
        if (std::ranges::find(names_, leaf.name) != names_.end()) continue;
        names_.push_back(leaf.name);
        formats_.emplace_back();
      }
    }
    for (const std::shared_ptr<ChunkType>& type : types_) {
      for (const std::string& name : names_) {
        const auto found = std::ranges::find(type->leaves, name, &TableLeaf::name);
        type->of_name.push_back(found == type->leaves.end() ? nullptr : &*found);
      }
    }
    for (size_t i = 0; i < names_.size(); ++i) settle_table_leaf(i);
  }

  void settle_table_leaf(size_t i) {
    const bool is_in_index = i < config_->names.size();
    LitDataFormat& format = formats_[i];
    if (is_in_index && format.kind == LitDataKind::json) return;
    std::vector<const ArrowNode*> nodes;
    for (const std::shared_ptr<ChunkType>& type : types_) {
      if (type->of_name[i] != nullptr) nodes.push_back(type->of_name[i]->node);
    }
    const TableFormat found = table_format(nodes);
    const bool has_values = !found.format.empty() || !found.refusal.empty();
    if (has_plain_chunks_ && is_in_index) {
      if (!has_values || format.kind == LitDataKind::refused) return;
      const std::string of_index = config_->formats[i];
      const bool is_same = found.format == of_index ||
                           (found.format == "str" && of_index == "text") ||
                           (found.format == "int" && of_index == "float");
      if (is_same) return;
      format = {.refusal =
                    found.refusal.empty()
                        ? fmt::format("has the format '{}' in index.json, but '{}' in chunks "
                                      "that are Arrow tables",
                                      of_index, found.format)
                        : found.refusal};
      return;
    }
    if (found.format.empty()) {
      format = {.refusal = found.refusal};
    } else {
      format = parse_litdata_format(found.format);
    }
  }

  // A name that no sample has a value for; what is below it, as of a dictionary, may have some.
  bool is_without_values(size_t i) const {
    return formats_[i].kind == LitDataKind::refused && formats_[i].refusal.empty();
  }

  void read_index(const IndexedFolder& folder) {
    const IndexFile index(folder.folder);
    if (index.root().find("shards")) {
      throw index.root().error(
          ErrorCode::unsupported,
          "has the format of MosaicML Streaming; convert the folder as the kind 'mds'");
    }
    LitDataConfig config = read_litdata_config(index.root().at("config"));
    if (config_ && config != *config_) {
      throw index.root().error(
          ErrorCode::unsupported,
          "does not have the same formats, names and compression as the index of "
          "the first split; convert the folders separately");
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
    names_ = config_->names;
    if (!tables_.empty()) settle_tables();
    std::vector<RefusedColumn> refused;
    for (size_t i = 0; i < formats_.size(); ++i) {
      LitDataFormat& format = formats_[i];
      if (format.kind == LitDataKind::tensor || format.kind == LitDataKind::numpy) {
        find_dtype(i, format);
      }
      if (is_without_values(i)) {
        const bool is_above_others = std::ranges::any_of(
            names_, [&](const std::string& name) { return name.starts_with(names_[i] + "/"); });
        if (is_above_others) continue;
        note("the column '{}' is left out: no sample has a value in it", names_[i]);
      } else if (format.kind == LitDataKind::refused) {
        refused.push_back({names_[i], format.refusal});
      }
    }
    refuse(refused, options);
    for (size_t i = 0; i < formats_.size(); ++i) {
      LitDataFormat& format = formats_[i];
      positions_.emplace_back();
      if (format.kind == LitDataKind::refused) continue;
      const char* const what = format.kind == LitDataKind::pillow ? kPillowStored : format.note;
      if (what != nullptr) note("the column '{}' {}", names_[i], what);
      format.field.name = names_[i];
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
      format.refusal = "contains arrays of complex numbers, texts or objects";
      return;
    }
    format.field.dtype = *dtype;
    note(
        "the index does not name the type of the arrays of column '{}'; they are {}, as in the "
        "first sample",
        names_[leaf], to_string(*dtype));
  }

  static std::optional<DType> dtype_of_array(LitDataKind kind, StoredBytes from) {
    return kind == LitDataKind::tensor ? torch_dtype(from.big_endian_number())
                                       : numpy_dtype(from.number<uint32_t>());
  }

  template <typename Use>
  void for_each_leaf(std::span<const std::byte> row, SampleBuffers& buffers, const Use& use) const {
    if (config_->in_chunk == InChunk::samples)
      row = inflate_sample(row, options().max_sample_bytes, buffers);
    if (config_->are_tokens) return use(0, row);
    StoredBytes from(row);
    StoredBytes sizes(from.take(4 * uint64_t{config_->names.size()}));
    for (size_t i = 0; i < config_->names.size(); ++i) use(i, from.take(sizes.number<uint32_t>()));
    from.require_end();
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
      throw error_of(
          ErrorCode::unsupported,
          "the value is an array of {}, but earlier arrays have {}; convert all arrays to one type",
          dtype ? to_string(*dtype) : "another type", to_string(format.field.dtype));
    }
    StoredBytes from(cell);
    const auto next = [&] { return is_torch ? from.big_endian_number() : from.number<uint32_t>(); };
    (void)next();  // the dtype
    const uint32_t num_axes = next();
    constexpr uint32_t kMaxAxes = 64;  // NumPy's and torch's limit
    if (num_axes > kMaxAxes) {
      throw error_of(ErrorCode::corrupt,
                     "the value is an array with {} axes, more than the limit of 64", num_axes);
    }
    std::vector<int64_t> shape(num_axes);
    for (int64_t& side : shape) side = next();
    return stored_tensor(format.field.dtype, std::move(shape), from.rest());
  }

  std::optional<LitDataConfig> config_;
  std::mutex mutex_;  // of the next three, while chunks are listed
  std::map<std::pair<size_t, size_t>, ArrowChunk> tables_;  // by split and file
  std::vector<std::shared_ptr<ChunkType>> types_;
  bool has_plain_chunks_ = false;
  mutable RowBatches batches_;
  std::vector<std::string> names_;      // of the leaves: the index's, then those of tables alone
  std::vector<LitDataFormat> formats_;  // of the leaves
  std::vector<std::optional<size_t>> positions_;  // of the leaves in columns_
};

}  // namespace

std::unique_ptr<Source> open_litdata(const fs::path& path, const RowOptions& options) {
  return make_row_source(std::make_unique<LitDataRows>(Place(path).path(), options), options);
}

SourceKind litdata_kind() {
  return {.name = "litdata",
          .description = "Chunks of LitData: a folder with index.json, or a folder of such folders",
          .example = "/data/imagenet-chunks /fast/imagenet",
          .options = make_source_options<KindOptions<RowOptions, open_litdata>>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 35};
}

}  // namespace ffkit
