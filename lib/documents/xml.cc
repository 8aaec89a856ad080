#include "documents/xml.h"

#include <expat.h>

#include <memory>

#include "base/text.h"
#include "documents/text_file.h"

namespace plait::documents {

namespace {

struct Reading {
  XML_Parser parser;
  XmlHandler& handler;
  DocumentType type;
  uint32_t depth = 0;
  std::string error = {};
  uint32_t line = 0;

  uint32_t now() const { return uint32_t(XML_GetCurrentLineNumber(parser)); }
  void stop(std::string why) {
    if (!error.empty()) return;
    error = std::move(why);
    line = now();
    XML_StopParser(parser, XML_FALSE);
  }
};

void on_open(void* data, const char* name, const char** attributes) {
  auto& reading = *static_cast<Reading*>(data);
  // A parser that was stopped still tells the end of an empty element, and no more.
  std::string why = reading.handler.open({name, attributes, reading.now(), reading.depth++});
  if (!why.empty()) reading.stop(std::move(why));
}

void on_close(void* data, const char*) { static_cast<Reading*>(data)->depth--; }

void on_document_type(void* data, const char*, const char*, const char*, int declares) {
  auto& reading = *static_cast<Reading*>(data);
  if (declares != 0 || reading.type == DocumentType::refused)
    reading.stop("a document type, which this file does not need: it could expand without bound");
}

}  // namespace

std::optional<std::string_view> XmlElement::find(std::string_view attribute) const noexcept {
  for (const char** at = attributes_; *at != nullptr; at += 2) {
    if (attribute == at[0]) return at[1];
  }
  return {};
}

Status read_xml(std::string_view text, const std::string& file, XmlHandler& handler, DocumentType type) {
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr),
                                                                            XML_ParserFree);
  if (!parser) return {Code::memory, file + ": no memory for a parser of XML"};
  Reading reading{.parser = parser.get(), .handler = handler, .type = type};
  XML_SetUserData(parser.get(), &reading);
  XML_SetElementHandler(parser.get(), on_open, on_close);
  XML_SetStartDoctypeDeclHandler(parser.get(), on_document_type);
  constexpr size_t kPart = 1 << 20;  // expat counts in int
  bool well = true;
  while (well) {
    const std::string_view part = text.substr(0, kPart);
    text.remove_prefix(part.size());
    well = XML_Parse(parser.get(), part.data(), int(part.size()), text.empty()) == XML_STATUS_OK;
    if (text.empty()) break;
  }
  if (reading.error.empty() && !well) {
    reading.line = reading.now();
    reading.error = std::string("not XML: ") + XML_ErrorString(XML_GetErrorCode(parser.get()));
  }
  make_printable(reading.error);
  return reading.error.empty() ? Status() : refuse(file, reading.line, reading.error);
}

}  // namespace plait::documents
