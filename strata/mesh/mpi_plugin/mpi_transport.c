// The transport over MPI (transport.h). It is compiled by any MPI's mpicc, into libstrata_mpi.so:
//   mpicc -std=c11 -O2 -shared -fPIC -I PREFIX/include mpi_transport.c -o libstrata_mpi.so
#define _POSIX_C_SOURCE 200809L

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strata/mesh/transport.h"

// Longer messages are sent as several, because MPI counts in int.
#define CHUNK ((uint64_t)1 << 30)
// How long MPI_Abort may take, in seconds, before the process ends without it.
#define TO_ABORT 3

struct StrataMeshWorld {
  MPI_Comm communicator;  // a duplicate: its messages meet no others
  int is_starter;         // whether connect() started MPI
  int keyval;             // of the attribute by which MPI tells that it ends
  int is_in_finalize;
  void (*ending)(void* context);
  void* context;
};

struct StrataMeshRequest {
  int is_receive, is_cancelled;
  size_t done, count;  // chunks
  uint64_t last;       // bytes of the last chunk; the others have CHUNK
  MPI_Request chunks[];
};

static void say(char* text, const char* words) { snprintf(text, STRATA_MESH_TEXT, "%s", words); }

static int32_t failed(char* text, const char* what, int error) {
  char why[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, why, &length);
  snprintf(text, STRATA_MESH_TEXT, "[mesh] %s: %s", what, why);
  return STRATA_MESH_FAILED;
}

static void version(char* text) {
  char all[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(all, &length);
  all[strcspn(all, "\r\n")] = '\0';
  say(text, all);
}

// --- connecting ---

// MPI calls it first when it ends, because it deletes the attributes of MPI_COMM_SELF.
static int on_finalize(MPI_Comm self, int keyval, void* attribute, void* extra) {
  struct StrataMeshWorld* world = attribute;
  (void)self, (void)keyval, (void)extra;
  if (world->ending == NULL) return MPI_SUCCESS;
  world->is_in_finalize = 1;
  world->ending(world->context);
  return MPI_SUCCESS;
}

static int32_t start(struct StrataMeshWorld* world, char* text) {
  int is_started = 0, is_ended = 0, level = MPI_THREAD_SINGLE, is_main = 1;
  MPI_Finalized(&is_ended);
  if (is_ended) return say(text, "[mesh] MPI has been ended already, and cannot start again"), STRATA_MESH_FAILED;
  MPI_Initialized(&is_started);
  if (!is_started) {
    const int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (error != MPI_SUCCESS) return failed(text, "MPI does not start", error);
    world->is_starter = 1;
    return STRATA_MESH_OK;
  }
  MPI_Query_thread(&level);
  MPI_Is_thread_main(&is_main);
  if (level < MPI_THREAD_SERIALIZED && !is_main)
    return say(text, "[mesh] MPI was started for one thread (MPI_THREAD_FUNNELED or less), which is not this one"),
           STRATA_MESH_FAILED;
  return STRATA_MESH_OK;
}

static int32_t open_communicator(const int32_t* communicator, struct StrataMeshWorld* world,
                                 struct StrataMeshPlace* place, char* text) {
  const MPI_Comm whole = communicator == NULL ? MPI_COMM_WORLD : MPI_Comm_f2c((MPI_Fint)*communicator);
  if (whole == MPI_COMM_NULL) return say(text, "[mesh] the communicator is MPI_COMM_NULL"), STRATA_MESH_FAILED;
  int error = MPI_Comm_dup(whole, &world->communicator);
  if (error != MPI_SUCCESS) return failed(text, "the communicator cannot be duplicated", error);
  MPI_Comm_set_errhandler(world->communicator, MPI_ERRORS_RETURN);
  int rank = 0, size = 0;
  MPI_Comm_rank(world->communicator, &rank);
  MPI_Comm_size(world->communicator, &size);
  place->rank = rank, place->size = size;
  error = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &world->keyval, NULL);
  if (error == MPI_SUCCESS) error = MPI_Comm_set_attr(MPI_COMM_SELF, world->keyval, world);
  return error == MPI_SUCCESS ? STRATA_MESH_OK : failed(text, "MPI does not tell when it ends", error);
}

static int32_t connect_ranks(const int32_t* communicator, void (*ending)(void*), void* context,
                             struct StrataMeshWorld** world, struct StrataMeshPlace* place, char* text) {
  struct StrataMeshWorld* made = calloc(1, sizeof(*made));
  if (made == NULL) return say(text, "[mesh] out of memory"), STRATA_MESH_FAILED;
  made->ending = ending;
  made->context = context;
  if (start(made, text) != STRATA_MESH_OK || open_communicator(communicator, made, place, text) != STRATA_MESH_OK) {
    free(made);
    return STRATA_MESH_FAILED;
  }
  *world = made;
  return STRATA_MESH_OK;
}

static int32_t hosts(struct StrataMeshWorld* world, int32_t* out, char* text) {
  MPI_Comm host = MPI_COMM_NULL;
  int rank = 0, least = 0;
  MPI_Comm_rank(world->communicator, &rank);
  int error = MPI_Comm_split_type(world->communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  if (error == MPI_SUCCESS) error = MPI_Allreduce(&rank, &least, 1, MPI_INT, MPI_MIN, host);
  const int32_t mine = least;
  if (error == MPI_SUCCESS) error = MPI_Allgather(&mine, 1, MPI_INT32_T, out, 1, MPI_INT32_T, world->communicator);
  if (host != MPI_COMM_NULL) MPI_Comm_free(&host);
  return error == MPI_SUCCESS ? STRATA_MESH_OK : failed(text, "the ranks of a host do not find each other", error);
}

static void disconnect(struct StrataMeshWorld* world) {
  int is_ended = 0;
  MPI_Finalized(&is_ended);
  world->ending = NULL;
  if (is_ended) return;
  MPI_Comm_free(&world->communicator);
  if (world->is_starter) MPI_Finalize();
}

// --- messages ---

static uint64_t chunk_size(const struct StrataMeshRequest* request, size_t chunk) {
  return chunk + 1 < request->count ? CHUNK : request->last;
}

// Ends what is left of a request, which is of no use any more.
static void drop(struct StrataMeshRequest* request) {
  for (size_t n = request->done; n < request->count; ++n)
    if (request->chunks[n] != MPI_REQUEST_NULL) {
      if (request->is_receive) MPI_Cancel(&request->chunks[n]);
      MPI_Request_free(&request->chunks[n]);
    }
  free(request);
}

static int32_t post(struct StrataMeshWorld* world, int is_receive, int32_t peer, int32_t tag, char* data,
                    uint64_t bytes, struct StrataMeshRequest** out, char* text) {
  const size_t count = bytes == 0 ? 1 : (size_t)((bytes + CHUNK - 1) / CHUNK);
  struct StrataMeshRequest* request = malloc(sizeof(*request) + count * sizeof(MPI_Request));
  if (request == NULL) return say(text, "[mesh] out of memory"), STRATA_MESH_FAILED;
  request->is_receive = is_receive;
  request->is_cancelled = 0;
  request->done = 0;
  request->count = count;
  request->last = bytes - (count - 1) * CHUNK;
  for (size_t n = 0; n < count; ++n) {
    char* at = data + n * CHUNK;
    const int size = (int)chunk_size(request, n);
    const int error = is_receive
                          ? MPI_Irecv(at, size, MPI_BYTE, peer, tag, world->communicator, &request->chunks[n])
                          : MPI_Isend(at, size, MPI_BYTE, peer, tag, world->communicator, &request->chunks[n]);
    if (error == MPI_SUCCESS) continue;
    request->count = n;
    drop(request);
    return failed(text, is_receive ? "a message cannot be received" : "a message cannot be sent", error);
  }
  *out = request;
  return STRATA_MESH_OK;
}

static int32_t send_bytes(struct StrataMeshWorld* world, int32_t to, int32_t tag, const void* data, uint64_t bytes,
                          struct StrataMeshRequest** request, char* text) {
  return post(world, 0, to, tag, (char*)data, bytes, request, text);
}

static int32_t receive_bytes(struct StrataMeshWorld* world, int32_t from, int32_t tag, void* data, uint64_t bytes,
                             struct StrataMeshRequest** request, char* text) {
  return post(world, 1, from, tag, data, bytes, request, text);
}

static int32_t test(struct StrataMeshWorld* world, struct StrataMeshRequest* request, int32_t* done, char* text) {
  (void)world;
  *done = 0;
  for (; request->done < request->count; ++request->done) {
    int is_done = 0, size = 0;
    MPI_Status status;
    const int error = MPI_Test(&request->chunks[request->done], &is_done, &status);
    if (error != MPI_SUCCESS) {
      drop(request);
      return failed(text, "a message is lost", error);
    }
    if (!is_done) return STRATA_MESH_OK;
    if (!request->is_receive || request->is_cancelled) continue;
    MPI_Get_count(&status, MPI_BYTE, &size);
    const uint64_t expected = chunk_size(request, request->done);
    if ((uint64_t)size == expected) continue;
    snprintf(text, STRATA_MESH_TEXT, "[mesh] a message of %d bytes, where %llu were to come", size,
             (unsigned long long)expected);
    drop(request);
    return STRATA_MESH_FAILED;
  }
  free(request);
  *done = 1;
  return STRATA_MESH_OK;
}

static void cancel(struct StrataMeshWorld* world, struct StrataMeshRequest* request) {
  (void)world;
  if (!request->is_receive) return;  // MPI cannot take back what is sent
  request->is_cancelled = 1;
  for (size_t n = request->done; n < request->count; ++n)
    if (request->chunks[n] != MPI_REQUEST_NULL) MPI_Cancel(&request->chunks[n]);
}

static int32_t probe(struct StrataMeshWorld* world, int32_t tag, int32_t* found, int32_t* from, uint64_t* bytes,
                     char* text) {
  int is_there = 0, size = 0;
  MPI_Status status;
  const int error = MPI_Iprobe(MPI_ANY_SOURCE, tag, world->communicator, &is_there, &status);
  if (error != MPI_SUCCESS) return failed(text, "MPI does not say what has come", error);
  *found = is_there;
  if (!is_there) return STRATA_MESH_OK;
  MPI_Get_count(&status, MPI_BYTE, &size);
  *from = status.MPI_SOURCE;
  *bytes = (uint64_t)size;
  return STRATA_MESH_OK;
}

static void abort_ranks(struct StrataMeshWorld* world, int32_t code, const char* text) {
  int is_ended = 0;
  if (*text != '\0') fprintf(stderr, "%s\n", text);
  fflush(NULL);
  MPI_Finalized(&is_ended);
  if (!is_ended && !world->is_in_finalize) {  // inside of MPI_Finalize it may wait for ever
    signal(SIGALRM, SIG_DFL);
    alarm(TO_ABORT);
    MPI_Abort(MPI_COMM_WORLD, code);
  }
  _exit(code);
}

// The symbol that is sought (STRATA_MESH_ENTRY).
__attribute__((visibility("default"))) const struct StrataMeshTable* strata_mesh_table(void);
const struct StrataMeshTable* strata_mesh_table(void) {
  static const struct StrataMeshTable table = {
      STRATA_MESH_ABI, version, connect_ranks, hosts, send_bytes, receive_bytes,
      test,            cancel,  probe,         abort_ranks, disconnect};
  return &table;
}
