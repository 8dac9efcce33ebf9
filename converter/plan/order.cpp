#include <numeric>
#include <utility>

#include "input/splitmix.h"
#include "plan/split_plan.h"

namespace ffkit {

std::vector<int64_t> record_order(const SourceSplit& split, const ConvertOptions& options) {
  std::vector<int64_t> order(static_cast<size_t>(split.num_samples));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (options.order == RecordOrder::source || !split.is_training) return order;
  // Fisher-Yates from the end (Knuth, TAOCP vol. 2, algorithm 3.4.2P); README.md, "Shuffle".
  SplitMix random(options.seed);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.below(i)]);
  }
  return order;
}

}  // namespace ffkit
