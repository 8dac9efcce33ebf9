// The stores by addresses, for tests in Python:
//
//   store_tool put ADDRESS FILE [--new]       "written" or "there already"
//   store_tool upload ADDRESS FILE            in parts
//   store_tool cut-upload ADDRESS FILE        the same, but never finished
//   store_tool killed-upload ADDRESS FILE     the same, and the process ends before giving it up
//   store_tool uploads ADDRESS [--abort]      the addresses of uploads that were not finished
//   store_tool get ADDRESS FILE               the whole object
//   store_tool range ADDRESS OFFSET BYTES FILE [VERSION]
//   store_tool reads ADDRESS BYTES NUMBER     so many ranges at once, and what to compare with
//   store_tool find ADDRESS                   "BYTES VERSION" or "not there"
//   store_tool list ADDRESS [--recursive]     "object BYTES ADDRESS" and "folder ADDRESS"
//   store_tool rm ADDRESS
//   store_tool each ADDRESS SECONDS           reads a byte every 0.1 s, for so long
//   store_tool fork ADDRESS                   reads, and reads on in itself and in a child
//
// Exit status 1 with the error on stderr.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <ffkit/base/error.h>

#include "stores/object_store.h"

namespace ffkit {
namespace {

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::not_found, "cannot be opened", {.path = path});
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
}

enum class End { finish, give_up, kill };

void upload_in_pieces(const std::string& address, const std::string& bytes, End end) {
  const auto upload = store_of(address)->upload(address, 0);
  constexpr size_t kPiece = 1'000'003;
  for (size_t begin = 0; begin < bytes.size(); begin += kPiece) {
    upload->add(
        std::as_bytes(std::span(bytes)).subspan(begin, std::min(kPiece, bytes.size() - begin)));
  }
  if (end == End::finish) upload->finish();
  if (end == End::kill) _exit(0);
}

// Many ranges at once, spread over the object; each is read a second time and compared.
void read_many(const std::string& address, size_t num_bytes, size_t number) {
  const auto store = store_of(address);
  const auto facts = store->find(address);
  if (!facts) throw Error(ErrorCode::not_found, "is not there", {.path = address});
  const std::string whole = store->read_all(address, facts->num_bytes);
  std::vector<std::string> ranges(number, std::string(num_bytes, '\0'));
  const auto offset_of = [&](size_t i) { return i * 7919 % (whole.size() - num_bytes + 1); };
  std::mutex mutex;
  std::condition_variable is_done;
  size_t num_done = 0;
  std::exception_ptr failure;
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < number; ++i) {
    store->read(address, static_cast<int64_t>(offset_of(i)),
                std::as_writable_bytes(std::span(ranges[i])), *facts,
                [&](std::exception_ptr error) {
                  const std::lock_guard lock(mutex);
                  if (error != nullptr) failure = std::move(error);
                  ++num_done;
                  is_done.notify_one();
                });
  }
  std::unique_lock lock(mutex);
  is_done.wait(lock, [&] { return num_done == number; });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (failure != nullptr) std::rethrow_exception(failure);
  for (size_t i = 0; i < number; ++i) {
    if (whole.compare(offset_of(i), num_bytes, ranges[i]) != 0) {
      throw Error(ErrorCode::corrupt, "a range has other bytes than the whole", {.path = address});
    }
  }
  std::printf("%zu ranges of %zu bytes in %.3f s\n", number, num_bytes, seconds.count());
}

void read_for(const std::string& address, double seconds) {
  const auto store = store_of(address);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int number = 0;
  std::byte byte{};
  do {
    store->read(address, 0, {&byte, 1});
    ++number;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  } while (std::chrono::steady_clock::now() < end);
  std::printf("%d reads\n", number);
}

void read_in_a_child(const std::string& address) {
  std::byte byte{};
  store_of(address)->read(address, 0, {&byte, 1});
  const pid_t child = fork();
  for (int i = 0; i < 20; ++i) store_of(address)->read(address, i, {&byte, 1});
  // As programs do that were forked: without the parent's exit handlers.
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw Error(ErrorCode::io, "the child failed", {.path = address});
  std::puts("both read");
}

void list(const std::string& address, bool recursive) {
  const Listing listing = store_of(address)->list(address, recursive);
  for (const ListedObject& object : listing.objects) {
    std::cout << "object " << object.facts.num_bytes << ' ' << object.address << '\n';
  }
  for (const std::string& folder : listing.folders) std::cout << "folder " << folder << '\n';
}

int run(const std::vector<std::string>& arguments) {
  const std::string& command = arguments.at(0);
  const std::string& address = arguments.at(1);
  const std::string last = arguments.back();
  const auto store = store_of(address);
  if (command == "put") {
    const std::string bytes = bytes_of_file(arguments.at(2));
    const bool is_written = store->put(address, std::as_bytes(std::span(bytes)), last == "--new");
    std::puts(is_written ? "written" : "there already");
  } else if (command == "upload" || command == "cut-upload") {
    upload_in_pieces(address, bytes_of_file(arguments.at(2)),
                     command == "upload" ? End::finish : End::give_up);
  } else if (command == "killed-upload") {
    upload_in_pieces(address, bytes_of_file(arguments.at(2)), End::kill);
  } else if (command == "uploads") {
    for (const UnfinishedUpload& upload : store->list_uploads(address)) {
      std::cout << upload.address << '\n';
      if (last == "--abort") store->abort_upload(upload);
    }
  } else if (command == "get") {
    write_bytes(arguments.at(2), store->read_all(address, int64_t{1} << 30));
  } else if (command == "range") {
    std::string bytes(std::stoul(arguments.at(3)), '\0');
    store->read(address, std::stoll(arguments.at(2)), std::as_writable_bytes(std::span(bytes)),
                {-1, arguments.size() > 5 ? arguments[5] : ""});
    write_bytes(arguments.at(4), bytes);
  } else if (command == "reads") {
    read_many(address, std::stoul(arguments.at(2)), std::stoul(arguments.at(3)));
  } else if (command == "find") {
    const auto facts = store->find(address);
    std::cout << (facts ? std::to_string(facts->num_bytes) + " " + facts->version : "not there")
              << '\n';
  } else if (command == "list") {
    list(address, last == "--recursive");
  } else if (command == "rm") {
    store->remove(address);
  } else if (command == "each") {
    read_for(address, std::stod(arguments.at(2)));
  } else if (command == "fork") {
    read_in_a_child(address);
  } else {
    throw Error(ErrorCode::invalid_argument, "there is no command " + command);
  }
  return 0;
}

}  // namespace
}  // namespace ffkit

int main(int argc, char** argv) {
  try {
    return ffkit::run({argv + 1, argv + argc});
  } catch (const ffkit::Error& e) {
    std::cerr << ffkit::to_string(e.code()) << ": " << e.what() << '\n';
    return 1;
  } catch (const std::exception& e) {
    std::cerr << "no Error: " << e.what() << '\n';
    return 3;
  }
}
