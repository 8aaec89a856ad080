// Reads XML from strangers: elements and attributes only. No entities to expand, no network, and no nesting
// beyond what the caller takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plait::documents {

// An element as it opens. Valid until the handler returns.
class XmlElement {
 public:
  XmlElement(const char* name, const char** attributes, uint32_t line, uint32_t depth) noexcept
      : name_(name), attributes_(attributes), line_(line), depth_(depth) {}
  std::string_view name() const noexcept { return name_; }
  // The value of an attribute, where it has it.
  std::optional<std::string_view> find(std::string_view attribute) const noexcept;
  uint32_t line() const noexcept { return line_; }
  // 0: the outermost.
  uint32_t depth() const noexcept { return depth_; }

 private:
  std::string_view name_;
  const char** attributes_;  // names and values by turns, ended by a null
  uint32_t line_, depth_;
};

class XmlHandler {
 public:
  virtual ~XmlHandler() = default;
  // Returns why the element is refused, which ends the reading; empty: go on.
  virtual std::string open(const XmlElement& element) = 0;
};

// A document type is refused, or passed over where it only names a file, which is never opened. One with
// declarations of its own is refused in either case.
enum class DocumentType : uint8_t { refused, named };

// `file` is for the sentences of refusals, which begin with "FILE:LINE: ". Code::invalid: not well-formed, a
// document type, or refused by the handler.
Status read_xml(std::string_view text, const std::string& file, XmlHandler& handler,
                DocumentType type = DocumentType::refused);

}  // namespace plait::documents
