// Parquet files and Arrow tables for the converter, read by Python's pyarrow: its batches come
// through Arrow's C interfaces, without a copy. Threads of the converter hold the GIL while they
// ask for one.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/sources/arrow_file.h>

#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace ffkit::python {
namespace {

constexpr int kOldestPyarrow = 14;

// What Python has raised, with its GIL held. An error of the file's own bytes comes out as it is.
[[noreturn]] void rethrow_pyarrow(const nb::python_error& error, ArrowFormat format,
                                  std::optional<Error>& of_input) {
  if (of_input) throw Error(*std::exchange(of_input, std::nullopt));
  if (error.matches(PyExc_MemoryError)) {
    throw Error(ErrorCode::io, "there is not enough memory");
  }
  const auto said = nb::cast<std::string>(nb::str(error.value()));
  const std::string reads = "pyarrow, which reads " + std::string(to_string(format));
  if (error.matches(PyExc_ImportError)) {
    throw Error(ErrorCode::unsupported,
                reads + ", cannot be imported by " +
                    nb::cast<std::string>(nb::module_::import_("sys").attr("executable")) + " (" +
                    said + "); install it there: pip install pyarrow");
  }
  if (error.matches(PyExc_AttributeError)) {
    throw Error(ErrorCode::unsupported, reads + ", has a version that ffkit does not support (" +
                                            said + "); install one of 14 to 26");
  }
  const std::string what = format == ArrowFormat::parquet ? "a parquet file" : "an Arrow table";
  throw Error(ErrorCode::corrupt, "cannot be read as " + what + ": " + said);
}

// A file as Python's io has it.
class InputOfPython {
 public:
  explicit InputOfPython(std::unique_ptr<ArrowInput> input) : input_(std::move(input)) {}

  nb::bytes read(int64_t num_bytes) {
    const int64_t left = input_->size() - position_;
    if (num_bytes < 0 || num_bytes > left) num_bytes = left;
    std::vector<std::byte> bytes(static_cast<size_t>(num_bytes));
    {
      const nb::gil_scoped_release release;
      try {
        input_->read_at(position_, bytes);
      } catch (const Error& error) {
        error_ = error;
      }
    }
    if (error_) throw nb::value_error("the file cannot be read");
    position_ += num_bytes;
    return nb::bytes(bytes.data(), bytes.size());
  }

  int64_t seek(int64_t offset, int whence) {
    const int64_t from = whence == 0 ? 0 : whence == 1 ? position_ : input_->size();
    position_ = std::clamp<int64_t>(from + offset, 0, input_->size());
    return position_;
  }
  int64_t tell() const { return position_; }
  bool is_closed() const { return is_closed_; }
  void close() { is_closed_ = true; }
  std::optional<Error>& error() { return error_; }

 private:
  std::unique_ptr<ArrowInput> input_;
  int64_t position_ = 0;
  bool is_closed_ = false;
  std::optional<Error> error_;
};

class PyarrowFile : public ArrowFile {
 public:
  PyarrowFile(std::unique_ptr<ArrowInput> input, ArrowFormat format) : format_(format) {
    auto of_python = std::make_unique<InputOfPython>(std::move(input));
    const nb::gil_scoped_acquire gil;
    input_ = of_python.get();
    nb::object source = nb::cast(of_python.release(), nb::rv_policy::take_ownership);
    check([&] {
      const nb::module_ pyarrow = nb::module_::import_("pyarrow");
      const auto version = nb::cast<std::string>(pyarrow.attr("__version__"));
      if (std::atoi(version.c_str()) < kOldestPyarrow) {
        throw Error(ErrorCode::unsupported, "pyarrow " + version + " is too old to read " +
                                                std::string(to_string(format)) +
                                                "; install 14 or newer: pip install 'pyarrow>=14'");
      }
      bytes_ = pyarrow.attr("PythonFile")(source, "mode"_a = "r");
    });
  }
  ~PyarrowFile() override {
    const nb::gil_scoped_acquire gil;
    schema_.reset();
    bytes_.reset();
  }
  PyarrowFile(const PyarrowFile&) = delete;
  PyarrowFile& operator=(const PyarrowFile&) = delete;

  ArrowFormat format() const override { return format_; }

  ArrowOwner<ArrowSchema> schema() override {
    const nb::gil_scoped_acquire gil;
    ArrowOwner<ArrowSchema> schema;
    check([&] { schema_.attr("_export_to_c")(reinterpret_cast<uintptr_t>(schema.get())); });
    return schema;
  }

 protected:
  // With the GIL held.
  template <typename Work>
  void check(const Work& work) {
    try {
      work();
    } catch (const nb::python_error& error) {
      rethrow_pyarrow(error, format_, input_->error());
    }
  }

  nb::object bytes_;   // as pyarrow reads them
  nb::object schema_;  // which a subclass sets

 private:
  const ArrowFormat format_;
  InputOfPython* input_ = nullptr;  // which bytes_ owns
};

class PyarrowParquet final : public PyarrowFile {
 public:
  explicit PyarrowParquet(std::unique_ptr<ArrowInput> input)
      : PyarrowFile(std::move(input), ArrowFormat::parquet) {
    const nb::gil_scoped_acquire gil;
    check([&] {
      nb::object file =
          nb::module_::import_("pyarrow.parquet")
              .attr("ParquetFile")(bytes_, "buffer_size"_a = 1 << 20, "pre_buffer"_a = false,
                                   "page_checksum_verification"_a = true);
      schema_ = file.attr("schema_arrow");
      file_ = std::move(file);
    });
  }
  ~PyarrowParquet() override {
    const nb::gil_scoped_acquire gil;
    file_.reset();
  }
  PyarrowParquet(const PyarrowParquet&) = delete;
  PyarrowParquet& operator=(const PyarrowParquet&) = delete;

  std::vector<RowGroup> groups() override {
    const nb::gil_scoped_acquire gil;
    std::vector<RowGroup> groups;
    check([&] {
      const nb::object metadata = file_.attr("metadata");
      const auto count = nb::cast<int64_t>(metadata.attr("num_row_groups"));
      for (int64_t i = 0; i < count; ++i) {
        const nb::object group = metadata.attr("row_group")(i);
        groups.push_back({nb::cast<int64_t>(group.attr("num_rows")),
                          nb::cast<int64_t>(group.attr("total_byte_size"))});
      }
    });
    return groups;
  }

  ArrowOwner<ArrowArrayStream> read(int64_t group, const std::vector<std::string>& columns,
                                    int64_t batch_rows) override {
    const nb::gil_scoped_acquire gil;
    ArrowOwner<ArrowArrayStream> stream;
    check([&] {
      nb::object schema = schema_;
      nb::object names = nb::none();
      if (!columns.empty()) {
        names = nb::cast(columns);
        nb::list fields;
        for (const nb::handle field : schema_) {
          if (nb::cast<bool>(names.attr("__contains__")(field.attr("name")))) fields.append(field);
        }
        schema = nb::module_::import_("pyarrow").attr("schema")(fields);
      }
      nb::list groups;
      groups.append(group);
      const nb::object batches =
          file_.attr("iter_batches")("batch_size"_a = batch_rows, "row_groups"_a = groups,
                                     "columns"_a = names, "use_threads"_a = false);
      nb::module_::import_("pyarrow")
          .attr("RecordBatchReader")
          .attr("from_batches")(schema, batches)
          .attr("_export_to_c")(reinterpret_cast<uintptr_t>(stream.get()));
    });
    return stream;
  }

 private:
  nb::object file_;
};

// An IPC file or stream. Nothing that such a file says of its offsets and lengths holds before it
// is checked.
class PyarrowTable final : public PyarrowFile {
 public:
  explicit PyarrowTable(std::unique_ptr<ArrowInput> input)
      : PyarrowFile(std::move(input), ArrowFormat::ipc) {
    const nb::gil_scoped_acquire gil;
    check([&] { schema_ = open().attr("schema"); });
  }

  std::vector<RowGroup> groups() override { return {RowGroup{}}; }

  ArrowOwner<ArrowArrayStream> read(int64_t, const std::vector<std::string>&, int64_t) override {
    const nb::gil_scoped_acquire gil;
    ArrowOwner<ArrowArrayStream> stream;
    check([&] {
      const nb::object reader = open();
      const auto checked = [](nb::object batch) {
        batch.attr("validate")("full"_a = true);
        return batch;
      };
      const nb::module_ builtins = nb::module_::import_("builtins");
      nb::object batches = reader;
      if (nb::hasattr(reader, "get_batch")) {  // a file, not a stream
        batches = builtins.attr("map")(reader.attr("get_batch"),
                                       builtins.attr("range")(reader.attr("num_record_batches")));
      }
      nb::module_::import_("pyarrow")
          .attr("RecordBatchReader")
          .attr("from_batches")(schema_, builtins.attr("map")(nb::cpp_function(checked), batches))
          .attr("_export_to_c")(reinterpret_cast<uintptr_t>(stream.get()));
    });
    return stream;
  }

 private:
  // A reader from the front, with the GIL held.
  nb::object open() {
    const nb::module_ ipc = nb::module_::import_("pyarrow.ipc");
    bytes_.attr("seek")(0);
    const auto head = nb::cast<nb::bytes>(bytes_.attr("read")(6));
    bytes_.attr("seek")(0);
    const bool is_file = std::string_view(head.c_str(), head.size()) == "ARROW1";
    return ipc.attr(is_file ? "open_file" : "open_stream")(bytes_);
  }
};

}  // namespace

void bind_parquet(nb::module_& module) {
  nb::class_<InputOfPython>(module, "ArrowInput")
      .def("read", &InputOfPython::read, nb::arg("num_bytes") = -1)
      .def("seek", &InputOfPython::seek, nb::arg("offset"), nb::arg("whence") = 0)
      .def("tell", &InputOfPython::tell)
      .def("close", &InputOfPython::close)
      .def("readable", [](const InputOfPython&) { return true; })
      .def("seekable", [](const InputOfPython&) { return true; })
      .def("writable", [](const InputOfPython&) { return false; })
      .def_prop_ro("closed", &InputOfPython::is_closed);
  set_arrow_opener(
      [](std::unique_ptr<ArrowInput> input, ArrowFormat format) -> std::unique_ptr<ArrowFile> {
        if (format == ArrowFormat::ipc) return std::make_unique<PyarrowTable>(std::move(input));
        return std::make_unique<PyarrowParquet>(std::move(input));
      });
}

}  // namespace ffkit::python
