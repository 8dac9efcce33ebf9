// TaskOptions: the options of a task, in TrainOptions beside those of every run.
//
//   struct DepthOptions : ffkit::OwnOptions<DepthOptions> {
//     int64_t size = 64;
//     void describe(ffkit::OptionTable& table, const ffkit::TrainOptions&) override {
//       table.group("Depth");
//       table.add("size", size, "Width and height of pictures").require(size >= 1, "at least 1");
//     }
//   };
//
// describe() declares them once. Command line, --help, --config, checkpoints, config.toml and
// checks follow from it.
//
// TaskFacts: facts, beside the options, in which a run and the checkpoint that it continues must
// agree.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <ffkit/base/option_table.h>

namespace ffkit {

struct TrainOptions;

// Names (TaskEntry::facts) and JSON, such as the classes of a data set or a vocabulary. A
// checkpoint has each in its metadata.
using TaskFacts = std::map<std::string, std::string>;

class TaskOptions {
 public:
  virtual ~TaskOptions() = default;
  virtual std::unique_ptr<TaskOptions> clone() const = 0;
  // Declares all options, over this object. `general` are the options of the run, for checks that
  // need both.
  virtual void describe(OptionTable& table, const TrainOptions& general) = 0;
};

template <typename Derived>
class OwnOptions : public TaskOptions {
 public:
  std::unique_ptr<TaskOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

struct NoTaskOptions : OwnOptions<NoTaskOptions> {
  void describe(OptionTable&, const TrainOptions&) override {}
};

// The options of any task, or none, as a value: a copy has separate options.
class AnyTaskOptions {
 public:
  AnyTaskOptions() = default;
  AnyTaskOptions(std::unique_ptr<TaskOptions> options) : options_(std::move(options)) {}
  AnyTaskOptions(const AnyTaskOptions& other)
      : options_(other.options_ ? other.options_->clone() : nullptr) {}
  AnyTaskOptions(AnyTaskOptions&&) noexcept = default;
  AnyTaskOptions& operator=(AnyTaskOptions other) noexcept {
    options_ = std::move(other.options_);
    return *this;
  }
  ~AnyTaskOptions() = default;

  // Null when there are none.
  TaskOptions* get() const { return options_.get(); }

 private:
  std::unique_ptr<TaskOptions> options_;
};

}  // namespace ffkit
