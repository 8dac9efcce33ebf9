#include "converter/sources/parquet/module/parquet_module.h"

#include <arrow/c/bridge.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
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
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(num_bytes));
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

struct File {
  std::unique_ptr<parquet::arrow::FileReader> reader;
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

int open_file(const FfkitParquetBytes* bytes, void** file, char* error, size_t error_bytes) {
  return answer(error, error_bytes, [&]() -> arrow::Status {
    parquet::arrow::FileReaderBuilder builder;
    parquet::ReaderProperties properties = parquet::default_reader_properties();
    // Columns of a group in pieces, not as a whole.
    properties.enable_buffered_stream();
    properties.set_buffer_size(1 << 20);
    ARROW_RETURN_NOT_OK(builder.Open(std::make_shared<BytesFile>(*bytes), properties));
    parquet::ArrowReaderProperties arrow_properties;
    arrow_properties.set_use_threads(false);
    arrow_properties.set_pre_buffer(false);
    builder.properties(arrow_properties);
    auto opened = std::make_unique<File>();
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
    std::shared_ptr<arrow::Schema> read;
    ARROW_RETURN_NOT_OK(static_cast<File*>(file)->reader->GetSchema(&read));
    return arrow::ExportSchema(*read, schema);
  });
}

const parquet::FileMetaData& metadata_of(void* file) {
  return *static_cast<File*>(file)->reader->parquet_reader()->metadata();
}

int64_t count_groups(void* file) {
  return metadata_of(file).num_row_groups();
}

void describe_group(void* file, int64_t group, int64_t* num_rows, int64_t* num_bytes) {
  const auto described = metadata_of(file).RowGroup(static_cast<int>(group));
  *num_rows = described->num_rows();
  *num_bytes = described->total_byte_size();
}

int read_group(void* file, int64_t group, const char* const* columns, size_t num_columns,
               int64_t batch_rows, ArrowArrayStream* stream, char* error, size_t error_bytes) {
  return answer(error, error_bytes, [&]() -> arrow::Status {
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
ffkit_parquet_module_1() {
  return &kModule;
}
