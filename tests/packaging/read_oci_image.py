#!/usr/bin/env python3
"""Checks an OCI image: every description fits its blob, and the layer holds the files.

usage: read_oci_image.py IMAGE FILE...
"""

import gzip
import hashlib
import io
import json
import sys
import tarfile


def main():
    image = tarfile.open(sys.argv[1])

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
    entries = {entry.name: entry for entry in tarfile.open(fileobj=io.BytesIO(content))}
    for name in [*sys.argv[2:], config["config"]["Entrypoint"][0].lstrip("/")]:
        assert entries[name].isfile() and entries[name].uid == 0, name
    print(f"{len(entries)} files in {len(content)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
