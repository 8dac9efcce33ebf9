#include "meeting_point.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "base/number_text.h"

namespace ffkit {
namespace {

std::string to_text(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST] = {};
  if (getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text;
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

// A datagram socket that is connected sends nothing, but knows which interface it would use.
std::string address_towards(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    const int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    sockaddr_storage own = {};
    socklen_t length = sizeof own;
    const bool is_known = connect(fd, a->ai_addr, a->ai_addrlen) == 0 &&
                          getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) == 0;
    close(fd);
    if (is_known) return to_text(reinterpret_cast<sockaddr*>(&own), length);
  }
  return {};
}

std::string first_outward_address() {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(found, freeifaddrs);
  for (const ifaddrs* i = found; i != nullptr; i = i->ifa_next) {
    const bool is_up = (i->ifa_flags & IFF_RUNNING) != 0 && (i->ifa_flags & IFF_LOOPBACK) == 0;
    if (is_up && i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_INET)
      return to_text(i->ifa_addr, sizeof(sockaddr_in));
  }
  return {};
}

}  // namespace

std::optional<HostAndPort> host_and_port(std::string_view meeting_point) {
  constexpr std::string_view kTcp = "tcp://";
  if (!meeting_point.starts_with(kTcp)) return std::nullopt;
  meeting_point.remove_prefix(kTcp.size());
  const size_t colon = meeting_point.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = meeting_point.substr(0, colon);
  const std::string_view port = meeting_point.substr(colon + 1);
  HostAndPort out;
  out.port = number_of_text<uint16_t>(port).value_or(0);
  if (out.port == 0) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find_first_of("[]") != std::string_view::npos) return std::nullopt;
  out.host = host;
  return out;
}

std::string tcp_meeting_point(std::string_view host, int port) {
  const bool is_ipv6 = host.find(':') != std::string_view::npos && !host.starts_with('[');
  return is_ipv6 ? fmt::format("tcp://[{}]:{}", host, port)
                 : fmt::format("tcp://{}:{}", host, port);
}

std::optional<std::string> meeting_file(std::string_view meeting_point) {
  constexpr std::string_view kFile = "file://";
  if (!meeting_point.starts_with("file:///")) return std::nullopt;
  return std::string(meeting_point.substr(kFile.size()));
}

std::string reachable_address(const ProcessPlace& place) {
  if (place.local_world_size == place.world_size) return "127.0.0.1";
  const std::optional<HostAndPort> meeting = host_and_port(place.meeting_point);
  if (!meeting) return {};
  const std::string& host = meeting->host;
  const std::string address = address_towards(host);
  return is_loopback(address) && !is_loopback(host) ? first_outward_address() : address;
}

}  // namespace ffkit
