#!/usr/bin/env python3
"""Makes an OCI image of a folder, as one archive with one layer.

usage: oci_image.py FOLDER FILE
"""

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import time

WHEN = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
CONFIG = {"Entrypoint": ["/usr/bin/verdigris", "run", "--"], "Env": ["PATH=/usr/bin:/bin", "HOME=/root"], "WorkingDir": "/"}


def plain(entry):
    """Without the owner and times of the machine that makes it."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = WHEN
    return entry


def layer_of(folder):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in sorted(os.listdir(folder)):
            tar.add(os.path.join(folder, name), arcname=name, filter=plain)
    return out.getvalue()


class Archive:
    def __init__(self, path):
        self._tar = tarfile.open(path, "w")

    def add(self, name, content):
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        self._tar.addfile(plain(entry), io.BytesIO(content))

    def blob(self, kind, content):
        """Adds the content under its checksum and describes it."""
        digest = hashlib.sha256(content).hexdigest()
        self.add(f"blobs/sha256/{digest}", content)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    def json(self, kind, value):
        return self.blob(kind, json.dumps(value, sort_keys=True).encode())

    def close(self):
        self._tar.close()


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip())
        return 2
    layer = layer_of(sys.argv[1])
    archive = Archive(sys.argv[2])
    described = archive.blob("layer.v1.tar+gzip", gzip.compress(layer, 6, mtime=WHEN))
    config = archive.json("config.v1+json", {
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(WHEN)), "architecture": "amd64", "os": "linux",
        "config": CONFIG, "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}})
    manifest = archive.json("manifest.v1+json", {"schemaVersion": 2, "config": config, "layers": [described],
                                                 "mediaType": "application/vnd.oci.image.manifest.v1+json"})
    manifest["annotations"] = {"org.opencontainers.image.ref.name": "verdigris:latest"}
    archive.add("index.json", json.dumps({"schemaVersion": 2, "manifests": [manifest]}).encode())
    archive.add("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    archive.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
