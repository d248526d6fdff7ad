#!/usr/bin/env python3
"""Validates specifications of container devices against the published schema, and sees that it refuses spoilt ones.

usage: cdi_schema.py FOLDER SPECIFICATION...     FOLDER has schema.json and defs.json
"""

import copy
import json
import pathlib
import sys

import jsonschema
import referencing
import yaml


def validators(folder):
    """Of a whole specification, and of its edits: earlier schemas do not look at those beside `devices`."""
    schema, definitions = (json.loads((folder / name).read_text()) for name in ("schema.json", "defs.json"))
    draft7 = referencing.jsonschema.DRAFT7
    known = referencing.Registry().with_resources(
        (name, draft7.create_resource(content)) for name, content in (("schema.json", schema), ("defs.json", definitions)))
    return [jsonschema.Draft7Validator({"$ref": place}, registry=known)
            for place in ("schema.json", "defs.json#/definitions/containerEdits")]


def problems(folder, specification):
    whole, edits = validators(folder)
    found = [*whole.iter_errors(specification), *edits.iter_errors(specification.get("containerEdits", {}))]
    return [f"{'/'.join(map(str, error.path))}: {error.message}" for error in found]


def spoilt(specification):
    """What the schema must refuse: each rule that can be broken in a specification of ours, broken once."""
    for key in ("cdiVersion", "kind", "devices"):
        yield f"without {key}", {name: value for name, value in specification.items() if name != key}
        yield f"{key} is a number", {**specification, key: 1}
    for key in ("name", "containerEdits"):
        changed = copy.deepcopy(specification)
        del changed["devices"][0][key]
        yield f"a device without {key}", changed
    for key in ("hostPath", "containerPath"):
        changed = copy.deepcopy(specification)
        del changed["containerEdits"]["mounts"][0][key]
        yield f"a mount without {key}", changed
    for key, value in (("options", "ro"), ("hostPath", 1), ("containerPath", ["/"])):
        changed = copy.deepcopy(specification)
        changed["containerEdits"]["mounts"][0][key] = value
        yield f"{key} of a mount is {value!r}", changed
    changed = copy.deepcopy(specification)
    changed["devices"][0]["containerEdits"]["env"] = "A=B"
    yield "env of a device is one text", changed


def main():
    if len(sys.argv) < 3:
        print(__doc__.strip())
        return 2
    folder, failures, refused = pathlib.Path(sys.argv[1]), [], 0
    for name in sys.argv[2:]:
        specification = yaml.safe_load(pathlib.Path(name).read_text())
        failures += [f"{name}: {problem}" for problem in problems(folder, specification)]
        for what, changed in spoilt(specification):
            refused += 1
            if not problems(folder, changed):
                failures.append(f"{name}: {what} is accepted")
    print("\n".join(failures) or f"{len(sys.argv) - 2} specifications fit the schema, {refused} spoilt ones do not")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
