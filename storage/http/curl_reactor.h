// CurlReactor: the thread of a CurlClient, and what belongs to it.
//
//   send() ─▶ inbox ─▶ (too many of this host: waiting) ─▶ multi handle ─▶ done()
//
// Only the inbox is seen by other threads.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "http/curl_library.h"
#include "http/curl_transfer.h"
#include "http/http_client.h"

namespace ffkit {

class CurlReactor {
 public:
  CurlReactor(const CurlLibrary& curl, const CurlClientOptions& options);
  // After stop().
  ~CurlReactor();
  CurlReactor(const CurlReactor&) = delete;
  CurlReactor& operator=(const CurlReactor&) = delete;

  void send(HttpRequest request, HttpClient::Done done);
  void cancel(uint64_t ticket);
  // Ends everything as failures and joins the thread. What is sent afterwards fails at once. False
  // in the thread itself: it ends when its caller has returned, and the reactor must stay.
  bool stop();
  // Then: the thread destroys the reactor at its end.
  static void end_by_itself(std::unique_ptr<CurlReactor> reactor);

 private:
  using Clock = CurlTransfer::Clock;
  struct Waiting {
    HttpRequest request;
    HttpClient::Done done;
  };
  struct Host {
    int num_active = 0;
    std::deque<Waiting> waiting;
  };
  struct Inbox {
    std::vector<Waiting> sent;
    std::vector<uint64_t> cancelled;
    bool is_stopped = false;
  };

  void clean_up();
  void run();
  // False: it is to stop.
  bool empty_inbox();
  void arrive(Waiting waiting);
  void start(Waiting waiting, const std::string& host);
  void start_waiting(const std::string& host);
  void collect_ended();
  void end_overdue();
  void end_cancelled(const std::vector<uint64_t>& tickets);
  void end_all();
  // Takes the transfer out of the multi handle.
  std::unique_ptr<CurlTransfer> take_out(CurlTransfer* transfer);
  void tell(std::unique_ptr<CurlTransfer> transfer, HttpResponse response);
  int poll_ms() const;
  void wake();

  const CurlLibrary& curl_;
  const CurlClientOptions options_;
  CURLSH* share_ = nullptr;
  CURLM* multi_ = nullptr;
  std::vector<std::unique_ptr<CurlTransfer>> active_;
  std::vector<std::unique_ptr<CurlTransfer>> idle_;
  std::unordered_map<std::string, Host> hosts_;
  Clock::time_point next_deadline_ = Clock::time_point::max();
  std::unique_ptr<CurlReactor> itself_;  // after end_by_itself()
  bool has_own_mail_ = false;  // sent or cancelled in the thread itself since empty_inbox()

  std::mutex mutex_;
  Inbox inbox_;
  std::mutex stop_mutex_;
  std::thread thread_;
  std::thread::id thread_id_;
};

}  // namespace ffkit
