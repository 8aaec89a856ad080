// Amounts with their units, as people write them.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace plait::topology {

// A rate or a time: finite, nothing below 0.
inline bool is_amount(double x) noexcept { return std::isfinite(x) && x >= 0; }

// "100Gb/s", "12.5GB/s", "400 Gb/s" is two words and not this: bytes a second. Powers of ten.
std::optional<double> parse_rate(std::string_view word) noexcept;
// "500ns", "1.5us", "2ms", "1s": seconds.
std::optional<double> parse_latency(std::string_view word) noexcept;

// "12.5 GB/s", "100 Gb/s" where `bits`; "?" of 0.
std::string show_rate(double bytes_per_s);
std::string show_bit_rate(double bytes_per_s);
// "500 ns".
std::string show_latency(double seconds);
// "100Gb/s", "500ns": what the parsers read back as the same number.
std::string write_rate(double bytes_per_s);
std::string write_latency(double seconds);

// A PCI link, of "16.0 GT/s PCIe" or "8 GT/s" and a width: bytes a second each way, after its encoding. 0:
// not understood.
double pci_bytes_per_s(std::string_view speed, int width) noexcept;

}  // namespace plait::topology
