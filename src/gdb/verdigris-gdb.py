"""gdb commands for kernels that Verdigris has compiled (verdigris run --debug): see docs/debugging.md.

gdb loads this file with libcuda.so.1 where its auto-load safe-path allows it; else: source PATH/libcuda.so.1-gdb.py
"""

import bisect
import json
import re
import struct

import gdb
import gdb.unwinder

# Offsets of src/ptx/abi/kernel_abi.h and src/backend/cpu/debug/debugger.h, which hold them to it.
ENTRIES, ENTRY_BYTES = 1024, 24
BLOCK_INDEX, SHARED, SHARED_OFFSET, BLOCKS, WARP, KEPT = 8, 24, 44, 68, 72, 104
PARAMETERS, GLOBALS, GRID, BLOCK_SIZE, THREADS = 0, 8, 16, 28, 40
# Of src/ptx/facts/kept_registers.h: what a warp's memory begins with.
LINES, LANES, ENDED = 0, 128, 0xffffffff
NOTED = 1 << 30  # of src/ptx/abi/kernel_blob.h
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


def bytes_at(address, size):
    return gdb.selected_inferior().read_memory(address, size).tobytes()


class Section:
    """Data of the PTX: bytes, and by their offset the symbols that stand in their place."""

    def __init__(self):
        self.data, self.symbols = bytearray(), {}

    def add(self, width, value):
        try:
            number_, symbol = int(value, 0), None
        except ValueError:
            symbol, _, more = value.partition("+")
            number_ = int(more or "0", 0)
        if symbol:
            self.symbols[len(self.data)] = symbol, number_
        self.data += (number_ & (1 << 8 * width) - 1).to_bytes(width, "little")


class Text:
    """PTX: its lines, labels by their lines, places in the source, and what nvcc -G says of variables."""

    known = {}

    @classmethod
    def at(cls, address, size):
        if (address, size) not in cls.known:
            cls.known[address, size] = cls(bytes_at(address, size).decode(errors="replace"))
        return cls.known[address, size]

    def __init__(self, text):
        self.lines = text.splitlines()
        self.labels, self.files, self.places, self.sections = {}, {}, [], {}
        section = None
        for count, line in enumerate(self.lines, 1):
            line = line.strip()
            if section is not None:
                section = self.in_section(section, line)
            elif found := re.match(r"\.section\s+(\S+)", line):
                section = self.sections.setdefault(found[1], Section())
            elif found := re.match(r"([$%\w]+):", line):
                self.labels[found[1]] = count
            elif found := re.match(r"\.loc\s+(\d+)\s+(\d+)", line):
                self.places.append((count, int(found[1]), int(found[2])))
            elif found := re.match(r'\.file\s+(\d+)\s+"(.*?)"', line):
                self.files[int(found[1])] = found[2]

    @staticmethod
    def in_section(section, line):
        if found := re.match(r"\.b(8|16|32|64)\s+(.*)", line):
            for value in found[2].split(","):
                section.add(int(found[1]) // 8, value.strip())
        return None if line.endswith("}") else section

    def has(self, function):
        at = function["first"]
        return any(function["name"] in line for line in self.lines[max(at - 2, 0):at + 2])

    def source(self, function, line):
        """The place in the source of a line of the function, or None."""
        last = bisect.bisect(self.places, (line, 1 << 30, 0)) - 1
        if last < 0 or self.places[last][0] < function["first"]:
            return None
        _, file, at = self.places[last]
        return f"{self.files.get(file, '?')}:{at}"


class Entry:
    def __init__(self, tag, offset):
        self.tag, self.offset, self.values, self.children = tag, offset, {}, []


NAME, BYTES, LOW, HIGH, BOUND, COUNT, VALUE = 0x03, 0x0b, 0x11, 0x12, 0x2f, 0x37, 0x1c
LOCATION, MEMBER, ENCODING, TYPE = 0x02, 0x38, 0x3e, 0x49
FIXED = {0x0b: 1, 0x0c: 1, 0x0d: 0, 0x05: 2, 0x06: 4, 0x07: 8, 0x01: 8, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x17: 4,
         0x10: 4, 0x0e: 4}
COUNTED = {0x0a: 1, 0x03: 2, 0x04: 4}


class Described:
    """The DWARF in a text (section 7 of the standard), whose addresses are names of the PTX."""

    @classmethod
    def of(cls, text):
        if not hasattr(text, "described"):
            text.described = cls(text)
        return text.described

    def __init__(self, text):
        self.text, self.entries, self.units = text, {}, []
        info, forms = text.sections.get(".debug_info"), text.sections.get(".debug_abbrev")
        self.info, self.at = info, 0
        if not info or not forms:
            return
        while self.at + 11 <= len(info.data):
            begin = self.at
            length, version = struct.unpack_from("<IH", info.data, begin)
            if not 2 <= version <= 4:
                break
            first = info.symbols.get(begin + 6, (None, 0))[1]
            self.forms = self.read_forms(forms.data, first)
            self.unit, self.at = begin, begin + 11
            self.units += self.read_entries(min(begin + 4 + length, len(info.data)))
            self.at = begin + 4 + length

    @staticmethod
    def leb(data, at, signed=False):
        value = shift = 0
        while True:
            byte = data[at]
            value |= (byte & 0x7f) << shift
            at, shift = at + 1, shift + 7
            if not byte & 0x80:
                return (value - (1 << shift) if signed and byte & 0x40 else value), at

    def read_forms(self, data, at):
        forms = {}
        while at < len(data) and data[at]:
            code, at = self.leb(data, at)
            tag, at = self.leb(data, at)
            children, at, pairs = data[at], at + 1, []
            while True:
                name, at = self.leb(data, at)
                form, at = self.leb(data, at)
                if not name and not form:
                    break
                pairs.append((name, form))
            forms[code] = tag, children, pairs
        return forms

    def read_entries(self, end):
        found = []
        while self.at < end:
            entry_at = self.at
            code, self.at = self.leb(self.info.data, self.at)
            if code not in self.forms:
                break
            tag, children, pairs = self.forms[code]
            entry = Entry(tag, entry_at)
            for name, form in pairs:
                entry.values[name] = self.read_value(form)
            self.entries[entry_at] = entry
            if children:
                entry.children = self.read_entries(end)
            found.append(entry)
        return found

    def read_value(self, form):
        """A number, a text, a symbol with what is added to it, or a block: where it lies and its size."""
        data, at = self.info.data, self.at
        if form == 0x08:
            end = data.index(0, at)
            self.at = end + 1
            return data[at:end].decode(errors="replace")
        if form in (0x0f, 0x15):
            value, self.at = self.leb(data, at)
            return value + self.unit if form == 0x15 else value
        if form == 0x19:
            return 1
        if form in COUNTED or form in (0x09, 0x18):
            if form in COUNTED:
                size, at = int.from_bytes(data[at:at + COUNTED[form]], "little"), at + COUNTED[form]
            else:
                size, at = self.leb(data, at)
            self.at = at + size
            return "block", at, size
        if form == 0x0d:
            value, self.at = self.leb(data, at, True)
            return value
        size = FIXED[form]
        self.at = at + size
        if at in self.info.symbols:
            symbol, more = self.info.symbols[at]
            if form == 0x0e:
                strings = self.text.sections[".debug_str"].data
                return strings[more:strings.index(0, more)].decode(errors="replace")
            return more if symbol.startswith(".debug_info") else ("symbol", symbol, more)
        value = int.from_bytes(data[at:at + size], "little")
        return value + self.unit if 0x11 <= form <= 0x14 else value

    def line(self, value):
        return self.text.labels.get(value[1]) if isinstance(value, tuple) and value[0] == "symbol" else None

    def covers(self, entry, line):
        low, high = (self.line(entry.values.get(name)) for name in (LOW, HIGH))
        return low is not None and high is not None and low <= line <= high

    def variables(self, line):
        """Those of the scopes that the line is in, the innermost last."""
        found = []

        def look(entries):
            for entry in entries:
                if entry.tag in (0x34, 0x05) and NAME in entry.values:
                    found.append(entry)
                elif entry.tag in (0x2e, 0x0b) and self.covers(entry, line):
                    look(entry.children)
        for unit in self.units:
            look([entry for entry in unit.children if entry.tag == 0x2e])
        return found

    def location(self, variable, line):
        """("register", name), ("symbol", name, offset), or None: it is nowhere at this line."""
        where = variable.values.get(LOCATION)
        if not isinstance(where, tuple):
            return self.listed_location(where, line) if isinstance(where, int) else None
        if where[0] == "symbol":
            return self.listed_location(where[2], line)
        return self.meaning(self.info, where[1], where[2])

    def listed_location(self, at, line):
        section = self.text.sections.get(".debug_loc")
        while section and at + 16 <= len(section.data):
            ends = [self.text.labels.get(section.symbols[at + 8 * n][0]) if at + 8 * n in section.symbols else None
                    for n in range(2)]
            if ends[0] is None and ends[1] is None and not any(section.data[at:at + 16]):
                return None
            size = int.from_bytes(section.data[at + 16:at + 18], "little")
            if ends[0] is not None and ends[1] is not None and ends[0] < line <= ends[1]:
                return self.meaning(section, at + 18, size)
            at += 18 + size
        return None

    def meaning(self, section, at, size):
        data, end, found = section.data, at + size, None
        while at < end:
            code, at = data[at], at + 1
            if code == 0x90 and not found:  # a register: the number is its name
                value, at = self.leb(data, at)
                name = value.to_bytes((value.bit_length() + 7) // 8, "big").decode(errors="replace")
                found = "register", name
            elif code == 0x03 and not found and at in section.symbols:
                found = "symbol", *section.symbols[at]
                at += 8
            elif code == 0x23 and found and found[0] == "symbol":
                more, at = self.leb(data, at)
                found = "symbol", found[1], found[2] + more
            else:
                return None
        return found

    def type_of(self, entry):
        return self.entries.get(entry.values.get(TYPE))

    def plain(self, kind):
        while kind and kind.tag in (0x26, 0x35, 0x16, 0x37):
            kind = self.type_of(kind)
        return kind

    def size(self, kind):
        kind = self.plain(kind)
        if not kind:
            return 0
        if kind.tag == 0x01:
            total = self.size(self.type_of(kind))
            for part in kind.children:
                total *= self.elements(part)
            return total
        return kind.values.get(BYTES, 8 if kind.tag in (0x0f, 0x10, 0x42) else 0)

    @staticmethod
    def elements(part):
        return part.values.get(COUNT, part.values.get(BOUND, -1) + 1)

    def shown(self, kind, data):
        """A value as C++ would write it."""
        kind = self.plain(kind)
        if not kind or len(data) < self.size(kind):
            return "?"
        if kind.tag == 0x24:
            return basic(kind.values.get(ENCODING), data[:kind.values.get(BYTES, 4)])
        if kind.tag in (0x0f, 0x10, 0x42):
            return f"{int.from_bytes(data[:8], 'little'):#x}"
        if kind.tag == 0x04:
            value = int.from_bytes(data[:kind.values.get(BYTES, 4)], "little")
            names = [e.values.get(NAME) for e in kind.children if e.values.get(VALUE) == value]
            return names[0] if names else str(value)
        if kind.tag == 0x01:
            return self.shown_array(kind, data, [self.elements(part) for part in kind.children])
        return "{" + ", ".join(f"{m.values.get(NAME, 'base')} = {self.member(m, data)}" for m in kind.children
                               if m.tag in (0x0d, 0x1c) and MEMBER in m.values) + "}"

    def member(self, member, data):
        at = member.values[MEMBER]
        if isinstance(at, tuple):
            at, _ = self.leb(self.info.data, at[1] + 1)
        return self.shown(self.type_of(member), data[at:])

    def shown_array(self, kind, data, counts, most=16):
        element = self.type_of(kind)
        size = self.size(element)
        for count in counts[1:]:
            size *= count
        parts = [self.shown_array(kind, data[n * size:], counts[1:]) if counts[1:] else
                 self.shown(element, data[n * size:]) for n in range(min(counts[0], most))]
        return "{" + ", ".join(parts) + (", ..." if counts[0] > most else "") + "}"


def basic(encoding, data):
    if encoding == 2:
        return "true" if any(data) else "false"
    if encoding == 4 and len(data) in (2, 4, 8):
        return f"{struct.unpack({2: '<e', 4: '<f', 8: '<d'}[len(data)], data)[0]:.9g}"
    value = int.from_bytes(data, "little", signed=encoding in (5, 6))
    return f"{value} {chr(value & 0xff)!r}" if encoding in (6, 8) and 32 <= value < 127 else str(value)


class Kernel:
    """What the library tells of a kernel: src/backend/cpu/debug/debug_facts.cpp."""

    def __init__(self, start, facts):
        self.start = start
        self.__dict__.update(facts)
        address, count = self.lines
        pairs = struct.unpack(f"<{2 * count}I", bytes_at(address, 8 * count)) if count else ()
        self.offsets, self.numbers = pairs[::2], pairs[1::2]

    @classmethod
    def at(cls, pc):
        try:
            entry = int(gdb.parse_and_eval("*(unsigned long*)&verdigris_debug_kernels"))
        except gdb.error:
            return None
        while entry:
            entry, start, size, facts = struct.unpack("<4Q", bytes_at(entry, 32))
            if start <= pc < start + size:
                kind = gdb.lookup_type("char").pointer()
                return cls(start, json.loads(gdb.Value(facts).cast(kind).string()))
        return None

    def line(self, pc):
        """Of the PTX."""
        last = bisect.bisect(self.offsets, pc - self.start) - 1
        return self.numbers[last] & ~NOTED if last >= 0 else 0

    def function(self, line):
        return next((f for f in self.functions if f["first"] <= line <= f["last"]), None)

    def text(self, function):
        return next((text for text in (Text.at(*each) for each in self.texts) if text.has(function)), None)

    def place(self, line):
        function = self.function(line)
        text = function and self.text(function)
        source = text and text.source(function, line)
        return f"{source} (PTX line {line})" if source else f"PTX line {line}"


class Lane:
    def __init__(self, kernel, block, number_, line):
        self.kernel, self.block, self.number, self.line = kernel, block, number_ % 32, line
        self.memory = number(block + KEPT, 8) + number_ // 32 * kernel.bytes
        self.launch = number(block, 8)
        self.function = kernel.function(line)

    def register(self, described):
        """Its bytes."""
        _, offset, bits, kind = described
        if kind == "p":
            return bytes([number(self.memory + offset) >> self.number & 1])
        size = max(bits // 8, 1)
        return bytes_at(self.memory + offset + size * self.number, size)

    def named(self, name):
        found = [r for r in self.function["registers"] if r[0].lstrip("%") == name.lstrip("%")]
        return self.register(found[0]) if found else None

    def address(self, symbol):
        kernel = self.kernel
        if symbol in kernel.parameters:
            return number(self.launch + PARAMETERS, 8) + kernel.parameters[symbol]
        if symbol in kernel.shared:
            return number(self.block + SHARED, 8) + number(self.block + SHARED_OFFSET) + kernel.shared[symbol]
        if symbol in kernel.globals:
            return number(number(self.launch + GLOBALS, 8) + 8 * kernel.globals[symbol], 8)
        if symbol.startswith("__local_depot"):
            base = self.named("%SPL")
            return int.from_bytes(base, "little") if base else None
        return None

    def variable(self, described, variable):
        where, kind = described.location(variable, self.line), described.type_of(variable)
        if where and where[0] == "register":
            data = self.named(where[1])
        else:
            address = where and self.address(where[1])
            data = address and bytes_at(address + where[2], described.size(kind))
        return described.shown(kind, data) if data else "not known here"

    def tell(self):
        text = self.kernel.text(self.function)
        described = text and Described.of(text)
        variables = {v.values[NAME]: v for v in described.variables(self.line)} if described else {}
        for name, variable in variables.items():
            gdb.write(f"  {name} = {self.variable(described, variable)}\n")
        for register in self.function["registers"]:
            data = self.register(register)
            value = int.from_bytes(data, "little")
            if register[3] == "p":
                shown = str(value)
            elif register[3] == "f":
                shown = basic(4, data)
            else:
                shown = f"{value:#x}" + (f"  {basic(5, data)}" if len(data) <= 8 else "")
            gdb.write(f"  {register[0]} = {shown}\n")


class Standing:
    """The block that a thread of the program runs, and the kernel's code in it."""

    def __init__(self):
        thread = gdb.selected_thread()
        self.block, _ = entries().get(thread.ptid[1], (0, 0)) if thread else (0, 0)
        frame = kernel_frame(gdb.newest_frame()) if self.block else None
        if not frame:
            raise gdb.GdbError("This thread runs no kernel; `verdigris blocks` lists those that do.")
        self.kernel = Kernel.at(frame.pc())
        if not self.kernel or not self.kernel.bytes or not number(self.block + KEPT, 8):
            raise gdb.GdbError("Registers of this kernel are not kept: it has too many.")
        launch = number(self.block, 8)
        self.size, self.threads = three(launch + BLOCK_SIZE), number(launch + THREADS)
        self.warp, self.here = number(self.block + WARP), self.kernel.line(frame.pc())

    def line(self, thread):
        """Of the PTX, that a thread of the block stands at; 0: it has not begun."""
        warp, lane = thread // 32, thread % 32
        memory = number(self.block + KEPT, 8) + warp * self.kernel.bytes
        if warp == self.warp and number(memory + LANES) >> lane & 1:
            return self.here
        return number(memory + LINES + 4 * lane)

    def first(self):
        return next((n for n in range(32 * self.warp, min(32 * self.warp + 32, self.threads))
                     if self.line(n) == self.here), 32 * self.warp)


def ranges(numbers):
    """1,2,3,7 as 1-3,7."""
    text, first = [], numbers[0]
    for n, after in zip(numbers, numbers[1:] + [None]):
        if after != n + 1:
            text.append(str(n) if n == first else f"{first}-{n}")
            first = after
    return ",".join(text)


class Lanes(gdb.Command):
    """Lists the threads of the block that the present thread runs by where they stand."""

    def __init__(self):
        super().__init__("verdigris lanes", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        standing = Standing()
        groups = {}
        for n in range(standing.threads):
            groups.setdefault((n // 32, standing.line(n)), []).append(n)
        for (warp, line), threads in groups.items():
            where = {0: "not begun", ENDED: "ended"}.get(line) or standing.kernel.place(line)
            first = listed(thread_at(threads[0], standing.size))
            gdb.write(f"warp {warp}, lanes {ranges([n % 32 for n in threads])}, from thread {first} on: {where}\n")


class LaneCommand(gdb.Command):
    """Shows a thread of the block that the present thread runs: where it stands, its variables and registers.

    verdigris lane [X[,Y[,Z]]]    the thread's index; none: the first one at the present place

    Variables of the source are those that `nvcc -G` describes."""

    def __init__(self):
        super().__init__("verdigris lane", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        standing = Standing()
        thread = self.wanted(argument, standing) if argument.strip() else standing.first()
        line = standing.line(thread)
        index = listed(thread_at(thread, standing.size))
        block = listed(three(standing.block + BLOCK_INDEX))
        if line in (0, ENDED) or not standing.kernel.function(line):
            gdb.write(f"thread {index} of block {block} has {'ended' if line == ENDED else 'not begun'}\n")
            return
        gdb.write(f"thread {index} of block {block}, warp {thread // 32}, at {standing.kernel.place(line)}\n")
        Lane(standing.kernel, standing.block, thread, line).tell()

    @staticmethod
    def wanted(argument, standing):
        try:
            index = [int(part) for part in argument.strip(" ()").split(",")]
        except ValueError:
            raise gdb.GdbError("An index of a thread is expected, such as 5 or 5,0,1.") from None
        index += [0] * (3 - len(index))
        if len(index) != 3 or not all(0 <= n < size for n, size in zip(index, standing.size)):
            raise gdb.GdbError(f"Blocks are of {listed(standing.size)} threads.")
        return index[0] + standing.size[0] * (index[1] + standing.size[1] * index[2])


class Verdigris(gdb.Command):
    """Kernels of emulated devices: verdigris blocks, verdigris lanes, verdigris lane."""

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
Lanes()
LaneCommand()
gdb.unwinder.register_unwinder(None, HostStack(), True)
# What the library interrupts its own threads with.
gdb.execute("handle SIGURG nostop noprint pass", False, True)
