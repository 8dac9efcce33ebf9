// RootNetEvaluation: roots of a split's persons, MRPE and AP.
#pragma once

#include <vector>

#include <ffkit/pose/root_truth.h>
#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/task.h>

#include "tasks/rootnet/network/rootnet_network.h"

namespace ffkit {

// "mrpe", its parts "mrpe_x", "mrpe_y" and "mrpe_z", and "ap"; a split has those that its truth
// allows.
std::vector<MetricInfo> root_metrics();

class RootNetEvaluation final : public Evaluation {
 public:
  // `network` and `split` outlive this. `map_side`: cells of the network's map.
  RootNetEvaluation(RootNetNetwork& network, const Dataset& split, int64_t map_side,
                    double ap_threshold);

  void add(const DeviceBatch& batch) override;
  EvalResult finish(Peers& peers) override;
  void write_results(const std::filesystem::path& file) override;

 private:
  void evaluate(const at::Tensor& rows, at::Tensor& sums);

  RootNetNetwork& network_;
  const Dataset& split_;
  const double map_side_, ap_threshold_;
  std::vector<at::Tensor> rows_;  // [N,4] f64 each: number of the record, x, y and depth
  pose::RootTruth truth_;         // of the records that were seen, on rank 0
  std::vector<pose::Point3> found_;
};

}  // namespace ffkit
