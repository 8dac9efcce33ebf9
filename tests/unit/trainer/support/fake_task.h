// A task of one weight and no data, for tests of what works on any task; a test's own overrides
// forward() or loss().
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>

#include <ffkit/trainer/task.h>

#include "support/fake_model.h"

namespace ffkit::testing {

class FakeTask : public Task {
 public:
  explicit FakeTask(TaskSetting setting, at::Tensor weight = {})
      : Task(std::move(setting)), weight_(std::move(weight)) {}

  void open() override {}
  void open_noise() override {}
  std::string fingerprint() const override { return ""; }
  std::unique_ptr<BatchSource> training_batches(int64_t) override { return nullptr; }
  std::unique_ptr<BatchSource> validation_batches() override { return nullptr; }
  DeviceBatch noise() override { return {}; }
  Model& make_model() override { return model_; }
  at::Tensor loss(const DeviceBatch& batch) override { return forward(batch); }
  at::Tensor forward(const DeviceBatch&) override { return weight_; }
  std::unique_ptr<Evaluation> evaluation() override { return nullptr; }

 protected:
  const at::Tensor& weight() const { return weight_; }

 private:
  at::Tensor weight_;
  FakeModel model_{{{"weight", weight_}}, {}};
};

}  // namespace ffkit::testing
