"""gdb commands for kernels that Verdigris has compiled (verdigris run --debug): see docs/debugging.md.

gdb loads this file with libcuda.so.1 where its auto-load safe-path allows it; else: source PATH/libcuda.so.1-gdb.py
"""

import gdb
import gdb.unwinder

# Offsets of src/ptx/abi/kernel_abi.h and src/backend/cpu/code/debugger.h, which hold them to it.
ENTRIES, ENTRY_BYTES = 1024, 24
BLOCK_INDEX, BLOCKS, WARP = 8, 68, 72
GRID, THREADS, BLOCK_SIZE = 16, 40, 28
# A block's owner is a ResidentBlock, whose second word is a HostStack, whose second word is where the thread left its
# own stack for the kernel's: src/backend/cpu/run. What lies there is pushed by vgFibreSwitch (fibre.cpp).
OWNER = 48
SAVED = ("r15", "r14", "r13", "r12", "rbp", "rbx", "rip")


def number(address, size=4):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, size).tobytes(), "little")


def three(address):
    return tuple(number(address + 4 * axis) for axis in range(3))


def entries():
    """{thread number of the system: (address of its block, name of its kernel)}"""
    try:
        table = int(gdb.parse_and_eval("(unsigned long)&verdigris_debug_threads"))
    except gdb.error:
        return {}
    memory = gdb.selected_inferior().read_memory(table, ENTRIES * ENTRY_BYTES).tobytes()
    found = {}
    for at in range(0, len(memory), ENTRY_BYTES):
        thread, block, name = (int.from_bytes(memory[at + 8 * n:at + 8 * n + 8], "little") for n in range(3))
        if thread and block:
            found[thread] = block, name
    return found


def is_kernel(frame):
    """Whether a frame is of code that a program made: gdb names such object files after their address."""
    symtab = frame.find_sal().symtab
    return symtab is not None and symtab.objfile.filename.startswith(("<in-memory@", "<< JIT"))


def kernel_frame(frame):
    while frame is not None and not is_kernel(frame):
        frame = frame.older()
    return frame


def place(frame):
    line = frame.find_sal()
    return f"{line.symtab.filename}:{line.line}" if line.symtab and line.line else "no line known"


def listed(numbers):
    return "(" + ",".join(map(str, numbers)) + ")"


def thread_at(index, size):
    return index % size[0], index // size[0] % size[1], index // size[0] // size[1]


def describe(block):
    """Block, warp and threads of a BlockState."""
    launch = number(block, 8)
    index, blocks, warp = three(block + BLOCK_INDEX), number(block + BLOCKS), number(block + WARP)
    size, threads = three(launch + BLOCK_SIZE), number(launch + THREADS)
    first, last = min(32 * warp, threads - 1), min(32 * warp + 31, threads - 1)
    where = f"block {listed(index)}"
    if blocks > 1:
        where += f" or one of the {blocks - 1} behind it"
    return (f"{where} of {listed(three(launch + GRID))}, warp {warp}, threads {listed(thread_at(first, size))} to "
            f"{listed(thread_at(last, size))}")


class Verdigris(gdb.Command):
    """Kernels of emulated devices: verdigris blocks."""

    def __init__(self):
        super().__init__("verdigris", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


class Blocks(gdb.Command):
    """Lists the blocks and warps that threads run at this moment, and where they stand."""

    def __init__(self):
        super().__init__("verdigris blocks", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        known, chosen = entries(), gdb.selected_thread()
        count = 0
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
            block, name = known.get(thread.ptid[1], (0, 0))
            if not block:
                continue
            thread.switch()
            frame = kernel_frame(gdb.newest_frame())
            where = place(frame) if frame else "between instructions of its kernel"
            kernel = frame.name() if frame else gdb.Value(name).cast(gdb.lookup_type("char").pointer()).string()
            gdb.write(f"{'*' if thread == chosen else ' '} thread {thread.num}: {kernel} at {where}, {describe(block)}\n")
            count += 1
        if chosen:
            chosen.switch()
        if not count:
            gdb.write("No thread runs a kernel. Start the program with `verdigris run --debug`.\n")


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class HostStack(gdb.unwinder.Unwinder):
    """Leads from the first function on a kernel's stack to the thread's own, where the kernel was begun.

    For this gdb has to know functions of the library: libcuda.so.1 with its symbols, or those of the package dbgsym.
    """

    def __init__(self):
        super().__init__("verdigris")

    def __call__(self, frame):
        try:
            return self.unwound(frame) if self.begins_stack(int(frame.read_register("rip"))) else None
        except (gdb.error, OverflowError):
            return None

    @staticmethod
    def begins_stack(pc):
        return "vg::backend::cpu::ResidentBlock::fibreMain(void*)" in gdb.execute(f"info symbol {pc:#x}", False, True)

    @staticmethod
    def unwound(frame):
        block, _ = entries()[gdb.selected_thread().ptid[1]]
        thread = number(number(block + OWNER, 8) + 8, 8)
        stack = number(thread + 8, 8)
        registers = {name: number(stack + 8 * n, 8) for n, name in enumerate(SAVED)}
        registers["rsp"] = stack + 8 * len(SAVED)
        info = frame.create_unwind_info(FrameId(frame.read_register("rsp"), frame.read_register("rip")))
        for name, value in registers.items():
            info.add_saved_register(name, gdb.Value(value).cast(gdb.lookup_type("long")))
        return info


Verdigris()
Blocks()
gdb.unwinder.register_unwinder(None, HostStack(), True)
# What the library interrupts its own threads with.
gdb.execute("handle SIGURG nostop noprint pass", False, True)
