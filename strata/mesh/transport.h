// The C interface of a transport: a table of functions by which the ranks of a mesh move bytes. The MPI plugin
// (mpi_plugin/mpi_transport.c) has one, and so has the memory of one process (memory_transport.h). No function throws,
// and only abort() may end the process. C11 and C++.
//
// A World (world.h) stands on a table. Each collective action on a mesh is a *step*. All ranks count their steps; what
// a rank sends in a step has the step's number in its tag, so that step n of one rank meets step n of another.
//
//   1. Agreement. Each rank makes a hash of 128 bits of what it is about to do: the text of the step, its number, the
//      version of Strata, the flags that change results. In round k, rank r sends its hash to rank r + 2^k, and whether
//      all hashes that it has heard of are its own; and it receives the same from rank r - 2^k (both modulo the number
//      of ranks, 2^k below it). After the last round each rank has heard of all, so all ranks know the same: that they
//      agree, or that they do not.
//   2. Where they do not, each rank sends the words of its step and its place in the user's program to rank 0, which
//      sends one text to all. All ranks throw it, and may go on with the next step.
//   3. Where they do, bytes move. A rank has posted its receives by then; it packs and sends, unpacks what comes as it
//      comes, and at the end copies what is its own. It sends no byte of the user before all ranks have agreed.
//
// Faults. A rank that waits asks from time to time for *notes*, which other ranks send at any time:
//   - *here*: "I wait in step n". Sent to all when half of MESH_TIMEOUT has passed, or when another rank's comes while
//     this rank waits. So after MESH_TIMEOUT a rank knows which ranks say nothing: it names those, and aborts all. Of
//     several ranks that could, the least speaks; the others wait another second for it.
//   - *failed*: a rank was interrupted, or dropped an exchange that was under way. All that wait throw its text.
// A rank that is killed is seen by the launcher, else by the deadline. A rank that leaves its program enters a step,
// too, the *goodbye*: other ranks that are in another step learn so by the agreement. Nobody enters MPI_Finalize before
// all have agreed to say goodbye, and a rank that has failed aborts instead of it.
#pragma once

#ifdef __cplusplus
#include <cstdint>
#else
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { STRATA_MESH_ABI = 1 };
// The size of the buffers of type char* into which calls write, among them why they failed.
enum { STRATA_MESH_TEXT = 1024 };

enum StrataMeshStatus {
  STRATA_MESH_OK = 0,
  STRATA_MESH_FAILED = 1  // the text says why
};

struct StrataMeshWorld;    // a rank's connection to the others
struct StrataMeshRequest;  // a message under way

// What connect() made.
struct StrataMeshPlace {
  int32_t rank, size;
};

struct StrataMeshTable {
  int32_t abi_version;

  // The library's name and version in one line. It may be asked before connect().
  void (*version)(char* text);

  // Connects to the ranks of a communicator, by its Fortran handle; NULL: all ranks that were started together. Starts
  // the library if nobody has. Messages of the connection meet no others. `ending(context)` is called when somebody
  // else ends the library while the connection is open, before it is too late to send. Collective.
  int32_t (*connect)(const int32_t* communicator, void (*ending)(void* context), void* context,
                     struct StrataMeshWorld** world, struct StrataMeshPlace* place, char* text);
  // For each rank, the least rank on the same host: `hosts` has place for all. Collective.
  int32_t (*hosts)(struct StrataMeshWorld* world, int32_t* hosts, char* text);

  // Begins to send, or to receive, any number of bytes; the memory belongs to the request until test() says that it is
  // done. Messages with one tag between two ranks arrive in order. 0 <= tag < 32768.
  int32_t (*send)(struct StrataMeshWorld* world, int32_t to, int32_t tag, const void* data, uint64_t bytes,
                  struct StrataMeshRequest** request, char* text);
  int32_t (*receive)(struct StrataMeshWorld* world, int32_t from, int32_t tag, void* data, uint64_t bytes,
                     struct StrataMeshRequest** request, char* text);
  // Makes progress. *done: whether the request is done, which frees it. It fails, and frees it, where a message has
  // another number of bytes than the receive.
  int32_t (*test)(struct StrataMeshWorld* world, struct StrataMeshRequest* request, int32_t* done, char* text);
  // Asks that a request end soon, which test() still has to say. Receives that met no message do; others may not.
  void (*cancel)(struct StrataMeshWorld* world, struct StrataMeshRequest* request);
  // Whether a message with this tag, which no receive has met, is there, from whom, and how many bytes it has.
  int32_t (*probe)(struct StrataMeshWorld* world, int32_t tag, int32_t* found, int32_t* from, uint64_t* bytes,
                   char* text);

  // Ends all ranks. Between processes it prints the text, unless that is empty, and does not return. Between ranks in
  // one process, each later call of any rank fails with the text.
  void (*abort)(struct StrataMeshWorld* world, int32_t code, const char* text);
  // Disconnects; ends the library if connect() started it. Collective.
  void (*disconnect)(struct StrataMeshWorld* world);
};

// The symbol that a plugin exports: a function that returns the table.
#define STRATA_MESH_ENTRY "strata_mesh_table"

#ifdef __cplusplus
}
#endif
