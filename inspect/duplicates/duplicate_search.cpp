#include "duplicates/duplicate_search.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/base/machine.h>

namespace ffkit {

struct DuplicateSearch::Impl {
  std::vector<Dataset> splits;
  DuplicateOptions options;
  DuplicateProgress progress;

  std::mutex start_mutex;  // of `worker`: one start() or stop() at a time
  std::thread worker;
  mutable std::mutex mutex;  // of what follows
  State state = State::none;
  std::string message;
  std::shared_ptr<const Duplicates> result;

  void set(State new_state, std::string why = "",
           std::shared_ptr<const Duplicates> found = nullptr) {
    const std::scoped_lock lock(mutex);
    state = new_state;
    message = std::move(why);
    result = std::move(found);
  }

  void work() {
    try {
      std::shared_ptr<const Duplicates> found;
      tbb::task_arena(usable_cores()).execute([&] {
        found = std::make_shared<const Duplicates>(find_duplicates(splits, options, progress));
      });
      set(State::done, "", std::move(found));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) {
        set(State::none);
      } else {
        set(State::failed, error.text(OptionStyle::command_line));
      }
    } catch (const std::exception& error) {
      set(State::failed, error.what());
    }
  }

  void stop() {
    progress.stop = true;
    if (worker.joinable()) worker.join();
  }
};

DuplicateSearch::DuplicateSearch(std::vector<Dataset> splits, DuplicateOptions options)
    : impl_(std::make_unique<Impl>()) {
  impl_->splits = std::move(splits);
  impl_->options = std::move(options);
}

DuplicateSearch::~DuplicateSearch() {
  impl_->stop();
}

void DuplicateSearch::start() {
  const std::scoped_lock lock(impl_->start_mutex);
  const State now = state();
  if (now == State::running || now == State::done) return;
  if (impl_->worker.joinable()) impl_->worker.join();
  impl_->progress.stop = false;
  impl_->set(State::running);
  impl_->worker = std::thread([impl = impl_.get()] { impl->work(); });
}

void DuplicateSearch::stop() {
  const std::scoped_lock lock(impl_->start_mutex);
  impl_->stop();
}

DuplicateSearch::State DuplicateSearch::state() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->state;
}

double DuplicateSearch::share_done() const {
  if (state() == State::done) return 1;
  const int64_t total = impl_->progress.num_total;
  return total == 0 ? 0
                    : static_cast<double>(impl_->progress.num_done) / static_cast<double>(total);
}

std::string DuplicateSearch::message() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->message;
}

std::shared_ptr<const Duplicates> DuplicateSearch::result() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->result;
}

}  // namespace ffkit
