#include "run_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <system_error>
#include <utility>

#include <ffkit/base/error.h>

#include "base/make_error.h"
#include "checkpoint/checkpoint_parts.h"

namespace ffkit {

void CheckpointWriter::write(std::function<void()> job) {
  wait();
  running_ = std::async(std::launch::async, std::move(job));
}

void CheckpointWriter::wait() {
  if (running_.valid()) running_.get();
}

namespace fs = std::filesystem;

void GoodCheckpoint::resumed(const fs::path& path, int64_t steps) {
  written(path, steps);
  is_own_ = false;
}

void GoodCheckpoint::written(const fs::path& path, int64_t steps) {
  last_ = path;
  last_steps_ = steps;
  is_own_ = true;
  update();
}

void GoodCheckpoint::proven(int64_t steps) {
  proven_steps_ = std::max(proven_steps_, steps);
  update();
}

void GoodCheckpoint::update() {
  if (!last_.empty() && last_steps_ <= proven_steps_) good_ = last_;
}

std::string GoodCheckpoint::put_aside() {
  std::string out;
  if (!last_.empty() && last_ != good_) {
    if (is_own_) {
      fs::path aside = last_;
      aside += ".not-finite";
      std::error_code error;
      fs::remove_all(aside, error);
      fs::rename(last_, aside, error);
      if (error) {
        throw io_error_at(last_, "cannot be renamed to *.not-finite", error.value())
            .with_subject(ErrorSubject::destination);
      }
      out = fmt::format(
          ". The checkpoint {} is renamed to *.not-finite, because its weights give no finite loss",
          last_.string());
    } else {
      out = fmt::format(
          ". This was the first step after the checkpoint {}, so the weights in this checkpoint "
          "may be the cause. Continue from an earlier checkpoint, with an empty work folder",
          last_.string());
    }
  }
  if (!good_.empty()) out += fmt::format(". The last good checkpoint is {}", good_.string());
  return out;
}

namespace {

std::unique_ptr<Communicator> make_writers(Communicator& communicator) {
  std::vector<int> all(communicator.world_size());
  std::iota(all.begin(), all.end(), 0);
  return communicator.part("checkpoint", all);
}

}  // namespace

RunCheckpoints::RunCheckpoints(const TrainOptions& options, Communicator& communicator,
                               bool is_divided)
    : options_(options),
      communicator_(communicator),
      writers_(is_divided && !options.work_dir.empty() ? make_writers(communicator) : nullptr) {}

void RunCheckpoints::start(int64_t steps_done) {
  last_time_ = std::chrono::steady_clock::now();
  good_.resumed(last_, steps_done);
}

bool RunCheckpoints::is_due() const {
  if (communicator_.rank() != 0 || options_.checkpoint_minutes <= 0) return false;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - last_time_;
  return passed.count() > 60 * options_.checkpoint_minutes;
}

void RunCheckpoints::write(const std::optional<WorkDir>& work_dir, const CheckpointInfo& state,
                           const WholeState& whole,
                           const std::function<std::vector<NamedTensor>()>& tensors) {
  last_time_ = std::chrono::steady_clock::now();
  std::filesystem::path path;
  if (work_dir) {
    path = work_dir->checkpoint_path(state.epochs_done, state.loader.position, whole.is_divided());
    if (path == last_) path.clear();
  }
  std::function<void()> clean_up = [] {};
  if (!path.empty()) {
    good_.written(path, state.steps_done);
    clean_up = [dir = *work_dir, num_kept = options_.keep_checkpoints,
                best = options_.keep_best ? state.best_epoch : 0, good = good_.path(),
                replaced = std::exchange(replaced_, {})] {
      if (!replaced.empty()) remove_checkpoint(replaced);
      dir.prune(num_kept, best, good);
    };
  }
  if (whole.is_divided()) {
    write_part(path, state, whole, tensors(), clean_up);
  } else if (!path.empty()) {
    writer_.write([path, contents = snapshot(state, tensors()), clean_up] {
      write_safetensors(path, contents);
      clean_up();
    });
  }
  if (!path.empty()) last_ = path;
}

void RunCheckpoints::write_part(const std::filesystem::path& path, const CheckpointInfo& state,
                                const WholeState& whole, const std::vector<NamedTensor>& tensors,
                                const std::function<void()>& clean_up) {
  // Rank 0 alone knows whether there is one to write, and under which name.
  const std::string name = communicator_.broadcast(path.filename().string());
  if (name.empty()) return;
  std::vector<SharedTensor> own = whole.to_write(tensors);
  for (SharedTensor& t : own) t.tensor = t.tensor.is_cpu() ? t.tensor.clone() : t.tensor.cpu();
  writer_.write([this, folder = options_.work_dir / name, own = std::move(own), clean_up,
                 rest = snapshot(state, whole.others(tensors))] {
    write_parts(*writers_, folder, rest, own);
    clean_up();
  });
}

std::string RunCheckpoints::put_aside() {
  writer_.wait();
  return good_.put_aside();
}

}  // namespace ffkit
