/* Stands for the libcuda.so.1 of somebody else. */
int cuInit(unsigned flags);
int cuInit(unsigned flags) { return flags ? 1 : 100; }
