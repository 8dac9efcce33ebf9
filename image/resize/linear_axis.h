// LinearAxis: where OpenCV's bilinear filter looks along one axis.
//
// Positions are those of cv::resize with INTER_LINEAR: the centre of an output pixel among the
// input's, in f32. The filter is not widened when it shrinks. Keeps its memory between pictures.
#pragma once

#include <cstdint>
#include <vector>

namespace ffkit {

class LinearAxis {
 public:
  // From in_size to out_size values, both at least 1.
  void build(int in_size, int out_size);

  int num_outputs() const { return num_outputs_; }
  // Output i is input index()[i] times (1 - weight()[i]) plus the next input times weight()[i].
  // Both inputs exist; of an axis of one input the weight is 0. kMaxLanes more of both may be read.
  const int32_t* index() const { return index_.data(); }
  const float* weight() const { return weight_.data(); }

  // Output i is input i.
  bool is_same() const { return num_outputs_ == num_inputs_; }
  // Output i is the mean of the inputs 2 * i and 2 * i + 1.
  bool is_half() const { return num_inputs_ == 2 * num_outputs_; }

 private:
  int num_inputs_ = 0;
  int num_outputs_ = 0;
  std::vector<int32_t> index_;
  std::vector<float> weight_;
};

}  // namespace ffkit
