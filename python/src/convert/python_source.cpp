#include "convert/python_source.h"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <utility>
#include <vector>

#include "convert/sample_values.h"

namespace nb = nanobind;

namespace ffkit::python {
namespace {

class PythonSource final : public Source {
 public:
  PythonSource(nb::object source, const ImageStorage& images, const std::string& pixels)
      : source_(std::move(source)),
        storer_(images),
        pixels_(parse_pixels_as(pixels)),
        schema_(schema_of(source_.attr("fields"))),
        classes_(nb::cast<std::vector<std::string>>(source_.attr("classes"))),
        class_names_(nb::cast<std::vector<std::string>>(source_.attr("class_names"))),
        facts_(nb::cast<std::map<std::string, std::string>>(source_.attr("facts"))) {
    for (const nb::handle split : nb::list(source_.attr("splits"))) {
      splits_.push_back({.name = nb::cast<std::string>(split[0]),
                         .num_samples = nb::cast<int64_t>(split[1]),
                         .is_training = nb::cast<bool>(split[2])});
    }
  }

  const std::vector<SourceSplit>& splits() const override { return splits_; }
  Schema schema() const override { return schema_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::map<std::string, std::string> facts(size_t /*split*/) const override { return facts_; }
  std::map<std::string, std::string> options() const override {
    return manifest_options(storer_.storage());
  }

  std::string describe(size_t split, int64_t index) const override {
    return fmt::format("{}[{}]", splits_.at(split).name, index);
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    // Its memory must last until the record is encoded, which is before the buffers are cleared.
    thread_local Sample sample;
    {
      const nb::gil_scoped_acquire acquire;
      try {
        sample = take_sample(schema_, source_.attr("read")(splits_.at(split).name, index));
      } catch (nb::python_error& raised) {
        throw_error(raised, describe(split, index));
      }
    }
    set_fields(schema_, sample, storer_, pixels_, record, buffers);
  }

  nb::object raised(const Error& error) const {
    const auto found = raised_.find(error.context().path);
    return found == raised_.end() ? nb::none() : found->second;
  }

 private:
  [[noreturn]] void throw_error(nb::python_error& raised, const std::string& place) const {
    const nb::object exception = nb::borrow(raised.value());
    // The first ones are enough: a conversion that skips bad samples may meet millions.
    if (raised_.size() < kMostKept) raised_.emplace(place, exception);
    const std::string type = nb::cast<std::string>(raised.type().attr("__name__"));
    const bool ends_all = !raised.matches(PyExc_Exception);  // KeyboardInterrupt, SystemExit
    throw Error(
        ends_all ? ErrorCode::cancelled : ErrorCode::corrupt,
        fmt::format("the source raised {}: {}", type, nb::cast<std::string>(nb::str(exception))),
        {.path = place});
  }

  static constexpr size_t kMostKept = 64;

  const nb::object source_;
  const ImageStorer storer_;
  const PixelsAs pixels_;
  const Schema schema_;
  const std::vector<std::string> classes_;
  const std::vector<std::string> class_names_;
  const std::map<std::string, std::string> facts_;
  std::vector<SourceSplit> splits_;
  mutable std::map<std::string, nb::object> raised_;  // by describe(); with the GIL
};

}  // namespace

std::unique_ptr<Source> open_python_source(nb::object source, const ImageStorage& images,
                                           const std::string& pixels) {
  return std::make_unique<PythonSource>(std::move(source), images, pixels);
}

nb::object raised_by(const Source& source, const Error& error) {
  const auto* python_source = dynamic_cast<const PythonSource*>(&source);
  return python_source == nullptr ? nb::none() : python_source->raised(error);
}

}  // namespace ffkit::python
