// A conversion that runs beside Python: the calling thread waits without the GIL, hands progress
// and notes to Python, and stops the work when a signal's handler raises, as Ctrl-C's does.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/converter/options.h>

namespace ffkit::python {

class Watched {
 public:
  // `on_progress` and `on_note` are callables of Python, or None.
  Watched(nanobind::object on_progress, nanobind::object on_note)
      : on_progress_(std::move(on_progress)), on_note_(std::move(on_note)) {}

  // For the options of what is run: threads of C++ call these, never Python.
  const std::atomic<bool>* cancel() const { return &cancel_; }
  std::function<void(const ConvertProgress&)> progress();
  std::function<void(const std::string&)> note();

  // Runs `work` on a thread of its own and returns when it has ended. Throws what Python's handlers
  // or callables have raised, else what the work has thrown. With the GIL.
  void run(const std::function<void()>& work);

 private:
  void tell(const std::optional<ConvertProgress>& progress, const std::vector<std::string>& notes);

  // Python's signals are looked for this often: no signal ends the wait for a condition.
  static constexpr std::chrono::milliseconds kInterval{50};

  nanobind::object on_progress_;
  nanobind::object on_note_;
  std::atomic<bool> cancel_{false};
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::optional<ConvertProgress> progress_;
  std::vector<std::string> notes_;
  bool is_done_ = false;
};

}  // namespace ffkit::python
