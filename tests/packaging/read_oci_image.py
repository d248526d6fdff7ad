#!/usr/bin/env python3
"""Checks an OCI image: every description fits its blob, and the layer holds the files.

usage: read_oci_image.py [--unpack FOLDER] IMAGE FILE...     with --unpack its file system is put into FOLDER
"""

import argparse
import gzip
import hashlib
import io
import json
import sys
import tarfile


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--unpack")
    parser.add_argument("image")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    image = tarfile.open(arguments.image)

    def blob(described):
        content = image.extractfile(described["digest"].replace("sha256:", "blobs/sha256/")).read()
        assert hashlib.sha256(content).hexdigest() == described["digest"].partition(":")[2], described
        assert len(content) == described["size"], described
        return content

    assert json.load(image.extractfile("oci-layout"))["imageLayoutVersion"] == "1.0.0"
    (described,) = json.load(image.extractfile("index.json"))["manifests"]
    manifest = json.loads(blob(described))
    config = json.loads(blob(manifest["config"]))
    (layer,) = manifest["layers"]
    content = gzip.decompress(blob(layer))
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(content).hexdigest()]
    files = tarfile.open(fileobj=io.BytesIO(content))
    entries = {entry.name: entry for entry in files}
    for name in [*arguments.files, config["config"]["Entrypoint"][0].lstrip("/")]:
        assert entries[name].isfile() and entries[name].uid == 0, name
    if arguments.unpack:
        files.extractall(arguments.unpack)
    print(f"{len(entries)} files in {len(content)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
