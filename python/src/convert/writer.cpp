// ffkit.Writer and ffkit.convert.ShardSink: SampleWriter, ShardSink and ShardTask for Python.
// Values are copied out of Python's objects; everything after that happens without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/sample_writer.h>
#include <ffkit/converter/shard_sink.h>
#include <ffkit/sources/arrow_c.h>
#include <ffkit/sources/arrow_samples.h>

#include "bindings.h"
#include "convert/sample_values.h"
#include "sources/arrow/picture_modes.h"

namespace nb = nanobind;

namespace ffkit::python {
namespace {

// From the dict that ffkit/writer.py makes.
SampleWriterOptions writer_options_of(nb::dict options, const ImageStorage& storage) {
  SampleWriterOptions writer_options{
      .num_threads = nb::cast<int>(options["num_threads"]),
      .shard_bytes = nb::cast<int64_t>(options["shard_bytes"]),
      .zstd_level = nb::cast<int>(options["zstd"]),
      .max_record_bytes = nb::cast<int64_t>(options["max_record"]),
      .seed = nb::cast<uint64_t>(options["seed"]),
      .classes = nb::cast<std::vector<std::string>>(options["classes"]),
      .class_names = nb::cast<std::vector<std::string>>(options["class_names"]),
      .options = manifest_options(storage),
      .poll = [] {
        const nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();  // Ctrl-C
      }};
  for (auto& [key, value] : nb::cast<std::map<std::string, std::string>>(options["source"])) {
    writer_options.source[key] = value;
  }
  writer_options.options.merge(nb::cast<std::map<std::string, std::string>>(options["options"]));
  return writer_options;
}

ImageStorage storage_in(nb::dict options) {
  return storage_of(nb::cast<nb::dict>(options["pictures"]));
}

ArrowOwner<ArrowArrayStream> stream_of(const nb::object& capsule) {
  auto* const given =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (given == nullptr) throw nb::python_error();
  ArrowOwner<ArrowArrayStream> stream;
  *stream.get() = *given;
  given->release = nullptr;  // it is ours now
  return stream;
}

// What a function of the stream gives.
template <typename T>
ArrowOwner<T> next_of(ArrowOwner<ArrowArrayStream>& stream, int (*get)(ArrowArrayStream*, T*)) {
  ArrowOwner<T> out;
  if (get(stream.get(), out.get()) == 0) return out;
  const char* const why = stream->get_last_error(stream.get());
  throw Error(ErrorCode::io,
              std::string("the table cannot be read: ") + (why == nullptr ? "no reason" : why));
}

// What takes samples: a SampleWriter or a ShardTask.
template <typename Writer>
class PythonWriter {
 public:
  PythonWriter(const std::string& destination, const std::string& split, nb::list fields,
               nb::dict options)
      : PythonWriter(options) {
    open(options, fields, [&](Schema schema, const SampleWriterOptions& writer_options) {
      return std::make_unique<Writer>(destination, split, std::move(schema), writer_options);
    });
  }
  PythonWriter(const std::string& destination, const std::string& split, const std::string& job,
               int64_t task, nb::list fields, nb::dict options)
      : PythonWriter(options) {
    open(options, fields, [&](Schema schema, const SampleWriterOptions& writer_options) {
      return std::make_unique<Writer>(destination, split, job, task, std::move(schema),
                                      writer_options);
    });
  }

  // Its threads may need the GIL to end, when they give back what is Python's.
  ~PythonWriter() { abort(); }
  PythonWriter(const PythonWriter&) = delete;
  PythonWriter& operator=(const PythonWriter&) = delete;

  int64_t write(nb::list values) {
    Writer& writer = open_writer();
    const auto sample = std::make_shared<const Sample>(take_sample(writer.schema(), values));
    const nb::gil_scoped_release release;
    // The schema lives as long as the writer, and the writer longer than its samples.
    return writer.write(
        [sample, storer = storer_, pixels = pixels_, schema = &writer.schema()](
            RecordBuilder& record, SampleBuffers& buffers) {
          set_fields(*schema, *sample, *storer, pixels, record, buffers);
        },
        sample->num_bytes);
  }

  // The rows of what hands itself over as a stream of Arrow's, such as a pyarrow.Table. `shapes`:
  // of columns that are tensors. Returns false, and has written nothing, where ArrowSamples does
  // not take the table: it goes by rows.
  bool write_table(nb::object table, const std::map<std::string, std::vector<int64_t>>& shapes) {
    Writer& writer = open_writer();
    ArrowOwner<ArrowArrayStream> stream = stream_of(table.attr("__arrow_c_stream__")());
    const nb::gil_scoped_release release;
    std::optional<ArrowSamples> samples;
    std::vector<ArrowOwner<ArrowArray>> batches;
    const ArrowOwner<ArrowSchema> type = next_of<ArrowSchema>(stream, stream->get_schema);
    try {
      samples.emplace(writer.schema(), *type.get(), storer_->storage(), shapes);
      while (ArrowOwner<ArrowArray> batch = next_of<ArrowArray>(stream, stream->get_next)) {
        samples->check(*batch.get());
        batches.push_back(std::move(batch));
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      return false;
    }
    const auto write = [&writer](SampleWriter::SetFields set_fields, int64_t num_bytes) {
      return writer.write(std::move(set_fields), num_bytes);
    };
    for (ArrowOwner<ArrowArray>& batch : batches) samples->write(std::move(batch), write);
    return true;
  }

  auto finish() {
    Writer& writer = open_writer();
    const nb::gil_scoped_release release;
    auto result = writer.finish();
    writer_.reset();
    return result;
  }

  void abort() {
    const nb::gil_scoped_release release;
    writer_.reset();
  }

 private:
  explicit PythonWriter(nb::dict options)
      : storer_(std::make_shared<ImageStorer>(storage_in(options))),
        pixels_(parse_pixels_as(nb::cast<std::string>(options["pixels"]))) {}

  template <typename Make>
  void open(nb::dict options, nb::list fields, const Make& make) {
    const SampleWriterOptions writer_options = writer_options_of(options, storer_->storage());
    Schema schema = schema_of(fields);
    const nb::gil_scoped_release release;
    writer_ = make(std::move(schema), writer_options);
  }

  Writer& open_writer() const {
    if (writer_ == nullptr) {
      throw Error(ErrorCode::invalid_argument, "the writer is closed; make a new one");
    }
    return *writer_;
  }

  std::shared_ptr<const ImageStorer> storer_;
  PixelsAs pixels_;
  std::unique_ptr<Writer> writer_;
};

nb::bytes picture_in_mode(nb::bytes picture, const std::string& mode) {
  SampleBuffers buffers;
  const auto* const data = static_cast<const std::byte*>(picture.data());
  const std::span<const std::byte> stored = in_mode(mode, {data, picture.size()}, buffers);
  return nb::bytes(stored.data(), stored.size());
}

// The driver's side of a ShardSink.
class PythonShardSink {
 public:
  // `is_new`: the job begins here; else it is taken up.
  PythonShardSink(const std::string& destination, const std::string& split, const std::string& job,
                  bool is_new, nb::dict options) {
    const SampleWriterOptions writer_options = writer_options_of(options, storage_in(options));
    const nb::gil_scoped_release release;
    sink_.emplace(is_new ? ShardSink::begin(destination, split, writer_options, job)
                         : ShardSink::take_up(destination, split, job, writer_options));
  }

  nb::dict commit(const std::vector<std::string>& descriptions, int64_t num_tasks) {
    return to_python(without_gil([&] { return sink_->commit(descriptions, num_tasks); }));
  }
  void abort() {
    without_gil([&] { sink_->abort(); });
  }
  void leave() {
    without_gil([&] { sink_->leave(); });
  }

 private:
  std::optional<ShardSink> sink_;
};

}  // namespace

void bind_writer(nb::module_& module) {
  module.def("picture_in_mode", &picture_in_mode, nb::arg("picture"), nb::arg("mode"));
  using WholeSplit = PythonWriter<SampleWriter>;
  nb::class_<WholeSplit>(module, "SampleWriter")
      .def(nb::init<const std::string&, const std::string&, nb::list, nb::dict>(),
           nb::arg("destination"), nb::arg("split"), nb::arg("fields"), nb::arg("options"))
      .def("write", &WholeSplit::write, nb::arg("values"))
      .def("finish", [](WholeSplit& writer) { return to_python(writer.finish()); })
      .def("abort", &WholeSplit::abort);
  using Task = PythonWriter<ShardTask>;
  nb::class_<Task>(module, "ShardTask")
      .def(nb::init<const std::string&, const std::string&, const std::string&, int64_t, nb::list,
                    nb::dict>(),
           nb::arg("destination"), nb::arg("split"), nb::arg("job"), nb::arg("task"),
           nb::arg("fields"), nb::arg("options"))
      .def("write", &Task::write, nb::arg("values"))
      .def("write_table", &Task::write_table, nb::arg("table"), nb::arg("shapes"))
      .def("finish", &Task::finish)
      .def("abort", &Task::abort)
      .def_static("describe_empty", &ShardTask::describe_empty, nb::arg("job"), nb::arg("task"));
  nb::class_<PythonShardSink>(module, "ShardSink")
      .def(nb::init<const std::string&, const std::string&, const std::string&, bool, nb::dict>(),
           nb::arg("destination"), nb::arg("split"), nb::arg("job"), nb::arg("is_new"),
           nb::arg("options"))
      .def_static("new_job", &ShardSink::new_job)
      .def("commit", &PythonShardSink::commit, nb::arg("descriptions"), nb::arg("num_tasks"))
      .def("abort", &PythonShardSink::abort)
      .def("leave", &PythonShardSink::leave);
}

}  // namespace ffkit::python
