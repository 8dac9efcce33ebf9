#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/loader/loader.h>

#include "batch.h"
#include "bindings.h"
#include "loader_options.h"
#include "values.h"

namespace ffkit::python {
namespace {

// How often a thread that waits looks for signals.
constexpr std::chrono::milliseconds kSignalInterval(50);

// The loader's warnings, until Python takes them: its threads must not wait for the GIL.
class Warnings {
 public:
  void add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    texts_.emplace_back(text);
    any_ = true;
  }
  bool any() const { return any_; }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    any_ = false;
    return std::exchange(texts_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
  std::atomic<bool> any_{false};
};

// A Loader, and who may call it: one thread at a time, without the GIL.
class PyLoader {
 public:
  PyLoader(const Dataset& dataset, const nb::dict& options) {
    LoaderOptions made = loader_options_from_python(dataset, options);
    made.on_warning = [warnings = warnings_](std::string_view text) { warnings->add(text); };
    const nb::gil_scoped_release release;
    loader_ = std::make_unique<Loader>(dataset, std::move(made));
  }
  ~PyLoader() {
    const nb::gil_scoped_release release;
    loader_.reset();
  }
  PyLoader(PyLoader&&) = delete;
  PyLoader& operator=(PyLoader&&) = delete;

  // Calls `work(loader)` without the GIL. Throws Error(invalid_argument) while another thread does,
  // and when the loader is closed.
  template <typename Work>
  auto call(Work&& work) {
    std::optional<Turn> turn;
    if (!is_inherited()) turn.emplace(*this);
    const nb::gil_scoped_release release;
    return std::invoke(std::forward<Work>(work), *loader_);
  }

  std::optional<Batch> next() {
    for (;;) {
      std::optional<Batch> batch;
      const bool is_over = call([&](Loader& loader) {
        if (!loader.wait_for(kSignalInterval)) return false;
        batch = loader.next();
        return true;
      });
      if (is_over) return batch;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

  // Ends the loader's threads and gives its memory back, but that of batches which are held. A
  // thread that waits in next() is refused.
  void close() {
    if (is_inherited()) return;
    const nb::gil_scoped_release release;
    std::unique_lock lock(mutex_);
    is_closed_ = true;
    turn_over_.wait(lock, [&] { return !is_busy_; });
    const auto ending = std::move(loader_);
    lock.unlock();
  }

  // Whether a thread is in call().
  bool is_busy() {
    const std::lock_guard lock(mutex_);
    return is_busy_;
  }

  Warnings& warnings() { return *warnings_; }

  bool is_closed() {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }
  // Bytes of the copies of batches that live.
  int64_t copied_bytes() const { return *copies_; }
  const PyBatch::Counter& copies() const { return copies_; }

  // Of what any thread may ask at any time, but of a closed loader.
  template <typename Work>
  auto ask(Work&& work) {
    const nb::gil_scoped_release release;
    std::unique_lock<std::mutex> lock;
    if (!is_inherited()) {
      lock = std::unique_lock(mutex_);
      require_open();
    }
    return std::invoke(std::forward<Work>(work), *loader_);
  }

 private:
  class Turn {
   public:
    explicit Turn(PyLoader& owner) : owner_(owner) {
      const std::lock_guard lock(owner_.mutex_);
      owner_.require_open();
      if (owner_.is_busy_) {
        throw Error(ErrorCode::invalid_argument,
                    "another thread is using this loader; use a loader in one thread at a "
                    "time, or make another one for this thread");
      }
      owner_.is_busy_ = true;
    }
    ~Turn() {
      {
        const std::lock_guard lock(owner_.mutex_);
        owner_.is_busy_ = false;
      }
      owner_.turn_over_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    PyLoader& owner_;
  };

  // In a child of fork(), where locks may be those of threads that are not here. The Loader itself
  // says what can be done then.
  bool is_inherited() const { return process_ != getpid(); }

  void require_open() const {
    if (!is_closed_) return;
    throw Error(ErrorCode::invalid_argument, "the loader is closed; make another one");
  }

  std::shared_ptr<Warnings> warnings_ = std::make_shared<Warnings>();
  std::unique_ptr<Loader> loader_;
  const pid_t process_ = getpid();
  const PyBatch::Counter copies_ = std::make_shared<std::atomic<int64_t>>(0);
  std::mutex mutex_;  // guards what follows
  std::condition_variable turn_over_;
  bool is_busy_ = false;
  bool is_closed_ = false;
};

// The batch, or None at the end of the epoch.
nb::object next_batch(PyLoader& self, bool copy) {
  std::optional<Batch> batch = self.next();
  if (!batch) return nb::none();
  PyBatch::Counter counter;
  if (copy) {
    const nb::gil_scoped_release release;
    batch = batch->copy();
    counter = self.copies();
  }
  return nb::cast(new PyBatch(std::move(*batch), std::move(counter)),
                  nb::rv_policy::take_ownership);
}

}  // namespace

void bind_loader(nb::module_& module) {
  nb::class_<DecoderHandle>(module, "FieldDecoder", "A field decoder of C++.");
  module.def(
      "class_balanced_weights",
      [](const std::vector<int64_t>& labels) -> nb::any {
        return any_of(numpy_vector(class_balanced_weights(labels)));
      },
      nb::arg("labels"),
      "Weights for order=\"weighted\" under which every class is drawn equally often: of each "
      "record 1 / (number of records with its label), as numpy.ndarray [len(labels)] f64.");
  module.def(
      "aspect_ratio_buckets",
      [](const std::vector<int64_t>& widths, const std::vector<int64_t>& heights,
         int factor) -> nb::any {
        return any_of(numpy_vector(aspect_ratio_buckets(widths, heights, factor)));
      },
      nb::arg("widths"), nb::arg("heights"), nb::arg("factor") = 3,
      "For Order(buckets=...): the numbers of the buckets of pictures by aspect ratio, width / "
      "height, as numpy.ndarray [len(widths)] i64: 2 * factor + 2 buckets, as torchvision's "
      "references for detection have them with --aspect-ratio-group-factor.");
  nb::class_<LoaderStatistics>(module, "Statistics",
                               "Where a loader's time went: a snapshot. str() has one line a "
                               "stage, the verdict last.")
      .def_ro("num_batches", &LoaderStatistics::num_batches, "Handed to the consumer.")
      .def_ro("num_samples", &LoaderStatistics::num_samples, "Handed to the consumer.")
      .def_ro("num_replaced", &LoaderStatistics::num_replaced, "Bad samples replaced by others.")
      .def_ro("num_left_out", &LoaderStatistics::num_left_out, "Bad samples without a replacement.")
      .def_ro("num_items_left_out", &LoaderStatistics::num_items_left_out,
              "Bad items, such as boxes without area, that samples were decoded without.")
      .def_ro("bytes_read", &LoaderStatistics::bytes_read, "From store, disk or page cache.")
      .def_ro("bytes_from_store", &LoaderStatistics::bytes_from_store,
              "Of them, what the cache did not have when it was asked for.")
      .def_ro("num_reads", &LoaderStatistics::num_reads)
      .def_ro("read_seconds", &LoaderStatistics::read_seconds, "Summed over reads.")
      .def_ro("checksum_seconds", &LoaderStatistics::checksum_seconds, "Summed over threads.")
      .def_ro("decode_seconds", &LoaderStatistics::decode_seconds, "Summed over threads.")
      .def_ro("transform_seconds", &LoaderStatistics::transform_seconds, "Summed over threads.")
      .def_ro("busy_seconds", &LoaderStatistics::busy_seconds, "Of all work, over threads.")
      .def_ro("wait_seconds", &LoaderStatistics::wait_seconds, "The stall that training feels.")
      .def_ro("elapsed_seconds", &LoaderStatistics::elapsed_seconds)
      .def_ro("rank", &LoaderStatistics::rank, "Of world_size processes that share an epoch.")
      .def_ro("world_size", &LoaderStatistics::world_size)
      .def_ro("num_threads", &LoaderStatistics::num_threads, "That decode.")
      .def_ro("prefetch_batches", &LoaderStatistics::prefetch_batches)
      .def_ro("reads_in_flight", &LoaderStatistics::reads_in_flight, "Mean.")
      .def_ro("ready_batches", &LoaderStatistics::ready_batches, "Mean, when one was asked for.")
      .def_ro("io_engine", &LoaderStatistics::io_engine, "What the kernel granted.")
      .def_ro("direct_io", &LoaderStatistics::direct_io, "O_DIRECT in use.")
      .def_ro("order", &LoaderStatistics::order,
              "The order of the samples, as a state has it: 'shuffle, 1281167 samples'.")
      .def("since", &LoaderStatistics::since, nb::arg("earlier"),
           "What was counted between `earlier` and this snapshot.")
      .def("verdict", &LoaderStatistics::verdict, "What limits the loader, in one line.")
      .def("__str__", [](const LoaderStatistics& s) { return to_string(s); })
      .def("__repr__",
           [](const LoaderStatistics& s) { return "<ffkit.Statistics: " + s.verdict() + ">"; });
  const auto called = [](auto work) { return [work](PyLoader& self) { return self.call(work); }; };
  const auto asked = [](auto work) { return [work](PyLoader& self) { return self.ask(work); }; };
  nb::class_<PyLoader>(module, "Loader")
      .def(nb::init<const Dataset&, const nb::typed<nb::dict, nb::str, nb::any>&>())
      .def("num_batches", asked(&Loader::num_batches))
      .def("set_epoch",
           [](PyLoader& self, int64_t epoch) {
             self.call([&](Loader& loader) { loader.set_epoch(epoch); });
           })
      .def("next", &next_batch, nb::arg("copy"),
           nb::sig("def next(self, copy: bool) -> Batch | None"))
      .def("ready", called(&Loader::ready))
      .def("at_end", called(&Loader::at_end))
      .def("copied_bytes", &PyLoader::copied_bytes)
      .def("is_closed", &PyLoader::is_closed)
      .def("num_held", asked(&Loader::num_held_batches))
      .def("state", called([](const Loader& loader) { return loader.state().to_text(); }))
      .def("restore",
           [](PyLoader& self, const std::string& text) {
             self.call([&](Loader& loader) { loader.restore(LoaderState::from_text(text)); });
           })
      .def("epoch", called([](const Loader& loader) { return loader.state().epoch; }))
      .def("num_threads", asked([](const Loader& loader) { return loader.options().num_threads; }))
      .def("memory_bound", asked(&Loader::memory_bound))
      .def("statistics", asked(&Loader::statistics))
      .def("epoch_statistics", called(&Loader::epoch_statistics))
      .def_prop_ro("has_warnings", [](PyLoader& self) { return self.warnings().any(); })
      .def("take_warnings", [](PyLoader& self) { return texts_to_python(self.warnings().take()); })
      .def("is_busy", &PyLoader::is_busy, nb::call_guard<nb::gil_scoped_release>())
      .def("close", &PyLoader::close);
}

}  // namespace ffkit::python
