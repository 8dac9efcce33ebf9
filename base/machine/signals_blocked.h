// SignalsBlocked: a thread that is started while it lives takes no signals. Handlers of the program
// run in its own threads, and a broken connection (SIGPIPE; TLS of libcurl before 7.87 writes
// without MSG_NOSIGNAL) does not end it.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace ffkit {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace ffkit
