#include "parquet/module/parquet_module.h"

#include <arrow/c/bridge.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// Arrow's view of the bytes.
class BytesFile final : public arrow::io::RandomAccessFile {
 public:
  explicit BytesFile(const FfkitParquetBytes& bytes) : bytes_(bytes) {
    set_mode(arrow::io::FileMode::READ);
  }

  arrow::Status Close() override {
    is_closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return is_closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override {
    position_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> GetSize() override { return bytes_.num_bytes; }

  arrow::Result<int64_t> ReadAt(int64_t position, int64_t num_bytes, void* out) override {
    if (position < 0 || num_bytes < 0 || position > bytes_.num_bytes) {
      return arrow::Status::Invalid("a range beyond the end of the file");
    }
    num_bytes = std::min(num_bytes, bytes_.num_bytes - position);
    if (bytes_.read(bytes_.context, position, num_bytes, out) != 0) {
      return arrow::Status::IOError("the file cannot be read");
    }
    return num_bytes;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t num_bytes) override {
    // No more than there is, whatever a damaged file says.
    const int64_t left = std::max<int64_t>(0, bytes_.num_bytes - std::max<int64_t>(0, position));
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(std::min(num_bytes, left)));
    ARROW_ASSIGN_OR_RAISE(const int64_t count, ReadAt(position, num_bytes, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(count));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }
  arrow::Result<int64_t> Read(int64_t num_bytes, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t count, ReadAt(position_, num_bytes, out));
    position_ += count;
    return count;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t num_bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, num_bytes));
    position_ += buffer->size();
    return buffer;
  }

 private:
  const FfkitParquetBytes bytes_;
  int64_t position_ = 0;
  bool is_closed_ = false;
};

// One of the first two: parquet, or IPC.
struct File {
  std::unique_ptr<parquet::arrow::FileReader> reader;
  std::shared_ptr<BytesFile> ipc;
  std::shared_ptr<arrow::Schema> ipc_schema;
};

arrow::ipc::IpcReadOptions ipc_options() {
  arrow::ipc::IpcReadOptions options;
  options.use_threads = false;
  return options;
}

// The batches of an IPC file or stream. Nothing that such a file says of its offsets and lengths
// holds before it is checked.
class IpcBatches final : public arrow::RecordBatchReader {
 public:
  static arrow::Result<std::shared_ptr<IpcBatches>> open(const std::shared_ptr<BytesFile>& bytes) {
    constexpr std::string_view kFileMagic = "ARROW1";
    std::array<char, kFileMagic.size()> head{};
    ARROW_ASSIGN_OR_RAISE(const int64_t count, bytes->ReadAt(0, head.size(), head.data()));
    ARROW_RETURN_NOT_OK(bytes->Seek(0));
    auto opened = std::make_shared<IpcBatches>();
    if (std::string_view(head.data(), static_cast<size_t>(count)) == kFileMagic) {
      ARROW_ASSIGN_OR_RAISE(opened->file_,
                            arrow::ipc::RecordBatchFileReader::Open(bytes, ipc_options()));
    } else {
      ARROW_ASSIGN_OR_RAISE(opened->stream_,
                            arrow::ipc::RecordBatchStreamReader::Open(bytes, ipc_options()));
    }
    return opened;
  }

  std::shared_ptr<arrow::Schema> schema() const override {
    return file_ ? file_->schema() : stream_->schema();
  }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    batch->reset();
    if (stream_) {
      ARROW_RETURN_NOT_OK(stream_->ReadNext(batch));
    } else if (next_ < file_->num_record_batches()) {
      ARROW_ASSIGN_OR_RAISE(*batch, file_->ReadRecordBatch(next_));
      ++next_;
    }
    return *batch ? (*batch)->ValidateFull() : arrow::Status::OK();
  }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> stream_;
  int next_ = 0;
};

// Calls `work`, which returns a Status; nothing is thrown through C.
template <typename Work>
int answer(char* error, size_t error_bytes, const Work& work) {
  std::string text;
  try {
    const arrow::Status status = work();
    if (status.ok()) return 0;
    text = status.message();
  } catch (const std::exception& exception) {
    text = exception.what();
  }
  if (error_bytes > 0) {
    const size_t length = std::min(text.size(), error_bytes - 1);
    std::memcpy(error, text.data(), length);
    error[length] = '\0';
  }
  return -1;
}

int open_file(const FfkitParquetBytes* bytes, int is_ipc, void** file, char* error,
              size_t error_bytes) {
  return answer(error, error_bytes, [&]() -> arrow::Status {
    auto opened = std::make_unique<File>();
    if (is_ipc != 0) {
      opened->ipc = std::make_shared<BytesFile>(*bytes);
      ARROW_ASSIGN_OR_RAISE(const auto batches, IpcBatches::open(opened->ipc));
      opened->ipc_schema = batches->schema();
      *file = opened.release();
      return arrow::Status::OK();
    }
    parquet::arrow::FileReaderBuilder builder;
    parquet::ReaderProperties properties = parquet::default_reader_properties();
    // Columns of a group in pieces, not as a whole.
    properties.enable_buffered_stream();
    properties.set_buffer_size(1 << 20);
    properties.set_page_checksum_verification(true);  // of pages that have one
    ARROW_RETURN_NOT_OK(builder.Open(std::make_shared<BytesFile>(*bytes), properties));
    parquet::ArrowReaderProperties arrow_properties;
    arrow_properties.set_use_threads(false);
    arrow_properties.set_pre_buffer(false);
    builder.properties(arrow_properties);
    ARROW_RETURN_NOT_OK(builder.Build(&opened->reader));
    *file = opened.release();
    return arrow::Status::OK();
  });
}

void close_file(void* file) {
  delete static_cast<File*>(file);
}

int read_schema(void* file, ArrowSchema* schema, char* error, size_t error_bytes) {
  return answer(error, error_bytes, [&]() -> arrow::Status {
    const File& opened = *static_cast<File*>(file);
    if (opened.ipc) return arrow::ExportSchema(*opened.ipc_schema, schema);
    std::shared_ptr<arrow::Schema> read;
    ARROW_RETURN_NOT_OK(opened.reader->GetSchema(&read));
    return arrow::ExportSchema(*read, schema);
  });
}

const parquet::FileMetaData& metadata_of(void* file) {
  return *static_cast<File*>(file)->reader->parquet_reader()->metadata();
}

int64_t count_groups(void* file) {
  return static_cast<File*>(file)->ipc ? 1 : metadata_of(file).num_row_groups();
}

void describe_group(void* file, int64_t group, int64_t* num_rows, int64_t* num_bytes) {
  *num_rows = 0;
  *num_bytes = 0;
  if (static_cast<File*>(file)->ipc) return;
  const auto described = metadata_of(file).RowGroup(static_cast<int>(group));
  *num_rows = described->num_rows();
  *num_bytes = described->total_byte_size();
}

int read_group(void* file, int64_t group, const char* const* columns, size_t num_columns,
               int64_t batch_rows, ArrowArrayStream* stream, char* error, size_t error_bytes) {
  return answer(error, error_bytes, [&]() -> arrow::Status {
    if (const auto& ipc = static_cast<File*>(file)->ipc) {
      ARROW_ASSIGN_OR_RAISE(auto opened, IpcBatches::open(ipc));
      return arrow::ExportRecordBatchReader(std::move(opened), stream);
    }
    parquet::arrow::FileReader& reader = *static_cast<File*>(file)->reader;
    reader.set_batch_size(batch_rows);
    const std::vector<int> groups = {static_cast<int>(group)};
    std::unique_ptr<arrow::RecordBatchReader> batches;
    if (columns == nullptr) {
      ARROW_ASSIGN_OR_RAISE(batches, reader.GetRecordBatchReader(groups));
    } else {
      std::vector<int> leaves;
      const parquet::SchemaDescriptor& schema = *metadata_of(file).schema();
      for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
        const std::string& root = schema.GetColumnRoot(leaf)->name();
        for (size_t i = 0; i < num_columns; ++i) {
          if (root == columns[i]) {
            leaves.push_back(leaf);
            break;
          }
        }
      }
      ARROW_ASSIGN_OR_RAISE(batches, reader.GetRecordBatchReader(groups, leaves));
    }
    return arrow::ExportRecordBatchReader(std::move(batches), stream);
  });
}

constexpr FfkitParquetModule kModule = {open_file,    close_file,     read_schema,
                                        count_groups, describe_group, read_group};

}  // namespace

extern "C" __attribute__((visibility("default"))) const FfkitParquetModule*
ffkit_parquet_module_2() {
  return &kModule;
}
