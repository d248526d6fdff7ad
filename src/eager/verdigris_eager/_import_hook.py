"""Calls a function when a module has been imported."""

import importlib.abc
import sys


def after_import(name, function):
    """One function a name: what else is given for it is left out."""
    if not any(isinstance(each, _Finder) and each.name == name for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder(name, function))


class _Finder(importlib.abc.MetaPathFinder):
    """Stands before the others until the module has been imported: some programs only ask whether it is there."""

    def __init__(self, name, function):
        self.name, self._function = name, function

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        others = [each for each in sys.meta_path if not isinstance(each, _Finder) and hasattr(each, "find_spec")]
        spec = next(filter(None, (each.find_spec(name, path, target) for each in others)), None)
        if spec and spec.loader:
            spec.loader = _Loader(spec.loader, self._imported)
        return spec

    def _imported(self):
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._function()


class _Loader(importlib.abc.Loader):
    """Another loader, after which a function is called."""

    def __init__(self, loader, function):
        self._loader, self._function = loader, function

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._function()
