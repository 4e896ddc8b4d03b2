// What bench_mesh compares with: MPI's collectives, and a transposing exchange written by hand. Compiled by mpicc into
// a shared object; MPI has been started by then.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void peer_all_gather(const void* mine, void* all, int bytes) {
  MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

EXPORT void peer_all_to_all(const void* mine, void* result, int bytes) {
  MPI_Alltoall(mine, bytes, MPI_BYTE, result, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

// A matrix of size*size floats, by rows: from blocks of rows to blocks of columns, on two or more ranks.
EXPORT void peer_turn(const float* mine, float* result, float* packed, int size) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t rows = (size_t)size / (size_t)ranks, part = rows * rows;
  MPI_Request* requests = malloc(2 * (size_t)ranks * sizeof(MPI_Request));
  int count = 0;
  for (int r = 0; r < ranks; ++r)
    if (r != rank)
      MPI_Irecv(result + (size_t)r * part, (int)(part * sizeof(float)), MPI_BYTE, r, 7, MPI_COMM_WORLD,
                &requests[count++]);
  for (int r = 0; r < ranks; ++r) {
    float* to = r == rank ? result + (size_t)r * part : packed + (size_t)r * part;
    for (size_t i = 0; i < rows; ++i)
      memcpy(to + i * rows, mine + i * (size_t)size + (size_t)r * rows, rows * sizeof(float));
    if (r != rank)
      MPI_Isend(to, (int)(part * sizeof(float)), MPI_BYTE, r, 7, MPI_COMM_WORLD, &requests[count++]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

EXPORT void peer_barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

// The largest of the ranks' values.
EXPORT double peer_largest(double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}
