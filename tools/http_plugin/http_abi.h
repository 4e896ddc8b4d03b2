// The C interface of libstrata_http.so: an HTTP server by cpp-httplib, in a plugin that is opened when it is needed
// (http_server.h). cpp-httplib depends on OpenSSL and Brotli; linking them would double the time in which the program
// starts.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum { STRATA_HTTP_ABI = 1 };

struct StrataHttpText {
  const char* data;
  size_t size;
};

// A request: the parts on which answers depend.
struct StrataHttpAsk {
  StrataHttpText method, path;
  StrataHttpText host;  // the header Host; empty if there is none, or more than one
  StrataHttpText site;  // the header Sec-Fetch-Site
  StrataHttpText from;  // the query parameter `from`
};

struct StrataHttpHeader {
  StrataHttpText name, value;
};

// The function that takes an answer; the answerer calls it once. All arguments are copied.
using StrataHttpReply = void (*)(void* out, int32_t status, const StrataHttpHeader* headers, size_t count,
                                 StrataHttpText type, StrataHttpText body);

struct StrataHttpServer;

struct StrataHttpOptions {
  int32_t port;  // 0: any free port
  void* context;
  // Answers a request. Several threads call it at the same time.
  void (*answer)(void* context, const StrataHttpAsk* ask, void* out, StrataHttpReply reply);
};

struct StrataHttpTable {
  int32_t abi_version;
  // Listens on 127.0.0.1 and, if the system has IPv6 and the port is free there, on ::1. Null if that fails.
  StrataHttpServer* (*start)(const StrataHttpOptions* options);
  int32_t (*port)(const StrataHttpServer* server);
  void (*stop)(StrataHttpServer* server);  // after it returns, no request is answered
};

using StrataHttpEntry = const StrataHttpTable* (*)();
#define STRATA_HTTP_ENTRY "strata_http_table"

}  // extern "C"
