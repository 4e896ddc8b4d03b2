// There is one process and one thread: fork() never happens.
#pragma once

inline int pthread_atfork(void (*)(), void (*)(), void (*)()) { return 0; }
