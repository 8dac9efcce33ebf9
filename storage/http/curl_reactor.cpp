#include "http/curl_reactor.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include <ffkit/base/error.h>

#include "base/machine/signals_blocked.h"

namespace ffkit {
namespace {

constexpr size_t kMaxIdleHandles = 256;
// Connections that are kept, over all hosts.
constexpr long kMaxKeptConnections = 512;
constexpr const char* kStopped = "the requests were cancelled because the program ends";
// A poll without a deadline: libcurl's own timers make it shorter.
constexpr int kLongPollMs = 60'000;

thread_local bool is_reactor_thread = false;

// What would add a header of its own.
const std::string* header_with_line_break(const HttpRequest& request) {
  const auto found = std::ranges::find_if(request.headers, [](const std::string& header) {
    return header.find_first_of("\r\n") != std::string::npos;
  });
  return found == request.headers.end() ? nullptr : &*found;
}

HttpResponse failed_response(const std::string& failure) {
  HttpResponse response;
  response.failure = failure;
  return response;
}

}  // namespace

bool is_http_client_thread() {
  return is_reactor_thread;
}

CurlReactor::CurlReactor(const CurlLibrary& curl, const CurlClientOptions& options)
    : curl_(curl), options_(options) {
  share_ = curl_.share_init();
  multi_ = curl_.multi_init();
  if (share_ == nullptr || multi_ == nullptr) {
    clean_up();
    throw std::bad_alloc();
  }
  // One thread uses it, so that no locks are needed. DNS and connections are the multi handle's.
  curl_.share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  curl_.multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  curl_.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxKeptConnections);
  try {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
    thread_id_ = thread_.get_id();
  } catch (const std::system_error& error) {
    clean_up();
    throw Error(ErrorCode::io, "the thread that reads addresses cannot be started",
                {.errno_value = error.code().value(),
                 .remedy = "raise the limit of threads (ulimit -u, or pids.max of the container)"});
  }
}

CurlReactor::~CurlReactor() {
  clean_up();
}

void CurlReactor::clean_up() {
  idle_.clear();
  if (multi_ != nullptr) curl_.multi_cleanup(multi_);
  if (share_ != nullptr) curl_.share_cleanup(share_);
}

void CurlReactor::send(HttpRequest request, HttpClient::Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (!inbox_.is_stopped) {
      const bool is_first = inbox_.sent.empty() && inbox_.cancelled.empty();
      inbox_.sent.push_back({std::move(request), std::move(done)});
      if (is_first) wake();
      return;
    }
  }
  done(failed_response(kStopped));
}

void CurlReactor::cancel(uint64_t ticket) {
  if (ticket == 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (inbox_.is_stopped) return;
    inbox_.cancelled.push_back(ticket);
  }
  wake();
}

void CurlReactor::wake() {
  if (std::this_thread::get_id() == thread_id_) {
    has_own_mail_ = true;
  } else {
    curl_.multi_wakeup(multi_);
  }
}

bool CurlReactor::stop() {
  {
    const std::lock_guard lock(mutex_);
    inbox_.is_stopped = true;
  }
  wake();
  if (std::this_thread::get_id() == thread_id_) return false;
  const std::lock_guard stop_lock(stop_mutex_);
  if (thread_.joinable()) thread_.join();
  return true;
}

void CurlReactor::end_by_itself(std::unique_ptr<CurlReactor> reactor) {
  CurlReactor& kept = *reactor;
  kept.itself_ = std::move(reactor);
}

void CurlReactor::run() {
  is_reactor_thread = true;
  while (true) {
    if (!empty_inbox()) break;
    int num_running = 0;
    curl_.multi_perform(multi_, &num_running);
    collect_ended();
    end_overdue();
    const int wait_ms = poll_ms();
    if (wait_ms > 0 && !has_own_mail_) curl_.multi_poll(multi_, nullptr, 0, wait_ms, nullptr);
  }
  end_all();
  if (itself_ != nullptr) {
    thread_.detach();
    const std::unique_ptr<CurlReactor> destroyed = std::move(itself_);
  }
}

bool CurlReactor::empty_inbox() {
  has_own_mail_ = false;
  Inbox inbox;
  {
    const std::lock_guard lock(mutex_);
    inbox.is_stopped = inbox_.is_stopped;
    inbox.sent.swap(inbox_.sent);
    inbox.cancelled.swap(inbox_.cancelled);
  }
  for (Waiting& waiting : inbox.sent) arrive(std::move(waiting));
  if (!inbox.cancelled.empty()) end_cancelled(inbox.cancelled);
  return !inbox.is_stopped;
}

void CurlReactor::arrive(Waiting waiting) {
  std::string name(host_of_url(waiting.request.url));
  Host& host = hosts_[name];
  if (host.num_active >= options_.max_connections_per_host) {
    host.waiting.push_back(std::move(waiting));
    return;
  }
  start(std::move(waiting), name);
}

void CurlReactor::start(Waiting waiting, const std::string& host) {
  std::unique_ptr<CurlTransfer> transfer;
  const std::string& own_ca_file = waiting.request.ca_file;
  if (const std::string* broken = header_with_line_break(waiting.request)) {
    waiting.done(failed_response("the header '" + broken->substr(0, broken->find(':')) +
                                 "' of the request has a line break"));
    return;
  }
  if (idle_.empty() || !own_ca_file.empty()) {
    try {
      transfer = std::make_unique<CurlTransfer>(
          curl_, share_, own_ca_file.empty() ? options_.ca_file : own_ca_file);
    } catch (const std::exception& error) {
      waiting.done(failed_response(error.what()));
      return;
    }
  } else {
    transfer = std::move(idle_.back());
    idle_.pop_back();
  }
  transfer->host = host;
  transfer->begin(std::move(waiting.request), std::move(waiting.done));
  transfer->place = active_.size();
  ++hosts_[host].num_active;
  next_deadline_ = std::min(next_deadline_, transfer->deadline());
  active_.push_back(std::move(transfer));
  CurlTransfer* added = active_.back().get();
  if (curl_.multi_add_handle(multi_, added->handle()) != CURLM_OK) {
    HttpResponse response = added->end("libcurl accepts no further request", false);
    tell(take_out(added), std::move(response));
  }
}

void CurlReactor::start_waiting(const std::string& host) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return;
  std::deque<Waiting>& waiting = found->second.waiting;
  while (!waiting.empty() && found->second.num_active < options_.max_connections_per_host) {
    Waiting next = std::move(waiting.front());
    waiting.pop_front();
    start(std::move(next), host);
  }
}

void CurlReactor::collect_ended() {
  int num_left = 0;
  while (const CURLMsg* message = curl_.multi_info_read(multi_, &num_left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    std::unique_ptr<CurlTransfer> transfer =
        take_out(CurlTransfer::of(curl_, message->easy_handle));
    HttpResponse response = transfer->end(code);
    tell(std::move(transfer), std::move(response));
  }
}

void CurlReactor::end_overdue() {
  const Clock::time_point now = Clock::now();
  if (now < next_deadline_) return;
  std::vector<CurlTransfer*> overdue;
  next_deadline_ = Clock::time_point::max();
  for (const auto& transfer : active_) {
    if (transfer->deadline() <= now) {
      overdue.push_back(transfer.get());
    } else {
      next_deadline_ = std::min(next_deadline_, transfer->deadline());
    }
  }
  for (CurlTransfer* transfer : overdue) {
    const std::string failure = transfer->overdue(now);
    std::unique_ptr<CurlTransfer> ended = take_out(transfer);
    HttpResponse response = ended->end(failure, true);
    tell(std::move(ended), std::move(response));
  }
}

void CurlReactor::end_cancelled(const std::vector<uint64_t>& tickets) {
  const auto is_meant = [&](uint64_t ticket) {
    return ticket != 0 && std::ranges::find(tickets, ticket) != tickets.end();
  };
  // (Waiting ones first, before one of them gets the place of an active one.)
  std::vector<HttpClient::Done> never_started;
  for (auto& [name, host] : hosts_) {
    std::erase_if(host.waiting, [&](Waiting& waiting) {
      if (!is_meant(waiting.request.ticket)) return false;
      never_started.push_back(std::move(waiting.done));
      return true;
    });
  }
  std::vector<CurlTransfer*> ended;
  for (const auto& transfer : active_) {
    if (is_meant(transfer->ticket())) ended.push_back(transfer.get());
  }
  for (CurlTransfer* transfer : ended) {
    std::unique_ptr<CurlTransfer> taken = take_out(transfer);
    HttpResponse response = taken->end("the request was cancelled", false);
    tell(std::move(taken), std::move(response));
  }
  for (const HttpClient::Done& done : never_started) {
    done(failed_response("the request was cancelled"));
  }
}

void CurlReactor::end_all() {
  // What is sent meanwhile fails by itself; what waits has no connection to wait for.
  std::vector<Waiting> waiting;
  for (auto& [name, host] : hosts_) {
    std::ranges::move(host.waiting, std::back_inserter(waiting));
  }
  hosts_.clear();
  while (!active_.empty()) {
    std::unique_ptr<CurlTransfer> transfer = take_out(active_.back().get());
    HttpResponse response = transfer->end(kStopped, false);
    tell(std::move(transfer), std::move(response));
  }
  for (const Waiting& each : waiting) each.done(failed_response(kStopped));
}

std::unique_ptr<CurlTransfer> CurlReactor::take_out(CurlTransfer* transfer) {
  curl_.multi_remove_handle(multi_, transfer->handle());
  const size_t place = transfer->place;
  std::swap(active_[place], active_.back());
  active_[place]->place = place;
  std::unique_ptr<CurlTransfer> taken = std::move(active_.back());
  active_.pop_back();
  return taken;
}

void CurlReactor::tell(std::unique_ptr<CurlTransfer> transfer, HttpResponse response) {
  const HttpClient::Done done = transfer->release();
  const std::string host = transfer->host;
  const bool may_be_kept = transfer->ca_file() == options_.ca_file;
  if (may_be_kept && idle_.size() < kMaxIdleHandles) idle_.push_back(std::move(transfer));
  if (const auto found = hosts_.find(host); found != hosts_.end()) {
    --found->second.num_active;
    if (!found->second.waiting.empty()) {
      start_waiting(host);
    } else if (found->second.num_active == 0) {
      hosts_.erase(found);
    }
  }
  done(std::move(response));
}

int CurlReactor::poll_ms() const {
  if (next_deadline_ == Clock::time_point::max()) return kLongPollMs;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_deadline_ - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, kLongPollMs));
}

}  // namespace ffkit
