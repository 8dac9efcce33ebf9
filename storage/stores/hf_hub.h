// HfHub: what the Hugging Face hub says of the files of data sets. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <ffkit/base/error.h>

#include "addresses/address.h"
#include "credentials/surroundings.h"
#include "requests/requests.h"
#include "stores/object_store.h"

namespace ffkit {

class HfHub {
 public:
  // Where a file is.
  struct Resolved {
    std::string url;
    bool is_elsewhere = false;  // a signed address of another host
    ObjectFacts facts;
  };
  using Pointer = std::shared_ptr<const Resolved>;

  HfHub(const Surroundings& surroundings, const RequestPolicy& policy);

  // Asks the hub, unless it has been asked before and forget() was not called since. Null: there is
  // no such file. Waits. Throws Error(not_found) for a data set that is not there,
  // Error(invalid_argument) where access is denied.
  Pointer resolve(const std::string& address);
  // The same, but asks in any case.
  Pointer resolve_anew(const std::string& address);
  // The address does no longer hold. Does not wait for the hub: the thread that brings its answers
  // calls this.
  void forget(const std::string& address, const Pointer& resolved);
  Listing list(const std::string& address, bool recursive);

  // The request for a file, with the token if it goes to the hub.
  HttpRequest request_of(const Resolved& resolved) const;
  // What a refusal of the hub means.
  Error failure(const HttpResponse& response, const std::string& address, const char* done) const;

 private:
  struct Entry {
    std::mutex asking;  // while the hub is asked
    std::mutex mutex;   // of `resolved`, and never held while anything is waited for
    Pointer resolved;

    Pointer get() {
      const std::lock_guard lock(mutex);
      return resolved;
    }
    Pointer set(Pointer found) {
      const std::lock_guard lock(mutex);
      return resolved = std::move(found);
    }
  };

  std::shared_ptr<Entry> entry_of(const std::string& address);
  Pointer ask_for(const std::string& address);
  HttpRequest own_request(const std::string& method, const std::string& url) const;

  const std::string endpoint_;
  const std::string token_;
  Requester requester_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace ffkit
