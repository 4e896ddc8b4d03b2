// The C functions of libstrata_http.so: HTTP by cpp-httplib, in a shared object of its own that is opened where it is needed, as
// the library brings OpenSSL and Brotli along: linked, they would double the time in which the program starts.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum { STRATA_HTTP_ABI = 1 };

struct StrataHttpText {
  const char* data;
  size_t size;
};

// A request, as far as answers depend on it.
struct StrataHttpAsk {
  StrataHttpText method, path;
  StrataHttpText host;  // the header of this name; empty where there is none, or more than one
  StrataHttpText site;  // the header Sec-Fetch-Site
  StrataHttpText from;  // the parameter of this name
};

struct StrataHttpHeader {
  StrataHttpText name, value;
};

// What an answer is handed to, once. It is copied.
using StrataHttpReply = void (*)(void* out, int32_t status, const StrataHttpHeader* headers,
                                 size_t count, StrataHttpText type, StrataHttpText body);

struct StrataHttpServer;

struct StrataHttpOptions {
  int32_t port;  // 0: one that is free
  void* context;
  // Answers a request; called by several threads at a time.
  void (*answer)(void* context, const StrataHttpAsk* ask, void* out, StrataHttpReply reply);
};

struct StrataHttpTable {
  int32_t abi_version;
  // Listens on 127.0.0.1 and, where the system has it and the port is free there, on ::1. Null, and nothing is left, where that
  // does not work.
  StrataHttpServer* (*start)(const StrataHttpOptions* options);
  int32_t (*port)(const StrataHttpServer* server);
  void (*stop)(StrataHttpServer* server);  // when it returns, nothing is answered any more
};

using StrataHttpEntry = const StrataHttpTable* (*)();
#define STRATA_HTTP_ENTRY "strata_http_table"

}  // extern "C"
