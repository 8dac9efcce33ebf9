#include "convert/watched.h"

#include <nanobind/stl/string.h>

#include <exception>
#include <thread>

#include <ffkit/base/option_names.h>

#include "base/machine/wait_check.h"
#include "base/printable.h"
#include "converter/input/cancel.h"

namespace nb = nanobind;

namespace ffkit::python {

std::function<void(const ConvertProgress&)> Watched::progress() {
  return [this](const ConvertProgress& progress) {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
  };
}

std::function<void(const std::string&)> Watched::note() {
  return [this](const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(with_option_names(without_marks(sentence), OptionStyle::python));
  };
}

void Watched::run(const std::function<void()>& work) {
  std::exception_ptr failure;
  const WaitCheck check(ends_waits_once([this] { return is_cancelled(&cancel_); }));
  std::thread thread([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    changed_.notify_one();
  });
  std::exception_ptr interruption;
  for (bool is_done = false; !is_done;) {
    std::optional<ConvertProgress> progress;
    std::vector<std::string> notes;
    {
      const nb::gil_scoped_release release;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kInterval, [this] { return is_done_; });
      is_done = is_done_;
      progress = std::exchange(progress_, std::nullopt);
      notes = std::exchange(notes_, {});
    }
    if (interruption) continue;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      tell(progress, notes);
    } catch (...) {
      interruption = std::current_exception();
      cancel_ = true;
    }
  }
  {
    const nb::gil_scoped_release release;
    thread.join();
  }
  if (interruption) std::rethrow_exception(interruption);
  if (failure) std::rethrow_exception(failure);
}

void Watched::tell(const std::optional<ConvertProgress>& progress,
                   const std::vector<std::string>& notes) {
  if (!on_note_.is_none()) {
    for (const std::string& sentence : notes) on_note_(sentence);
  }
  if (progress && !on_progress_.is_none()) {
    on_progress_(progress->split, progress->num_samples, progress->num_done, progress->num_before,
                 progress->num_skipped, progress->bytes_done);
  }
}

}  // namespace ffkit::python
