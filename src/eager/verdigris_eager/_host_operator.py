"""A call of an operator on CUDA tensors, carried out by a function of CPU tensors over the same memory."""

import re

import torch

from verdigris_eager import _memory, _random, _streams
from verdigris_eager._types import WIDER, wide

_NO_KIND = re.compile(r"not implemented for '?\"?(Half|BFloat16|ComplexHalf|Float8\w*)|[Hh]alf|[Bb][Ff]loat16")
_NO_KERNEL = re.compile(r"Could not run '|CPU.{0,40}not (supported|implemented)|not (supported|implemented).{0,40}CPU")

# Operators that take tensors of the CPU beside tensors of a device.
_TAKES_BOTH = {"copy_", "_copy_from", "_copy_from_and_resize", "index", "index_put", "index_put_", "_index_put_impl_",
               "_unsafe_index", "_unsafe_index_put", "_pack_padded_sequence", "set_", "_amp_update_scale_", "_ctc_loss",
               "_ctc_loss_backward", "_chunk_cat", "histogramdd", "isin", "bucketize", "searchsorted"}


class HostOperator:
    """What is registered for an operator. `function` takes CPU tensors; by default it is the operator itself."""

    def __init__(self, operator, function=None):
        schema = operator._schema
        self.name = schema.name.partition("::")[2]
        self._function = function or operator
        self._any_overload = None if function else operator.overloadpacket
        self._numbers_may_be = [each.name for each in schema.arguments if str(each.type) in ("Tensor", "Optional[Tensor]")]
        self._arguments = schema.arguments
        self._written = [each.name for each in schema.arguments if each.alias_info and each.alias_info.is_write]
        self._outs = [each.name for each in schema.arguments
                      if each.kwarg_only and each.name in self._written and "List" not in str(each.type)]
        self._aliases = [_argument_of(each, schema.arguments) for each in schema.returns]
        self._seeded = torch.Tag.nondeterministic_seeded in operator.tags
        self._generator = any(each.name == "generator" for each in schema.arguments)

    def __call__(self, *args, **kwargs):
        call = _Call(self)
        given = {each.name: value for each, value in zip(self._arguments, args)}
        given.update(kwargs)
        host = {name: call.on_host(value) for name, value in given.items()}
        index = call.index()
        if self._generator and self._seeded:
            host["generator"] = _random.on_host(given.get("generator"), index)
        _streams.wait_all(call.devices or {index}, self.name)
        result = self._run(call, given, host, index)
        for name in self._written:
            for target in _tensors(given.get(name)):
                _memory.tell_written(target)
        return self._give_back(result, given, index)

    def _run(self, call, given, host, index):
        for name in self._outs:
            if given.get(name) is not None and given[name].numel() == 0:
                return self._run_into_new(given, host, index)
        try:
            return self._call(host, index)
        except RuntimeError as error:
            if self._outs and "not resizable" in str(error):
                return self._run_into_new(given, host, index)
            if _NO_KIND.search(str(error)) and any(_is_narrow(each) for each in host.values()):
                return self._run_wide(given, host, index)
            if _NO_KERNEL.search(str(error)):
                raise RuntimeError(f"verdigris: {self.name} does not run on an emulated device: PyTorch has no CPU operator for it"
                                   ) from error
            raise

    def _call(self, host, index):
        args = [host[each.name] for each in self._arguments if not each.kwarg_only and each.name in host]
        kwargs = {each.name: host[each.name] for each in self._arguments if each.kwarg_only and each.name in host}
        function = self._function_for(host)
        if not self._seeded or self._generator:
            return function(*args, **kwargs)
        with _random.as_default(_random.on_host(None, index)):
            return function(*args, **kwargs)

    def _function_for(self, host):
        """Numbers of Python that the operator's own code has made tensors of arrive as numbers: another overload takes them."""
        if self._any_overload and any(isinstance(host.get(each), (bool, int, float, complex)) for each in self._numbers_may_be):
            return self._any_overload
        return self._function

    def _run_into_new(self, given, host, index):
        """Results of a size that is not known before: what was given for them gets its size afterwards."""
        new = {name: torch.empty(0, dtype=host[name].dtype, device="cpu") for name in self._outs if host.get(name) is not None}
        self._call({**host, **new}, index)
        for name, result in new.items():
            target = given[name]
            if target.device.type != "cuda":
                target.resize_(result.size()).copy_(result)
                continue
            if target.size() != result.size():
                target.resize_(result.size())
                if target.stride() != result.stride() and result.numel():
                    target.as_strided_(result.size(), result.stride())
            _memory.on_host(target).copy_(result)
        return None

    def _run_wide(self, given, host, index):
        """Types that the CPU's operator does not know are computed as float."""
        kinds = {each.dtype for value in host.values() for each in _tensors(value) if each.dtype in WIDER}
        narrow = next(iter(kinds))
        widened = {name: _mapped(value, wide) for name, value in host.items()}
        if (asked := widened.get("dtype")) in WIDER:
            widened["dtype"] = WIDER[asked]
        result = self._call(widened, index)
        for name in self._written:
            for target, value in zip(_tensors(host.get(name)), _tensors(widened.get(name))):
                if value is not target:
                    target.copy_(value)
        back = {WIDER[narrow]: asked if asked in WIDER else narrow}
        return _mapped(result, lambda each: each.to(back[each.dtype]) if each.dtype in back else each)

    def _give_back(self, result, given, index):
        if not self._aliases:
            return None
        device = torch.device("cuda", index)
        results = result if len(self._aliases) > 1 else [result]
        back = [given.get(alias) if alias else _mapped(each, lambda one: _memory.on_device(one, device))
                for alias, each in zip(self._aliases, results or [None] * len(self._aliases))]
        return tuple(back) if len(back) > 1 else back[0]


class _Call:
    """What one call has met among its arguments."""

    def __init__(self, operator):
        self._operator = operator
        self.devices = set()  # the CUDA devices of tensors
        self._asked = None    # the CUDA device that was asked for
        self._on_cpu = False

    def index(self):
        if len(self.devices) > 1 and self._operator.name not in _TAKES_BOTH:
            first, second = sorted(self.devices)[:2]
            _refuse_two_devices(f"cuda:{first}", f"cuda:{second}")
        if self._on_cpu and self.devices and self._operator.name not in _TAKES_BOTH:
            _refuse_two_devices(f"cuda:{min(self.devices)}", "cpu")
        if self._asked is not None:
            return self._asked
        return min(self.devices) if self.devices else torch.cuda.current_device()

    def on_host(self, value):
        if isinstance(value, torch.Tensor):
            return self._tensor_on_host(value)
        if isinstance(value, (list, tuple)):
            return [self.on_host(each) for each in value]
        if isinstance(value, torch.device) and value.type == "cuda":
            self._asked = torch.cuda.current_device() if value.index is None else value.index
            return torch.device("cpu")
        return value

    def _tensor_on_host(self, tensor):
        if tensor.device.type == "cuda":
            self.devices.add(tensor.device.index)
            return _memory.on_host(tensor)
        self._on_cpu = self._on_cpu or tensor.dim() > 0
        return tensor


def _refuse_two_devices(first, second):
    raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!")


def _argument_of(returned, arguments):
    """The name of the argument that an operator returns."""
    if not returned.alias_info or not returned.alias_info.is_write:
        return None
    for each in arguments:
        if each.alias_info and each.alias_info.before_set == returned.alias_info.before_set:
            return each.name
    return None


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [each for each in value if isinstance(each, torch.Tensor)] if isinstance(value, (list, tuple)) else []


def _mapped(value, function):
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return [_mapped(each, function) for each in value]
    return value


def _is_narrow(value):
    return any(each.dtype in WIDER for each in _tensors(value))
