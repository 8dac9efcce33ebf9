// Exceptions between Python and C++, both ways.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include <ffkit/base/error.h>
#include <ffkit/loader/field_decoder.h>

namespace nb = nanobind;

namespace ffkit::python {

// The ffkit.Error of a C++ one. With the GIL.
nb::object to_python(const Error& error);

// Says more of a Python exception, as BaseException.add_note() does. With the GIL.
void add_note(nb::handle exception, const std::string& text);

// A Python exception on its way through threads of C++; out of a bound function it comes as the
// object that was raised. Copies share it; the last one may go on any thread, with or without the
// GIL.
class PythonFailure : public PlacedFailure {
 public:
  // With the GIL.
  explicit PythonFailure(const nb::python_error& error);
  const char* what() const noexcept override { return "an exception of Python"; }
  nb::handle value() const;
  // A note of the exception (BaseException.add_note).
  void happened_in(const std::string& place) const noexcept override;

 private:
  std::shared_ptr<PyObject> value_;
};

// To be called where a bad sample is to be told from a failure: throws the ffkit::Error of an
// ffkit.Error, else a PythonFailure. With the GIL.
[[noreturn]] void rethrow(const nb::python_error& error);

}  // namespace ffkit::python
