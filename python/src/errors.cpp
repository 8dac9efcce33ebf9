#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/wait_check.h"
#include "base/other_words.h"
#include "bindings.h"
#include "python_code.h"
#include "storage/http/http_client.h"
#include "values.h"

namespace ffkit::python {
namespace {

nb::object errors_module() {
  return nb::module_::import_("ffkit._errors");
}

void set_error(nb::handle exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

template <typename T>
T attribute(nb::handle value, const char* name, T otherwise) {
  const nb::object found = nb::getattr(value, name, nb::none());
  T out = otherwise;
  return found.is_none() || !nb::try_cast(found, out) ? otherwise : out;
}

// Where the ffkit.Error `value` says that it happened. An error that came out of the library has
// that in its message, too: it is taken out there.
ErrorContext context_of(nb::handle value, std::string& message) {
  ErrorContext context{.path = attribute<std::string>(value, "path", ""),
                       .record = attribute<int64_t>(value, "record", -1),
                       .offset = attribute<int64_t>(value, "offset", -1),
                       .name = attribute<std::string>(value, "name", "")};
  const auto subject = attribute<std::string>(value, "subject", "");
  for (const auto& [known, name] : kNames<ErrorSubject>.names) {
    if (subject == name) context.subject = known;
  }
  const std::string place = place_of(context);
  if (message.starts_with(place)) {
    message.erase(0, place.size());
  } else if (!context.path.empty() && message.find(context.path) != message.npos) {
    context.path.clear();  // somewhere in its text
  }
  return context;
}

// What a signal's handler has raised while this thread waited for a store.
thread_local std::optional<nb::python_error> raised_by_handler;

// Ctrl-C ends a wait for a store. Python's handlers run in its main thread alone.
void check_signals(unsigned long main_thread, const Wait& wait) {
  const bool is_main = PyThread_get_thread_ident() == main_thread;
  // When Python ends, one of its threads that went on to take the GIL would end the process with a
  // signal.
  const bool is_pythons_end = Py_IsInitialized() == 0 ||
                              (is_process_ending() && PyGILState_GetThisThreadState() != nullptr);
  while (!is_main && is_pythons_end) ::pause();
  if (!is_main || Py_IsInitialized() == 0 || wait.is_over) return;
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return;
  raised_by_handler.emplace();
  throw Error(ErrorCode::cancelled, "a signal's handler ended the wait for the store");
}

void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled && raised_by_handler) {
      raised_by_handler->restore();
      raised_by_handler.reset();
      return;
    }
    set_error(to_python(error));
  } catch (const PythonFailure& failure) {
    set_error(failure.value());
  }
}

}  // namespace

nb::object to_python(const Error& error) {
  const ErrorContext& context = error.context();
  const auto number = [](int64_t value) -> nb::object {
    return value < 0 ? nb::object(nb::none()) : nb::object(nb::int_(value));
  };
  // Messages name files, whose names may be no UTF-8.
  const auto text = [](const std::string& bytes) -> nb::object { return text_to_python(bytes); };
  const auto text_or_none = [&text](const std::string& bytes) {
    return bytes.empty() ? nb::object(nb::none()) : text(bytes);
  };
  return errors_module().attr("make_error")(
      to_string(error.code()), text(error.text(OptionStyle::python)), to_string(context.subject),
      text_or_none(context.path), number(context.record), number(context.offset),
      context.errno_value, text_or_none(context.name),
      text_or_none(with_option_names(context.remedy, OptionStyle::python)));
}

PythonFailure::PythonFailure(const nb::python_error& error)
    : value_(shared_object(nb::borrow(error.value()))) {}

void add_note(nb::handle exception, const std::string& text) {
  errors_module().attr("add_note")(exception, text_to_python(text));
}

nb::handle PythonFailure::value() const {
  return value_.get();
}

void PythonFailure::happened_in(const std::string& place) const noexcept {
  if (Py_IsInitialized() == 0) return;
  const nb::gil_scoped_acquire gil;
  try {
    add_note(value(), place);
  } catch (const nb::python_error&) {  // NOLINT(bugprone-empty-catch)
    // An exception that takes no notes comes without.
  }
}

void rethrow(const nb::python_error& error) {
  if (!error.matches(errors_module().attr("Error"))) throw PythonFailure(error);
  const nb::handle value = error.value();
  const auto code = nb::cast<std::string>(value.attr("code"));
  for (const auto& [known, name] : kNames<ErrorCode>.names) {
    if (code != name) continue;
    auto message = nb::cast<std::string>(value.attr("message"));
    const ErrorContext context = context_of(value, message);
    throw Error(known, message, context);
  }
  throw PythonFailure(error);
}

void bind_errors(nb::module_& module) {
  module.def("end_store_requests", &end_process_requests, nb::call_guard<nb::gil_scoped_release>(),
             "Ends what waits for a store, when the process ends.");
  module.def(
      "words_on_name",
      [](const std::string& place, const std::string& name, const std::vector<std::string>& known) {
        return words_on_name(place, name, known, OptionStyle::python);
      },
      nb::arg("place"), nb::arg("name"), nb::arg("known"),
      "What is meant by a name that `place` does not have.");
  std::vector<std::array<std::string, 3>> rows;
  for (const Renamed& row : renamed()) rows.push_back({row.kind, row.old_name, row.name});
  module.attr("renamed") = rows;
  nb::register_exception_translator(translate);
  const auto main_thread = nb::cast<unsigned long>(
      nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  // As long as the process.
  static const auto* const check =
      new WaitCheck([main_thread](const Wait& wait) { check_signals(main_thread, wait); });
  static_cast<void>(check);
}

}  // namespace ffkit::python
