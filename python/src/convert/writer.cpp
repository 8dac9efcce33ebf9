// ffkit.Writer: SampleWriter for Python. Values are copied out of Python's objects; everything
// after that happens without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/sample_writer.h>
#include <ffkit/format/error.h>

#include "bindings.h"
#include "convert/sample_values.h"
#include "convert/summaries.h"

namespace nb = nanobind;

namespace ffkit::python {
namespace {

class PythonWriter {
 public:
  PythonWriter(const std::string& destination, const std::string& split, nb::list fields,
               nb::dict options)
      : storer_(std::make_shared<ImageStorer>(storage_of(nb::cast<nb::dict>(options["pictures"])))),
        pixels_(parse_pixels_as(nb::cast<std::string>(options["pixels"]))) {
    SampleWriterOptions writer_options{
        .num_threads = nb::cast<int>(options["threads"]),
        .shard_bytes = nb::cast<int64_t>(options["shard_bytes"]),
        .zstd_level = nb::cast<int>(options["zstd"]),
        .max_record_bytes = nb::cast<int64_t>(options["max_record"]),
        .seed = nb::cast<uint64_t>(options["seed"]),
        .classes = nb::cast<std::vector<std::string>>(options["classes"]),
        .class_names = nb::cast<std::vector<std::string>>(options["class_names"]),
        .options = manifest_options(storer_->storage()),
        .poll = [] {
          const nb::gil_scoped_acquire acquire;
          if (PyErr_CheckSignals() != 0) throw nb::python_error();  // Ctrl-C
        }};
    for (auto& [key, value] : nb::cast<std::map<std::string, std::string>>(options["source"])) {
      writer_options.source[key] = value;
    }
    writer_options.options.merge(nb::cast<std::map<std::string, std::string>>(options["options"]));
    const Schema schema = schema_of(fields);
    const nb::gil_scoped_release release;
    writer_ = std::make_unique<SampleWriter>(destination, split, schema, writer_options);
  }

  int64_t write(nb::list values) {
    SampleWriter& writer = open_writer();
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

  nb::dict finish() {
    SampleWriter& writer = open_writer();
    SplitSummary summary;
    {
      const nb::gil_scoped_release release;
      summary = writer.finish();
      writer_.reset();
    }
    return to_python(summary);
  }

  void abort() {
    const nb::gil_scoped_release release;
    writer_.reset();
  }

 private:
  SampleWriter& open_writer() const {
    if (writer_ == nullptr) {
      throw Error(ErrorCode::invalid_argument, "the writer is closed; make a new one");
    }
    return *writer_;
  }

  std::shared_ptr<const ImageStorer> storer_;
  PixelsAs pixels_;
  std::unique_ptr<SampleWriter> writer_;
};

}  // namespace

void bind_writer(nb::module_& module) {
  nb::class_<PythonWriter>(module, "SampleWriter")
      .def(nb::init<const std::string&, const std::string&, nb::list, nb::dict>(),
           nb::arg("destination"), nb::arg("split"), nb::arg("fields"), nb::arg("options"))
      .def("write", &PythonWriter::write, nb::arg("values"))
      .def("finish", &PythonWriter::finish)
      .def("abort", &PythonWriter::abort);
}

}  // namespace ffkit::python
