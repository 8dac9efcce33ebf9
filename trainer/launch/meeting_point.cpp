#include "launch/meeting_point.h"

#include <fmt/format.h>

#include <charconv>

namespace ffkit {

std::optional<HostAndPort> host_and_port(std::string_view meeting_point) {
  constexpr std::string_view kTcp = "tcp://";
  if (!meeting_point.starts_with(kTcp)) return std::nullopt;
  meeting_point.remove_prefix(kTcp.size());
  const size_t colon = meeting_point.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = meeting_point.substr(0, colon);
  const std::string_view port = meeting_point.substr(colon + 1);
  HostAndPort out;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (error != std::errc() || end != port.data() + port.size() || out.port == 0)
    return std::nullopt;
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

}  // namespace ffkit
