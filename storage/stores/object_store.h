// ObjectStore: objects by their addresses, whichever store has them. Thread-safe. What fails is an
// Error with the address as its path: not_found; io for a store that does not answer; and
// invalid_argument for missing or refused credentials, with a remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/requests/object_facts.h"

namespace ffkit {

struct ListedObject {
  std::string address;
  ObjectFacts facts;
};

struct Listing {
  std::vector<ListedObject> objects;  // sorted by address
  std::vector<std::string> folders;   // addresses without a slash at their end, sorted
};

// An upload that was begun, and neither finished nor given up: its parts take up room in the store,
// and there is no object.
struct UnfinishedUpload {
  std::string address;    // of the object that it would have become
  std::string id;         // as the store calls it
  std::string begun;      // when, as the store writes it: "2026-11-27T02:41:09.000Z"; may be empty
  int64_t num_bytes = 0;  // 0: the store does not say
};

// An object that is written piece by piece and appears when finish() returns. One that is destroyed
// before leaves nothing. For one thread.
class Upload {
 public:
  virtual ~Upload() = default;
  // The next bytes, as many as there are; they are copied. Full parts are sent while the caller
  // goes on, and add() waits where too many are underway. What failed is thrown by the next call,
  // and by all after it.
  virtual void add(std::span<const std::byte> bytes) = 0;
  virtual void finish() = 0;
};

class ObjectStore {
 public:
  // Null: all bytes are there. Otherwise what went wrong.
  using Done = std::function<void(std::exception_ptr)>;

  virtual ~ObjectStore() = default;

  // Fills `into`, which stays until `done` is called, with the bytes from `offset` on. `done` is
  // called once, in any thread, perhaps before read() returns, and must be short; all that fails is
  // told by it, and read() throws nothing. May wait for credentials. What `known` says, the object
  // must have (Error(corrupt): it changed): the version, and the length.
  void read(const std::string& address, int64_t offset, std::span<std::byte> into,
            const ObjectFacts& known, Done done) {
    read_range({address, offset, into, known}, std::move(done));
  }
  // The same of any version of `num_bytes`; `found` becomes the version of what was read, before
  // `done` is called.
  void read_latest(const std::string& address, int64_t offset, std::span<std::byte> into,
                   int64_t num_bytes, std::shared_ptr<std::string> found, Done done) {
    read_range({address, offset, into, {num_bytes, ""}, std::move(found)}, std::move(done));
  }
  // The first of these, waiting, unless a WaitCheck ends that.
  void read(const std::string& address, int64_t offset, std::span<std::byte> into,
            const ObjectFacts& known = {});
  // The second one, likewise. Returns the version.
  std::string read_latest(const std::string& address, int64_t offset, std::span<std::byte> into,
                          int64_t num_bytes);
  // The whole of a small object. Error(unsupported) for one of more than `max_bytes`.
  virtual std::string read_all(const std::string& address, int64_t max_bytes) = 0;
  // Nothing: there is no such object.
  virtual std::optional<ObjectFacts> find(const std::string& address) = 0;
  // What is directly in the folder `address`; or, with `recursive`, all objects below it and no
  // folders. Empty for a folder that is not there. Error(unsupported) for a store without listings
  // (https).
  virtual Listing list(const std::string& address, bool recursive) = 0;

  // Writes a whole object. False: there is one already, and `only_if_new` was asked for. Of several
  // writers that ask so, one succeeds; but with stores that ignore conditions (rclone) two may, if
  // they come at the same time.
  virtual bool put(const std::string& address, std::span<const std::byte> bytes,
                   bool only_if_new) = 0;
  // Replaces an object that is there. `expected_bytes`: about how many there will be, 0 where that
  // is not known; stores limit the number of parts.
  virtual std::unique_ptr<Upload> upload(const std::string& address, int64_t expected_bytes) = 0;
  // No error where there is no such object.
  virtual void remove(const std::string& address) = 0;
  // Uploads of objects in the folder `address` and below, that were begun and not finished, also
  // those of others and those that are underway; sorted by address. Error(unsupported) for a store
  // that has none, or cannot list them.
  virtual std::vector<UnfinishedUpload> list_uploads(const std::string& address) = 0;
  // Gives up one of list_uploads(), so that its parts are removed. No error where there is none.
  virtual void abort_upload(const UnfinishedUpload& upload) = 0;

 protected:
  // As read(), and as read_latest() unless `range.found_version` is null.
  virtual void read_range(RangeOfObject range, Done done) = 0;
};

// The store of an address, one a process and place. Throws Error(invalid_argument) for an address
// that is none, Error(unsupported) without libcurl.
std::shared_ptr<ObjectStore> store_of(const std::string& address);

}  // namespace ffkit
