#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include <nlohmann/json.hpp>

#include "addresses/place.h"
#include "addresses/url.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "credentials/bearer_tokens.h"
#include "stores/store_kinds.h"

namespace ffkit {
namespace {

constexpr int kMaxHubRedirects = 5;

// The address of the next page: Link: <https://...>; rel="next".
std::string next_page(std::string_view link) {
  const size_t relation = link.find("rel=\"next\"");
  if (relation == std::string_view::npos) return {};
  const size_t begin = link.rfind('<', relation);
  const size_t end = begin == std::string_view::npos ? begin : link.find('>', begin);
  if (end == std::string_view::npos || end > relation) return {};
  return std::string(link.substr(begin + 1, end - begin - 1));
}

std::string text_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_missing(const HttpResponse& response) {
  return response.status == 404 && response.header("x-error-code") != "RepoNotFound" &&
         response.header("x-error-code") != "RevisionNotFound";
}

// What the hub says of the files of data sets. Thread-safe.
class HfHub {
 public:
  // Where a file is.
  struct Resolved {
    std::string url;
    bool is_elsewhere = false;  // a signed address of another host
    ObjectFacts facts;
  };
  using Pointer = std::shared_ptr<const Resolved>;

  HfHub(const Surroundings& surroundings, const RequestPolicy& policy)
      : endpoint_(hugging_face_endpoint(surroundings)),
        token_(hugging_face_token(surroundings)),
        requester_(surroundings.client(), policy) {}

  // Asks the hub, unless it has been asked before and forget() was not called since; `anew`: in any
  // case. Null: there is no such file. Waits. Throws Error(not_found) for a data set that is not
  // there, Error(invalid_argument) where access is denied.
  Pointer resolve(const std::string& address, bool anew = false) {
    const std::shared_ptr<Entry> entry = entry_of(address);
    const std::lock_guard asking(entry->asking);
    const Pointer known = anew ? nullptr : entry->get();
    return known != nullptr ? known : entry->set(ask_for(address));
  }

  // The address does no longer hold. Does not wait for the hub: the thread that brings its answers
  // calls this.
  void forget(const std::string& address, const Pointer& resolved) {
    const std::shared_ptr<Entry> entry = entry_of(address);
    const std::lock_guard lock(entry->mutex);
    if (entry->resolved == resolved) entry->resolved = nullptr;
  }

  Listing list(const std::string& address, bool recursive) {
    const Address folder = parse_address(address);
    const std::string path = without_slash(folder.path);
    std::string url = fmt::format("{}/api/datasets/{}/tree/{}{}{}{}", endpoint_, folder.place,
                                  percent_encoded(folder.revision), path.empty() ? "" : "/",
                                  percent_encoded_path(path), recursive ? "?recursive=true" : "");
    Listing listing;
    while (!url.empty()) {
      const HttpResponse response = requester_.fetch(address, [&](int) {
        // A data set that was renamed leads on. The token stays with the hub's host.
        HttpRequest request = own_request("GET", url);
        request.follow_redirects = true;
        return request;
      });
      if (is_missing(response)) return {};
      if (response.status != 200) throw failure(response, address, "listed");
      const nlohmann::json page = nlohmann::json::parse(response.body, nullptr, false);
      if (!page.is_array()) {
        throw error_at(address, ErrorCode::corrupt, "the hub's listing is not a JSON list");
      }
      for (const nlohmann::json& item : page) {
        if (!item.is_object()) continue;
        Address found = folder;
        found.path = text_member(item, "path");
        if (text_member(item, "type") == "directory") {
          if (!recursive) listing.folders.push_back(text_of(found));
          continue;
        }
        const auto size = item.find("size");
        const bool has_size = size != item.end() && size->is_number_integer();
        const auto lfs = item.find("lfs");
        const bool has_lfs = lfs != item.end() && lfs->is_object();
        const std::string hash = text_member(has_lfs ? *lfs : item, "oid");
        listing.objects.push_back({text_of(found),
                                   {has_size ? size->get<int64_t>() : 0,
                                    hash.empty() ? hash : fmt::format("\"{}\"", hash)}});
      }
      const std::string next = next_page(response.header("link"));
      // The token stays with the hub.
      const bool is_own = next.starts_with(endpoint_ + "/");
      url = is_own && next != url ? next : "";
    }
    std::ranges::sort(listing.objects, {}, &ListedObject::address);
    std::ranges::sort(listing.folders);
    return listing;
  }

  // The request for a file, with the token if it goes to the hub.
  HttpRequest request_of(const Resolved& resolved) const {
    if (!resolved.is_elsewhere) return own_request("GET", resolved.url);
    HttpRequest request;
    request.url = resolved.url;
    return request;
  }

  // What a refusal of the hub means.
  Error failure(const HttpResponse& response, const std::string& address, const char* done) const {
    const std::string_view code = response.header("x-error-code");
    const std::string set_token =
        token_.empty() ? "set HF_TOKEN if the data set is private" : "check HF_TOKEN";
    std::string reason =
        "the hub answers with " + (code.empty() ? status_and_words(response) : printable(code));
    ErrorCode kind = ErrorCode::invalid_argument;
    std::string remedy;
    if (code == "RepoNotFound" || (code.empty() && response.status == 401)) {
      kind = ErrorCode::not_found;
      reason = "there is no such data set, or the data set is private";
      remedy = "check the name of the data set, and " + set_token;
    } else if (code == "RevisionNotFound") {
      kind = ErrorCode::not_found;
      reason = "the data set has no such revision";
      remedy = "check the revision after the '@'";
    } else if (code == "GatedRepo") {
      remedy = "ask for access on the data set's page, and set HF_TOKEN";
    } else if (response.status == 404) {
      kind = ErrorCode::not_found;
      reason = "the file does not exist";
      remedy = "check the name of the file";
    } else if (response.status == 401 || response.status == 403) {
      remedy = set_token;
    } else if (response.status == 429) {
      kind = ErrorCode::io;
      remedy = token_.empty() ? "set HF_TOKEN to raise the hub's limits" : "try again later";
    } else if (response.status >= 500) {
      kind = ErrorCode::io;
      remedy = "try again later";
    }
    return {kind,
            fmt::format("this address cannot be {}, because {}", done, reason),
            {.path = address, .remedy = remedy}};
  }

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

  std::shared_ptr<Entry> entry_of(const std::string& address) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& entry = entries_[address];
    if (entry == nullptr) entry = std::make_shared<Entry>();
    return entry;
  }

  Pointer ask_for(const std::string& address) {
    const Address parts = parse_address(address);
    const std::string host = parse_url(endpoint_, "HF_ENDPOINT").host;
    std::string url =
        fmt::format("{}/datasets/{}/resolve/{}/{}", endpoint_, parts.place,
                    percent_encoded(parts.revision), percent_encoded_path(parts.path));
    auto resolved = std::make_shared<Resolved>();
    for (int i = 0; i < kMaxHubRedirects; ++i) {
      const HttpResponse response =
          requester_.fetch(address, [&](int) { return own_request("HEAD", url); });
      if (is_missing(response)) return nullptr;
      const std::string_view linked = response.header("x-linked-etag");
      if (resolved->facts.version.empty()) {
        resolved->facts.version = linked.empty() ? response.header("etag") : linked;
      }
      const bool has_length = !response.header("x-linked-size").empty();
      if (has_length) resolved->facts.num_bytes = response.number("x-linked-size").value_or(-1);
      if (response.status == 200) {
        if (!has_length) {
          resolved->facts.num_bytes = response.number("content-length").value_or(-1);
        }
        resolved->url = std::move(url);
        break;
      }
      const std::string_view location = response.header("location");
      if (response.status < 300 || response.status >= 400 || location.empty()) {
        throw failure(response, address, "found");
      }
      const Url next = redirected(parse_url(url, "the hub"), location);
      url = next.text();
      // A file that is kept elsewhere has its length and its hash told by the hub.
      if (next.host != host) {
        resolved->is_elsewhere = true;
        resolved->url = std::move(url);
        break;
      }
    }
    if (resolved->url.empty() || resolved->facts.num_bytes < 0) {
      throw error_at(address, ErrorCode::io, "the hub at {} has no location of the file", host);
    }
    return resolved;
  }

  HttpRequest own_request(const std::string& method, const std::string& url) const {
    HttpRequest request;
    request.method = method;
    request.url = url;
    if (!token_.empty()) request.headers.push_back("Authorization: Bearer " + token_);
    return request;
  }

  const std::string endpoint_;
  const std::string token_;
  Requester requester_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

constexpr int64_t kMaxRefusalBytes = 1 << 20;

Error missing_file(const std::string& address) {
  return error_at(address, ErrorCode::not_found,
                  "this address cannot be read, because the file does not exist")
      .with_remedy("check the name of the file");
}

// Of one read, whose attempts may be several at once.
struct HfAttempts {
  std::mutex mutex;
  HfHub::Pointer used;
  int num_renewals = 0;
};

// Makes the request for a file, by the hub's last word.
Requester::MakeRequest maker_of(const std::shared_ptr<HfHub>& hub,
                                const std::shared_ptr<HfAttempts>& attempts,
                                const std::string& address, const std::string& version,
                                int64_t max_body_bytes) {
  return [=](int) {
    HfHub::Pointer resolved = hub->resolve(address);
    if (resolved == nullptr) throw missing_file(address);
    if (!version.empty() && resolved->facts.version != version) {
      throw error_at(address, ErrorCode::corrupt, "the object was changed after it was opened")
          .with_remedy("open the object again");
    }
    HttpRequest request = hub->request_of(*resolved);
    request.max_body_bytes = max_body_bytes;
    // Signed addresses may lead on to a nearer host.
    request.follow_redirects = resolved->is_elsewhere;
    const std::lock_guard lock(attempts->mutex);
    attempts->used = std::move(resolved);
    return request;
  };
}

// A signed address that is refused has ended: the hub is asked for another one.
Judge judge_of(const std::shared_ptr<HfHub>& hub, const std::shared_ptr<HfAttempts>& attempts,
               const std::string& address) {
  return [=](const HttpResponse& response) {
    Verdict verdict = judge_by_status(response);
    if (!verdict.is_refusal(response) || response.status < 400) return verdict;
    const std::lock_guard lock(attempts->mutex);
    const bool may_have_ended = attempts->used != nullptr && attempts->used->is_elsewhere;
    if (may_have_ended && ++attempts->num_renewals <= 2) {
      hub->forget(address, attempts->used);
      return Verdict{.kind = Verdict::Kind::repeat};
    }
    return Verdict::failed(hub->failure(response, address, "read"));
  };
}

class HfStore : public ReadOnlyStore {
 public:
  HfStore(const Surroundings& surroundings, const RequestPolicy& policy)
      : hub_(std::make_shared<HfHub>(surroundings, policy)),
        files_(std::make_shared<Requester>(surroundings.client(), policy)) {}

  std::string read_all(const std::string& address, int64_t max_bytes) override {
    hub_->resolve(address, /*anew=*/true);  // a branch may have moved on since
    const auto attempts = std::make_shared<HfAttempts>();
    HttpResponse response = files_->fetch(address, maker_of(hub_, attempts, address, "", max_bytes),
                                          judge_of(hub_, attempts, address));
    return std::move(response.body);
  }

  std::optional<ObjectFacts> find(const std::string& address) override {
    if (parse_address(address).path.empty()) return std::nullopt;
    const HfHub::Pointer resolved = hub_->resolve(address, /*anew=*/true);
    if (resolved == nullptr) return std::nullopt;
    return resolved->facts;
  }

  Listing list(const std::string& address, bool recursive) override {
    return hub_->list(address, recursive);
  }

 protected:
  void read_range(RangeOfObject range, Done done) override {
    const auto attempts = std::make_shared<HfAttempts>();
    const std::string address = range.address;
    // The version is that of the hub, which the other host may write differently: compared above.
    const std::string version = std::exchange(range.known.version, "");
    const std::shared_ptr<std::string> found = std::exchange(range.found_version, nullptr);
    begin_read(done, [&] {
      files_->read_range(range, maker_of(hub_, attempts, address, version, kMaxRefusalBytes),
                         judge_of(hub_, attempts, address),
                         [attempts, found, done](std::exception_ptr error) {
                           if (found != nullptr && error == nullptr) {
                             const std::lock_guard lock(attempts->mutex);
                             if (attempts->used) *found = attempts->used->facts.version;
                           }
                           done(std::move(error));
                         });
    });
  }

  Error no_writing(const std::string& address) const override {
    return error_at(address, ErrorCode::unsupported, "ffkit does not write to the Hugging Face hub")
        .with_subject(ErrorSubject::argument)
        .with_remedy("write to a folder, and upload it with `hf upload-large-folder`");
  }

 private:
  // Has a Requester of its own: its answers are waited for where requests of files are made.
  const std::shared_ptr<HfHub> hub_;
  const std::shared_ptr<Requester> files_;
};

}  // namespace

std::shared_ptr<ObjectStore> make_hf_store(const Surroundings& surroundings,
                                           const RequestPolicy& policy) {
  return std::make_shared<HfStore>(surroundings, policy);
}

}  // namespace ffkit
