"""Functions in child processes: their answers, their limits, and that nothing is left of them."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.ground import children
from contentspider.ground.children import ChildError, End, Limits, run_child
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux")

MB = 1 << 20
# A module of contentspider that children have: `sitecustomize` is loaded by each Python.
ODD = """
import os, signal, sys, types
from pathlib import Path
def echo(given, body, report):
    print("a library prints")
    os.write(1, b"{}")
    return {"given": given, "folder": os.getcwd(), "variable": os.environ.get("TEA")}, body * 2
def parent(given, body, report):
    return os.getppid(), b""
def fail(kind, body, report):
    from contentspider.ground.errors import NotEnoughTextError
    report(3)
    raise {"ours": NotEnoughTextError("little"), "value": ValueError("odd"),
           "exit": SystemExit(4)}[kind]
def die(number, body, report):
    for step in range(4):
        report(step)
    os.kill(os.getpid(), number) if number else os._exit(9)
def leave(folder, body, report):
    import tempfile
    report(int(tempfile.mkstemp()[1].startswith(folder)))
    os.kill(os.getpid(), signal.SIGKILL)
def spin(given, body, report):
    while True:
        pass
def fill(size, body, report):
    return len(bytearray(size)), b""
def hang(given, body, report):
    report(os.getpid())
    if given:
        Path(given).write_text(f"{os.getpid()} {os.getppid()}")
        os.rename(given, given + ".written")
    if given is None:
        report(None)
    signal.pause()
def cut(given, body, report):
    os.write(3, b"[1")
    for file in range(3, 9):
        try:
            os.write(file, b'{"result": 1, "byt')
        except OSError:
            pass
    os._exit(0)
def end_server_once(mark, body, report):
    if not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    return os.getppid(), b""
odd = types.ModuleType("contentspider.odd")
vars(odd).update(vars())
sys.modules["contentspider.odd"] = odd
sys.modules["contentspider.slow"] = slow = types.ModuleType("contentspider.slow")
slow.PRELOADED = ["slow_library"]
"""
SLOW_LIBRARY = """
import os, signal
from pathlib import Path
Path("number").write_text(str(os.getpid()))
os.rename("number", "number.written")
while True:
    signal.pause()
"""
# What a user's script does; it has no guard, and would run again in children that import it.
SCRIPT = """
import signal, sys
from contentspider.ground import children
signal.signal(signal.SIGINT, signal.default_int_handler)  # who started the tests may ignore it
if sys.argv[2] == "process":
    children.can_fork = lambda: False
children.run_child("contentspider.odd:hang", sys.argv[1])
"""


@pytest.fixture(autouse=True)
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run children of a server of the test's own, which have the module `ODD`."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(ODD)
    (tmp_path / "path" / "slow_library.py").write_text(SLOW_LIBRARY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"), prepend=os.pathsep)
    monkeypatch.delenv(children.VARIABLE, raising=False)
    server = children._Server()
    monkeypatch.setattr(children, "_server", server)
    yield
    server.end()


@pytest.fixture(params=["server", "process"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have children that are forks of a server, or new processes."""
    if request.param == "process":
        monkeypatch.setattr(children, "can_fork", lambda: False)
    return str(request.param)


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Return a folder for temporary files whose path leaves room for that of a socket."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def run(name: str, given: Any = None, **more: Any) -> Any:
    """Return the result of a function of `ODD`, without its bytes."""
    return run_child(f"contentspider.odd:{name}", given, **more)[0]


def failure(name: str, given: Any = None, **more: Any) -> ChildError:
    with pytest.raises(ChildError) as raised:
        run(name, given, **more)
    return raised.value


def is_gone(process: int) -> bool:
    """Wait until a process has ended; return False if it does not."""
    try:
        file = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([file], [], [], 20)[0])
    finally:
        os.close(file)


@pytest.mark.usefixtures("kind")
def test_child_answers_and_has_folder_and_environment_of_its_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, variable in (("one", "green"), ("two", "black")):
        (tmp_path / place).mkdir()
        monkeypatch.chdir(tmp_path / place)
        monkeypatch.setenv("TEA", variable)
        result, data = run_child("contentspider.odd:echo", {"a": [1, None]}, b"\n{}\0")  # type: ignore[dict-item]
        assert result == {
            "given": {"a": [1, None]},
            "folder": str(tmp_path / place),
            "variable": variable,
        }
        assert data == b"\n{}\0" * 2


@pytest.mark.usefixtures("kind")
def test_error_of_function_is_told() -> None:
    ours = failure("fail", "ours")
    assert (ours.end, ours.step, str(ours)) == (End.FAILED, 3, "little")
    assert ours.kinds[:2] == ["NotEnoughTextError", "ContentSpiderError"]
    assert failure("fail", "value").kinds[0] == "ValueError"
    assert failure("fail", "exit").kinds[0] == "SystemExit"
    for function in ("os:getcwd", "contentspider_of_others:x", "contentspider.odd:none", ""):
        with pytest.raises(ChildError) as raised:
            run_child(function, {})
        assert raised.value.end is End.FAILED


@pytest.mark.usefixtures("kind")
def test_death_of_child_is_told_with_its_last_step() -> None:
    for number in (signal.SIGKILL, signal.SIGSEGV, 0):
        error = failure("die", int(number))
        assert (error.end, error.step) == (End.DIED, 3)
        assert error.status == (-number if number else 9)
    error = failure("cut")
    assert (error.end, error.status) == (End.DIED, 0)


@pytest.mark.usefixtures("kind")
def test_temporary_files_of_killed_child_are_deleted(
    short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(short_folder))
    error = failure("leave", str(short_folder))
    assert (error.end, error.step) == (End.DIED, 1)
    assert not any(path.is_file() for path in short_folder.rglob("*"))
    children._server.end()
    assert not list(short_folder.iterdir())


@pytest.mark.usefixtures("kind")
def test_processor_time_and_memory_of_child_are_limited() -> None:
    assert failure("spin", limits=Limits(cpu_secs=0.5)).end is End.OUT_OF_TIME
    limits = Limits(memory=100 * MB)
    assert failure("fill", 200 * MB, limits=limits).kinds[0] == "MemoryError"
    assert run("fill", 50 * MB, limits=limits) == 50 * MB


def test_memory_is_counted_beyond_what_server_has_loaded() -> None:
    limits = Limits(memory=40 * MB)
    loaded = ["contentspider.page.input.document_process"]
    assert run("fill", 20 * MB, limits=limits, preload=loaded)


@pytest.mark.usefixtures("kind")
def test_child_that_hangs_is_killed() -> None:
    for given, limits in (
        ("", Limits(step_secs=0.2)),
        (None, Limits(wall_secs=0.5, step_secs=0.2)),
    ):
        error = failure("hang", given, limits=limits)
        assert error.end is End.HUNG
        if given is not None:
            assert error.step and is_gone(error.step)
        else:
            assert error.step is None, "between two steps it may take its time"


@pytest.mark.usefixtures("kind")
def test_child_is_stopped(tmp_path: Path) -> None:
    stop = threading.Event()
    written = tmp_path / "pids.written"
    error = failure("hang", f"{tmp_path}/pids", is_over=lambda: stop.is_set() or written.exists())
    assert error.end is End.STOPPED
    assert error.step and is_gone(error.step)
    stop.set()
    assert failure("hang", "", is_over=stop.is_set).step is None, "it was not begun"


def test_children_are_forks_of_one_server_that_is_started_again(tmp_path: Path) -> None:
    first = run("parent")
    assert run("parent") == first
    again = run("end_server_once", f"{tmp_path}/mark")
    assert again not in (first, os.getpid())
    assert run("parent") == again
    children._server.end()
    assert is_gone(again)


def test_server_without_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "IDLE_SECS", 0.1)
    first = run("parent")
    assert is_gone(first)
    assert run("parent") != first


def test_server_refuses_what_is_no_request() -> None:
    first = run("parent")
    address = children._server._address
    with (
        Path(os.devnull).open("rb") as file,
        socket.socket(socket.AF_UNIX) as silent,
    ):
        silent.connect(address)
        three = [file.fileno()] * 3
        for message, files in (
            (b"", []),
            (b"[]", []),
            (b"[", three),
            (b"[1]", three),
            (b"7", three),
            (b'["os"]', three),
            (b'["contentspiders"]', three),
            (b"[" * 20_000, three),
            (b'["contentspider.odd"]', three[:2]),
            (b'["contentspider.odd"]', three * 2),
            (b'["contentspider.no_module"]', three),  # its child has no request, and ends
        ):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(20)
                connection.connect(address)
                socket.send_fds(connection, [message], files)
                if not message:
                    connection.shutdown(socket.SHUT_WR)
                with suppress(ConnectionResetError):  # it did not read all
                    assert connection.recv(16) in (b"", b"1")  # its child cannot answer
        assert run("parent") == first


def test_processes_share_server_and_their_forks_leave_it(tmp_path: Path) -> None:
    shared = children.shared_server()
    code = """
import os, sys
from contentspider.ground.children import run_child
sys.stdout.write(str(run_child("contentspider.odd:parent", {})[0]) + " ")
sys.stdout.flush()
if not os.fork():
    sys.exit()
os.wait()
print(run_child("contentspider.odd:parent", {})[0])
"""
    for environment, is_shared in ((shared, True), ({children.VARIABLE: "/nowhere"}, False)):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}/path:{ROOT}", **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        before, after = map(int, done.stdout.split())
        assert before == after
        assert (before == run("parent")) == is_shared
        assert is_shared or is_gone(before)


@pytest.fixture
def long_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of temporary files whose path is too long for a socket, for a new server."""
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    children._server.end()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    children._server.end()
    assert not list(folder.iterdir())


@pytest.mark.skipif(not Path(children.OPEN_FILES).is_dir(), reason="only Linux reaches the socket")
def test_server_runs_in_folder_with_long_path(long_folder: Path) -> None:
    first = run("parent")
    assert first != os.getpid()
    assert run("parent") == first
    address = children.shared_server()[children.VARIABLE]
    assert address.startswith(str(long_folder))
    with children._connected(address):  # type: ignore[union-attr]
        pass


def test_children_are_processes_where_no_server_can_be(
    long_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(children, "OPEN_FILES", "/nowhere")
    monkeypatch.setattr(children._server, "_has_warned", False)
    assert run("parent") == os.getpid()
    assert not children.shared_server()
    (warning,) = [each for each in caplog.records if each.levelname == "WARNING"]
    assert str(long_folder) in warning.getMessage(), "it is said once"
    assert not list(long_folder.iterdir())
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert failure("parent").end is End.NOT_STARTED
    monkeypatch.setattr(children, "memory_limit", lambda: 1e12)
    assert failure("parent").end is End.NOT_STARTED
    assert not children.shared_server()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_process_that_ends(
    tmp_path: Path, short_folder: Path, kind: str, number: signal.Signals
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    file = tmp_path / "pids"
    with subprocess.Popen(
        [sys.executable, "script.py", str(file), kind],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": f"{tmp_path}/path:{ROOT}",
            "TMPDIR": str(short_folder),
        },
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            while not Path(f"{file}.written").exists():
                assert process.poll() is None
                select.select([], [], [], 0.02)
            child, parent = map(int, Path(f"{file}.written").read_text().split())
            assert (parent == process.pid) == (kind == "process")
            os.killpg(process.pid, number)  # as Ctrl-C in a terminal
            assert is_gone(process.pid)
        finally:
            process.kill()
    assert is_gone(child)
    assert is_gone(parent)
    if kind == "server" or number == signal.SIGINT:  # else nobody is there to delete the folder
        assert not list(short_folder.iterdir())


def test_server_that_loads_library_ends_with_process_that_started_it(
    tmp_path: Path, short_folder: Path
) -> None:
    code = "from contentspider.ground.children import *; run_child('contentspider.slow:x', {})"
    environment = {"PYTHONPATH": f"{tmp_path}/path:{ROOT}", "TMPDIR": str(short_folder)}
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, **environment}
    ) as process:
        try:
            while not (tmp_path / "number.written").exists():
                assert process.poll() is None
                select.select([], [], [], 0.02)
        finally:
            process.kill()
    assert is_gone(int((tmp_path / "number.written").read_text()))
    assert not list(short_folder.iterdir())
