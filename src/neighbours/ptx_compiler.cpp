// libnvidia-ptxjitcompiler.so.1: programs and container tools look whether it is there. What it exports to the driver
// that it belongs to is documented nowhere, and ours compiles PTX by itself; so it exports nothing.
