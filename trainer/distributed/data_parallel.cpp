#include <algorithm>
#include <type_traits>

#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "distributed/communicator_impl.h"
#include "model/trained_parameters.h"

namespace ffkit {
namespace {

using Buckets = std::vector<std::vector<size_t>>;

// The constructor's last parameters are not the same in all versions of libtorch.
template <typename Reducer, typename... Head>
std::unique_ptr<Reducer> make_reducer(Head&&... head) {
  if constexpr (std::is_constructible_v<Reducer, Head..., bool, bool, std::vector<int64_t>>) {
    return std::make_unique<Reducer>(std::forward<Head>(head)...,
                                     /*skip_all_reduce_unused_params=*/false,
                                     /*use_python_reducer=*/false, std::vector<int64_t>{});
  } else if constexpr (std::is_constructible_v<Reducer, Head..., bool, bool>) {
    return std::make_unique<Reducer>(std::forward<Head>(head)..., false, false);
  } else {
    return std::make_unique<Reducer>(std::forward<Head>(head)...);
  }
}

}  // namespace

struct DataParallel::Impl {
  Communicator& communicator;
  std::unique_ptr<c10d::Reducer> reducer;
};

DataParallel::DataParallel(Communicator& communicator, const Model& model) {
  if (communicator.is_alone()) return;
  std::vector<at::Tensor> parameters;
  std::unordered_map<size_t, std::string> names;
  for (const NamedTensor& p : trained_parameters(model)) {
    names.emplace(names.size(), p.name);
    parameters.push_back(p.tensor);
  }
  std::vector<at::Tensor> all;
  for (const NamedTensor& p : model.parameters()) all.push_back(p.tensor);
  communicator.with_peers("comparing models", [&] {
    c10d::verify_params_across_processes(communicator.impl().group, all, std::nullopt);
  });
  communicator.broadcast(all);
  communicator.broadcast(model.buffers());

  // Gradients become ready from the last layer to the first: so the buckets are filled. After the
  // first step the Reducer itself puts them into the order that it saw.
  Buckets buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(
      parameters, {c10d::kDefaultFirstBucketBytes, c10d::kDefaultBucketBytesCap},
      std::vector<bool>(parameters.size(), false)));
  std::reverse(buckets.begin(), buckets.end());
  impl_ = std::make_unique<Impl>(Impl{communicator, nullptr});
  impl_->reducer = make_reducer<c10d::Reducer>(
      parameters, std::move(buckets), communicator.impl().group,
      std::vector<bool>(parameters.size(), false), int64_t(c10d::kDefaultBucketBytesCap),
      /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true, std::move(names),
      int64_t(c10d::kDefaultFirstBucketBytes));
}

DataParallel::~DataParallel() = default;

void DataParallel::before_forward() {
  if (!impl_) return;
  impl_->communicator.with_peers("preparing a step", [&] {
    impl_->reducer->prepare_for_forward();
    impl_->reducer->rebuild_buckets();
  });
}

void DataParallel::before_backward() {
  if (impl_) impl_->reducer->prepare_for_backward({});
}

}  // namespace ffkit
