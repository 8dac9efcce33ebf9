#include "distributed/communicator.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Logging.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <sstream>
#include <type_traits>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <ffkit/base/option_names.h>
#include <ffkit/launch/stop.h>

#include "base/machine/wait_check.h"
#include "base/make_error.h"
#include "device/device.h"
#include "distributed/meeting.h"
#include "launch/meeting_point.h"
#include "launch/waiting.h"
#include "model/parameters.h"

namespace ffkit {

// A request to stop reaches all processes: the first one that is asked writes the signal to the
// store of the processes, and the others look there. Thread-safe.
class SharedStop {
 public:
  explicit SharedStop(c10d::Store& store) : store_(store) {}

  void exchange() {
    using Clock = std::chrono::steady_clock;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || is_shared_) return;
    const int signal = stop_signal();
    if (signal == 0 && Clock::now() < next_look_) return;
    next_look_ = Clock::now() + std::chrono::milliseconds(500);
    try {
      if (signal != 0) {
        store_.set(kKey, std::to_string(signal));
      } else if (store_.check({kKey})) {
        request_stop(std::stoi(store_.get_to_str(kKey)));
      } else {
        return;
      }
      is_shared_ = true;
    } catch (const std::exception&) {
      // The store is lost. The next collective call says so.
    }
  }

 private:
  static constexpr char kKey[] = "stop";

  c10d::Store& store_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_look_;
  bool is_shared_ = false;
  const WaitCheck check_{[this](const Wait&) { exchange(); }};
};

struct Communicator::Impl {
  c10::intrusive_ptr<c10d::Store> store;
  std::optional<SharedStop> stop;  // of the world
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  c10::intrusive_ptr<c10d::Backend::Options> gloo_options;  // of the network; for parts too
  bool has_nccl = false;

  // Sums over all processes, in place.
  void all_reduce(at::Tensor& tensor);
};

namespace {

constexpr char kWaitingForOthers[] = "waiting for the other processes";
constexpr size_t kBroadcastBytes = 250 << 20;  // at once, as PyTorch's DistributedDataParallel

std::chrono::milliseconds timeout_of(const ProcessPlace& place) {
  return std::chrono::milliseconds(static_cast<int64_t>(place.timeout_seconds * 1000));
}

// With the network interfaces that GLOO_SOCKET_IFNAME names, as for PyTorch.
c10::intrusive_ptr<c10d::ProcessGroupGloo::Options> gloo_options(const ProcessPlace& place) {
  using c10d::ProcessGroupGloo;
  auto options = ProcessGroupGloo::Options::create(timeout_of(place));
  const char* names = std::getenv("GLOO_SOCKET_IFNAME");
  std::istringstream list(names == nullptr ? "" : names);
  for (std::string name; std::getline(list, name, ',');) {
    try {
      options->devices.push_back(ProcessGroupGloo::createDeviceForInterface(name));
    } catch (const std::exception&) {
      throw error_of(ErrorCode::invalid_argument,
                     "GLOO_SOCKET_IFNAME is '{}', but there is no network interface '{}' with an "
                     "address; unset it, or give an interface that 'ip addr' shows",
                     names, name);
    }
  }
  return options;
}

// Where the user names no interface, it is found. libtorch's own default is what the machine's name
// stands for, 127.0.0.1 on many: no other machine gets through to that.
void find_interface(const ProcessPlace& place, c10d::ProcessGroupGloo::Options& options) {
  using c10d::ProcessGroupGloo;
  if (!options.devices.empty()) return;
  const std::string address = reachable_address(place);
  options.devices.push_back(address.empty() ? ProcessGroupGloo::createDefaultDevice()
                                            : ProcessGroupGloo::createDeviceForHostname(address));
}

}  // namespace

Communicator::Communicator(const ProcessPlace& place, c10::Device device)
    : place_(place), device_(device), world_rank_(place.rank) {
  if (place.backend == "mpi") {
    throw error_of(ErrorCode::unsupported,
                   "this libtorch has no backend mpi, like all published builds; give {}, also for "
                   "processes that mpirun started",
                   option_set("dist_backend", device.is_cuda() ? "nccl" : "gloo"));
  }
  if (!place.backend.empty() && place.backend != "gloo" && place.backend != "nccl") {
    throw error_of(ErrorCode::invalid_argument, "unknown {} '{}'; expected one of gloo and nccl",
                   option_name("dist_backend"), place.backend);
  }
  if (place.backend == "nccl" && !device.is_cuda()) {
    throw error_of(ErrorCode::invalid_argument,
                   "{} works only with GPUs, but this process trains on the CPU; give gloo",
                   option_set("dist_backend", "nccl"));
  }
  if (is_alone()) return;
  // What goes wrong is said by our own errors; c10d would add a page of stack frames.
  setenv("TORCH_CPP_LOG_LEVEL", "FATAL", /*overwrite=*/0);
  c10::initLogging();
  const Waiting waiting("waiting for the other processes to come", Waiting::kNothingToLose);
  try {
    impl_ = std::make_unique<Impl>();
    // Before others are waited for: an interface that is not there is wrong on this machine.
    const auto options = gloo_options(place);
    impl_->store = meet(place);
    find_interface(place, *options);  // towards a host whose name is known by now
    impl_->gloo_options = options;
    connect();
    impl_->stop.emplace(*impl_->store);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    cannot_meet(place, first_line_of(error));
  }
}

Communicator::Communicator(Communicator& world, const ProcessPlace& place, const std::string& name,
                           const std::string& key)
    : place_(place), device_(world.device_), world_rank_(world.world_rank_), group_(name) {
  if (is_alone()) return;
  const Waiting waiting(kWaitingForOthers, Waiting::kPatience);
  world.with_peers("forming a group", [&] {
    impl_ = std::make_unique<Impl>();
    impl_->gloo_options = world.impl_->gloo_options;
    impl_->store = c10::make_intrusive<c10d::PrefixStore>(key, world.impl_->store);
    connect();
  });
}

// Makes the group of impl_->store.
void Communicator::connect() {
  using Type = c10d::ProcessGroup::BackendType;
  impl_->group =
      c10::make_intrusive<c10d::ProcessGroup>(impl_->store, place_.rank, place_.world_size);
  // Gloo takes part with GPUs too: for what is on the CPU.
  using Gloo = c10d::ProcessGroupGloo;
  const auto made = std::make_shared<c10::intrusive_ptr<Gloo>>();
  wait_for_others(place_, [made, store = impl_->store, options = impl_->gloo_options,
                           place = place_](const std::shared_ptr<WaitedFor>& waited_for) {
    waited_for->set("a connection to each of the others", /*concerns_all=*/true);
    *made = c10::make_intrusive<Gloo>(store, place.rank, place.world_size,
                                      c10::static_intrusive_pointer_cast<Gloo::Options>(options));
  });
  const c10::intrusive_ptr<Gloo>& gloo = *made;
  impl_->group->setBackend(c10::DeviceType::CPU, Type::GLOO, gloo);
  if (place_.backend == "nccl" || (place_.backend.empty() && device_.is_cuda())) {
    cuda_module().add_nccl(impl_->group, impl_->store, device_, timeout_of(place_));
    impl_->has_nccl = true;
    impl_->group->setDefaultBackend(Type::NCCL);
    return;
  }
  if (device_.is_cuda()) impl_->group->setBackend(c10::DeviceType::CUDA, Type::GLOO, gloo);
  impl_->group->setDefaultBackend(Type::GLOO);
}

std::unique_ptr<Communicator> Communicator::part(const std::string& name,
                                                 const std::vector<int>& ranks) {
  ProcessPlace place = place_;
  place.world_size = static_cast<int>(ranks.size());
  place.rank = static_cast<int>(std::ranges::find(ranks, rank()) - ranks.begin());
  std::vector<int> sorted = ranks;
  std::ranges::sort(sorted);
  if (place.rank == place.world_size || sorted.front() < 0 || sorted.back() >= world_size() ||
      std::ranges::adjacent_find(sorted) != sorted.end()) {
    throw error_of(ErrorCode::invalid_argument,
                   "rank {} of {} cannot form a group '{}' of the ranks {}", rank(), world_size(),
                   name, fmt::join(ranks, ", "));
  }
  // Parts of the same name meet under the rank of their first process.
  return std::unique_ptr<Communicator>(
      new Communicator(*this, place, name, fmt::format("{}/{}", name, ranks.front())));
}

Communicator::~Communicator() {
  if (!impl_ || !impl_->has_nccl) return;
  // NCCL's threads must not outlive it, and complain when they find that nobody has ended them.
  try {
    const auto nccl = impl_->group->getBackend(c10d::ProcessGroup::BackendType::NCCL);
    if (std::uncaught_exceptions() > 0) {
      nccl->abort();  // what is under way may never end
    } else {
      nccl->shutdown();
    }
  } catch (const std::exception&) {
    // The process is about to end; what went wrong before is what counts.
  }
}

void Communicator::Impl::all_reduce(at::Tensor& tensor) {
  std::vector<at::Tensor> tensors = {tensor};
  group->allreduce(tensors)->wait();
}

void Communicator::rethrow(const char* doing, const std::exception& error) const {
  if (const auto* own = dynamic_cast<const Error*>(&error)) throw Error(*own);
  throw error_of(ErrorCode::io,
                 "rank {} lost the connection to the other processes{} while it was {}: {}; read "
                 "the last messages of these processes",
                 world_rank_, group_.empty() ? "" : fmt::format(" of its group '{}'", group_),
                 doing, first_line_of(error));
}

void Communicator::broadcast(const std::vector<at::Tensor>& tensors) {
  if (is_alone() || tensors.empty()) return;
  const Waiting waiting(kWaitingForOthers, Waiting::kPatience);
  with_peers("sharing its state", [&] {
    at::NoGradGuard no_grad;
    // One dtype and device at a time: that is what libtorch packs together.
    std::vector<at::Tensor> rest = tensors;
    while (!rest.empty()) {
      std::vector<at::Tensor> alike, others;
      for (const at::Tensor& t : rest) {
        (t.scalar_type() == rest.front().scalar_type() && t.device() == rest.front().device()
             ? alike
             : others)
            .push_back(t.detach());
      }
      c10d::broadcast_coalesced(impl_->group, alike, kBroadcastBytes);
      rest = std::move(others);
    }
  });
}

void Communicator::broadcast(const std::vector<NamedTensor>& tensors) {
  std::vector<at::Tensor> values;
  for (const NamedTensor& t : tensors) values.push_back(t.tensor);
  broadcast(values);
}

std::string Communicator::broadcast(const std::string& text) {
  if (is_alone()) return text;
  at::Tensor size = at::full({1}, std::ssize(text), at::kLong);
  broadcast(std::vector<at::Tensor>{size});
  at::Tensor bytes = at::empty({std::max<int64_t>(1, size.item<int64_t>())}, at::kByte);
  if (rank() == 0) std::copy(text.begin(), text.end(), bytes.mutable_data_ptr<uint8_t>());
  broadcast(std::vector<at::Tensor>{bytes});
  const auto* data = reinterpret_cast<const char*>(bytes.const_data_ptr<uint8_t>());
  return {data, static_cast<size_t>(size.item<int64_t>())};
}

void Communicator::sum(at::Tensor& tensor) {
  if (is_alone()) return;
  const Waiting waiting(kWaitingForOthers, Waiting::kPatience);
  with_peers("adding up", [&] { impl_->all_reduce(tensor); });
}

bool Communicator::is_stop_requested() {
  if (impl_ && impl_->stop) {
    const Waiting waiting(kWaitingForOthers, Waiting::kPatience);
    impl_->stop->exchange();
  }
  return stop_signal() != 0;
}

std::vector<double> Communicator::sum(const std::vector<double>& numbers) {
  if (is_alone()) return numbers;
  std::vector<double> out = numbers;
  at::Tensor tensor = at::from_blob(out.data(), {std::ssize(out)}, at::kDouble);
  sum(tensor);
  return out;
}

std::vector<at::Tensor> Communicator::all_gather(const at::Tensor& tensor) {
  if (is_alone()) return {tensor};
  std::vector<std::vector<at::Tensor>> out(1);
  for (int i = 0; i < world_size(); ++i) out[0].push_back(at::empty_like(tensor));
  const Waiting waiting(kWaitingForOthers, Waiting::kPatience);
  with_peers("gathering", [&] {
    std::vector<at::Tensor> tensors = {tensor};
    impl_->group->allgather(out, tensors)->wait();
  });
  return out[0];
}

Transfer Communicator::start_transfer(const at::Tensor& tensor, int other, int tag, bool is_send) {
  if (other < 0 || other >= world_size() || other == rank()) {
    throw error_of(ErrorCode::invalid_argument, "rank {} of {} cannot exchange data with rank {}",
                   rank(), world_size(), other);
  }
  const std::string doing =
      fmt::format("{} rank {}", is_send ? "sending to" : "receiving from", other);
  return with_peers(doing.c_str(), [&] {
    std::vector<at::Tensor> tensors = {tensor};
    const c10::intrusive_ptr<c10d::Work> work =
        is_send ? impl_->group->send(tensors, other, tag) : impl_->group->recv(tensors, other, tag);
    return Transfer([this, work, tensor, doing] {
      const Waiting waiting(kWaitingForOthers, Waiting::kPatience);
      with_peers(doing.c_str(), [&] { work->wait(); });
    });
  });
}

void Communicator::barrier() {
  if (is_alone()) return;
  // By a sum on the CPU: NCCL's own would make a device wait. Without an end: rank 0 may be writing
  // its checkpoint.
  with_peers("waiting", [&] {
    at::Tensor nothing = at::full({1}, 0.0, at::kDouble);
    impl_->all_reduce(nothing);
  });
}

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
      std::vector<bool>(parameters.size(), false),
      static_cast<int64_t>(c10d::kDefaultBucketBytesCap),
      /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true, std::move(names),
      static_cast<int64_t>(c10d::kDefaultFirstBucketBytes));
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
