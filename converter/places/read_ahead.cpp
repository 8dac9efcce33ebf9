#include "places/read_ahead.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "storage/stores/object_store.h"

namespace ffkit::read_ahead {
namespace {

// A range of 8 MiB takes hardly longer than one of 4; smaller ones cost requests.
constexpr int64_t kRequestBytes = 4 << 20;
// Between neighbours: a tar's header and padding, or a small file that is not needed.
constexpr int64_t kMaxGap = 64 << 10;
// Enough for 1 Gb/s at half a second, and for 10 Gb/s at 50 ms.
constexpr int64_t kWantedBytes = 64 << 20;
constexpr int64_t kMostBytes = 2 * kWantedBytes;

struct Request {
  std::string address;
  int64_t offset = 0;
  int64_t num_bytes = 0;
  std::string version;
  int64_t num_announced = 0;           // bytes of the ranges in it
  int64_t num_taken = 0;               // of them
  std::unique_ptr<std::byte[]> bytes;  // NOLINT(modernize-avoid-c-arrays): not filled with zeros
  std::list<std::shared_ptr<Request>>::iterator place;  // in the order of announcements
  std::shared_ptr<std::string> found = std::make_shared<std::string>();
  std::promise<bool> promise;
  std::shared_future<bool> has_arrived = promise.get_future().share();

  int64_t end() const { return offset + num_bytes; }
};
using RequestPointer = std::shared_ptr<Request>;

class Requests {
 public:
  static Requests& of_process() {
    static auto* const requests = new Requests;  // answers may come when the process ends
    return *requests;
  }

  void announce(const std::string& address, int64_t offset, int64_t num_bytes,
                const std::string& version) {
    if (num_bytes <= 0 || num_bytes > kWantedBytes) return;
    RequestPointer to_send;
    {
      const std::scoped_lock lock(mutex_);
      has_any_ = true;
      if (holder_of(address, offset) != nullptr) return;
      if (RequestPointer last = open_; last != nullptr) {
        const int64_t gap = offset - last->end();
        const bool is_neighbour = last->address == address && last->version == version &&
                                  gap >= 0 && gap <= kMaxGap &&
                                  offset + num_bytes - last->offset <= kRequestBytes;
        if (is_neighbour) {
          num_kept_ += gap + num_bytes;
          last->num_bytes = offset + num_bytes - last->offset;
          last->num_announced += num_bytes;
          return;
        }
        to_send = std::move(open_);
        open_ = nullptr;
      }
      make_room(num_bytes);
      auto request = std::make_shared<Request>();
      request->address = address;
      request->offset = offset;
      request->num_bytes = num_bytes;
      request->version = version;
      request->num_announced = num_bytes;
      num_kept_ += num_bytes;
      by_place_[address][offset] = request;
      request->place = in_order_.insert(in_order_.end(), request);
      open_ = std::move(request);
    }
    if (to_send != nullptr) send(to_send);
  }

  size_t take(const std::string& address, int64_t offset, std::span<std::byte> out,
              std::string& version) {
    RequestPointer request;
    bool is_to_be_sent = false;
    {
      const std::scoped_lock lock(mutex_);
      request = holder_of(address, offset);
      if (request == nullptr) return 0;
      is_to_be_sent = request == open_;
      if (is_to_be_sent) open_ = nullptr;
    }
    if (is_to_be_sent) send(request);
    if (!request->has_arrived.get()) {
      const std::scoped_lock lock(mutex_);
      forget(request);
      return 0;
    }
    const auto num_bytes = std::min(out.size(), static_cast<size_t>(request->end() - offset));
    std::memcpy(out.data(), request->bytes.get() + (offset - request->offset), num_bytes);
    version = *request->found;
    const std::scoped_lock lock(mutex_);
    request->num_taken += static_cast<int64_t>(num_bytes);
    if (request->num_taken >= request->num_announced) forget(request);
    return num_bytes;
  }

  bool wants_more() const {
    if (!has_any_) return false;
    const std::scoped_lock lock(mutex_);
    return num_kept_ < kWantedBytes;
  }

  void begin() {
    const std::scoped_lock lock(mutex_);
    ++num_scopes_;
  }
  void end() {
    const std::scoped_lock lock(mutex_);
    if (--num_scopes_ > 0) return;
    by_place_.clear();
    in_order_.clear();
    open_ = nullptr;
    num_kept_ = 0;
    has_any_ = false;
  }

 private:
  static void send(const RequestPointer& request) {
    const auto num_bytes = static_cast<size_t>(request->num_bytes);
    request->bytes.reset(new std::byte[num_bytes]);
    const std::span<std::byte> into(request->bytes.get(), num_bytes);
    const auto done = [request](const std::exception_ptr& error) {
      request->promise.set_value(error == nullptr);
    };
    try {
      const std::shared_ptr<ObjectStore> store = store_of(request->address);
      if (request->version.empty()) {
        store->read_latest(request->address, request->offset, into, request->found, done);
      } else {
        *request->found = request->version;
        store->read(request->address, request->offset, into, request->version, done);
      }
    } catch (...) {
      done(std::current_exception());
    }
  }

  // The request that has the byte at `offset`; null without one.
  RequestPointer holder_of(const std::string& address, int64_t offset) const {
    const auto object = by_place_.find(address);
    if (object == by_place_.end()) return nullptr;
    const auto after = object->second.upper_bound(offset);
    if (after == object->second.begin()) return nullptr;
    const RequestPointer& request = std::prev(after)->second;
    return offset < request->end() ? request : nullptr;
  }

  void make_room(int64_t num_bytes) {
    while (!in_order_.empty() && num_kept_ + num_bytes > kMostBytes) {
      const RequestPointer oldest = in_order_.front();
      forget(oldest);
    }
  }

  void forget(const RequestPointer& request) {
    const auto object = by_place_.find(request->address);
    if (object == by_place_.end()) return;
    const auto found = object->second.find(request->offset);
    if (found == object->second.end() || found->second != request) return;
    object->second.erase(found);
    if (object->second.empty()) by_place_.erase(object);
    in_order_.erase(request->place);
    num_kept_ -= request->num_bytes;
    if (open_ == request) open_ = nullptr;
  }

  mutable std::mutex mutex_;
  std::atomic<bool> has_any_ = false;
  int num_scopes_ = 0;
  std::map<std::string, std::map<int64_t, RequestPointer>> by_place_;
  std::list<RequestPointer> in_order_;
  RequestPointer open_;  // may still grow; not sent
  int64_t num_kept_ = 0;
};

}  // namespace

void announce(const std::string& address, int64_t offset, int64_t num_bytes,
              const std::string& version) {
  Requests::of_process().announce(address, offset, num_bytes, version);
}

size_t take(const std::string& address, int64_t offset, std::span<std::byte> out,
            std::string& version) {
  return Requests::of_process().take(address, offset, out, version);
}

bool wants_more() {
  return Requests::of_process().wants_more();
}

Scope::Scope() {
  Requests::of_process().begin();
}

Scope::~Scope() {
  Requests::of_process().end();
}

}  // namespace ffkit::read_ahead
