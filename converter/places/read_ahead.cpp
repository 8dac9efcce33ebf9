#include "places/read_ahead.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/machine/wait_check.h"
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
// Of objects that are fetched as a whole.
constexpr int64_t kMostWholeBytes = 256 << 20;

struct Request {
  std::string address;
  int64_t offset = 0;
  int64_t num_bytes = 0;
  ObjectFacts known;
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
                const ObjectFacts& known) {
    if (num_bytes <= 0 || num_bytes > kWantedBytes) return;
    if (fetch_pieces(address, offset, num_bytes, known)) return;
    RequestPointer to_send;
    {
      const std::scoped_lock lock(mutex_);
      has_any_ = true;
      if (holder_of(by_place_, address, offset) != nullptr) return;
      if (RequestPointer last = open_; last != nullptr) {
        const int64_t gap = offset - last->end();
        const bool is_neighbour =
            last->address == address && last->known.version == known.version && gap >= 0 &&
            gap <= kMaxGap && offset + num_bytes - last->offset <= kRequestBytes;
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
      const RequestPointer request = make_request(address, offset, num_bytes, known);
      num_kept_ += num_bytes;
      by_place_[address][offset] = request;
      request->place = in_order_.insert(in_order_.end(), request);
      open_ = request;
    }
    if (to_send != nullptr) send(to_send);
  }

  bool fetch_pieces(const std::string& address, int64_t offset, int64_t num_bytes,
                    const ObjectFacts& known) {
    std::vector<RequestPointer> to_send;
    {
      const std::scoped_lock lock(mutex_);
      if (!is_whole(address, known.num_bytes)) return false;
      has_any_ = true;
      const int64_t end = std::min(offset + num_bytes, known.num_bytes);
      for (int64_t at = offset / kRequestBytes * kRequestBytes; at < end; at += kRequestBytes) {
        RequestPointer& piece = pieces_[address][at];
        if (piece != nullptr) continue;
        piece = make_request(address, at, std::min(kRequestBytes, known.num_bytes - at), known);
        to_send.push_back(piece);
      }
    }
    for (const RequestPointer& piece : to_send) send(piece);
    return true;
  }

  size_t take(const std::string& address, int64_t offset, std::span<std::byte> out,
              std::string& version) {
    RequestPointer request;
    bool is_to_be_sent = false;
    {
      const std::scoped_lock lock(mutex_);
      request = holder_of(by_place_, address, offset);
      if (request == nullptr) request = holder_of(pieces_, address, offset);
      if (request == nullptr) return 0;
      is_to_be_sent = request == open_;
      if (is_to_be_sent) open_ = nullptr;
    }
    if (is_to_be_sent) send(request);
    wait_checked(request->has_arrived);
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
    pieces_.clear();
    whole_.clear();
    num_kept_ = 0;
    num_whole_bytes_ = 0;
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
      if (request->known.version.empty()) {
        store->read_latest(request->address, request->offset, into, request->known.num_bytes,
                           request->found, done);
      } else {
        *request->found = request->known.version;
        store->read(request->address, request->offset, into, request->known, done);
      }
    } catch (...) {
      done(std::current_exception());
    }
  }

  using ByPlace = std::map<std::string, std::map<int64_t, RequestPointer>>;

  static RequestPointer make_request(const std::string& address, int64_t offset, int64_t num_bytes,
                                     const ObjectFacts& known) {
    auto request = std::make_shared<Request>();
    request->address = address;
    request->offset = offset;
    request->num_bytes = num_bytes;
    request->known = known;
    request->num_announced = num_bytes;
    return request;
  }

  // The request that has the byte at `offset`; null without one.
  static RequestPointer holder_of(const ByPlace& requests, const std::string& address,
                                  int64_t offset) {
    const auto object = requests.find(address);
    if (object == requests.end()) return nullptr;
    const auto after = object->second.upper_bound(offset);
    if (after == object->second.begin()) return nullptr;
    const RequestPointer& request = std::prev(after)->second;
    return offset < request->end() ? request : nullptr;
  }

  // Whether the object is fetched as a whole. So are all that have room together.
  bool is_whole(const std::string& address, int64_t num_bytes) {
    if (num_scopes_ == 0 || num_bytes <= 0) return false;
    if (whole_.contains(address)) return true;
    if (num_whole_bytes_ + num_bytes > kMostWholeBytes) return false;
    whole_[address] = num_bytes;
    num_whole_bytes_ += num_bytes;
    return true;
  }

  void make_room(int64_t num_bytes) {
    while (!in_order_.empty() && num_kept_ + num_bytes > kMostBytes) {
      const RequestPointer oldest = in_order_.front();
      forget(oldest);
    }
  }

  static bool erase_from(ByPlace& requests, const RequestPointer& request) {
    const auto object = requests.find(request->address);
    if (object == requests.end()) return false;
    const auto found = object->second.find(request->offset);
    if (found == object->second.end() || found->second != request) return false;
    object->second.erase(found);
    if (object->second.empty()) requests.erase(object);
    return true;
  }

  void forget(const RequestPointer& request) {
    if (erase_from(pieces_, request)) {
      num_whole_bytes_ -= request->num_bytes;
      int64_t& rest = whole_[request->address];
      rest -= request->num_bytes;
      if (rest <= 0) whole_.erase(request->address);
      return;
    }
    if (!erase_from(by_place_, request)) return;
    in_order_.erase(request->place);
    num_kept_ -= request->num_bytes;
    if (open_ == request) open_ = nullptr;
  }

  mutable std::mutex mutex_;
  std::atomic<bool> has_any_ = false;
  int num_scopes_ = 0;
  ByPlace by_place_;
  ByPlace pieces_;                        // of whole objects
  std::map<std::string, int64_t> whole_;  // objects that are fetched as a whole, and their bytes
  int64_t num_whole_bytes_ = 0;
  std::list<RequestPointer> in_order_;
  RequestPointer open_;  // may still grow; not sent
  int64_t num_kept_ = 0;
};

}  // namespace

void announce(const std::string& address, int64_t offset, int64_t num_bytes,
              const ObjectFacts& known) {
  Requests::of_process().announce(address, offset, num_bytes, known);
}

bool fetch_pieces(const std::string& address, int64_t offset, int64_t num_bytes,
                  const ObjectFacts& known) {
  return Requests::of_process().fetch_pieces(address, offset, num_bytes, known);
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
