"""Crawls over https: which servers must have a valid certificate before anything is sent."""

from __future__ import annotations

import ssl
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from contentspider.state.outcome import Outcome
from tests.conftest import TIMEOUT, Site, read_jsonl
from tests.messages import wording
from tests.processes import run_forked
from tests.sites import small_site

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SECRET = ("-H", "X-Key: s3cret")


def certify(folder: Path, name: x509.GeneralName) -> Path:
    """Write a certificate that its own key has signed, with the key; return its file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([name]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


def over_https(site: Site, certificate: Path) -> str:
    """Have a site answer over https only; return its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    site.server.socket = context.wrap_socket(site.server.socket, server_side=True)
    small_site(site, 3)
    return site.url.replace("http:", "https:")


def crawl(
    folder: Path, url: str, *options: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    done = run_forked(
        *("contentspider", "crawl", url, "--own-site", "--no-sitemaps", *options),
        cwd=folder,
        seconds=TIMEOUT,
        **environment,
    )
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    return done


@pytest.mark.parametrize(
    ("options", "is_crawled"),
    [
        ((), True),
        (SECRET, False),
        ((*SECRET, "--verify-tls", "never"), True),
        (("--verify-tls", "always"), False),
    ],
)
def test_nothing_secret_is_sent_to_server_with_invalid_certificate(
    site: Site, tmp_path: Path, options: tuple[str, ...], is_crawled: bool
) -> None:
    url = over_https(site, certify(tmp_path, x509.DNSName("wrong.example")))
    done = crawl(tmp_path, url, *options)
    if is_crawled:
        assert done.returncode == Outcome.COMPLETE, done.stderr
        assert len(read_jsonl(tmp_path / "pages.jsonl")) == 3
        return
    assert site.requests == []
    assert done.returncode == Outcome.NOTHING_READ
    assert wording("crawl.invalid-certificate") in done.stderr


def test_password_is_not_sent_to_server_with_invalid_certificate(
    site: Site, tmp_path: Path
) -> None:
    url = over_https(site, certify(tmp_path, x509.DNSName("wrong.example")))
    done = crawl(tmp_path, url.replace("://", "://me:s3cret@"))
    assert site.requests == []
    assert done.returncode == Outcome.NOTHING_READ
    assert "s3cret" not in done.stderr


def test_login_is_not_sent_to_server_with_invalid_certificate(site: Site, tmp_path: Path) -> None:
    url = over_https(site, certify(tmp_path, x509.DNSName("wrong.example")))
    login = f'[login.e]\nform = "{url}/in"\nfields = {{password = {{env = "TEA_PASSWORD"}}}}\n'
    (tmp_path / "login.toml").write_text(login)
    done = crawl(tmp_path, url, "--login", "login.toml", TEA_PASSWORD="s3cret")  # noqa: S106
    assert site.requests == []
    assert done.returncode == Outcome.NOTHING_READ
    assert wording("crawl.invalid-certificate") in done.stderr


def test_header_is_not_sent_to_server_with_certificate_for_other_name(
    site: Site, tmp_path: Path
) -> None:
    certificate = certify(tmp_path, x509.DNSName("wrong.example"))
    url = over_https(site, certificate)
    done = crawl(tmp_path, url, *SECRET, SSL_CERT_FILE=str(certificate))
    assert site.requests == []
    assert wording("crawl.invalid-certificate") in done.stderr


def test_header_is_sent_to_server_with_valid_certificate(site: Site, tmp_path: Path) -> None:
    certificate = certify(tmp_path, x509.IPAddress(ip_address("127.0.0.1")))
    url = over_https(site, certificate)
    done = crawl(tmp_path, url, *SECRET, SSL_CERT_FILE=str(certificate))
    assert done.returncode == Outcome.COMPLETE, done.stderr
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 3


def test_verified_connection_has_tls_versions_of_project(site: Site, tmp_path: Path) -> None:
    certificate = certify(tmp_path, x509.IPAddress(ip_address("127.0.0.1")))
    url = over_https(site, certificate)
    assert isinstance(site.server.socket, ssl.SSLSocket)
    site.server.socket.context.minimum_version = ssl.TLSVersion.TLSv1_3
    for limit in ("TLSv1.2", "TLSv1.3"):
        most = ("-s", f"DOWNLOAD_TLS_MAX_VERSION={limit}", "-s", "RETRY_ENABLED=False")
        crawl(tmp_path, url, *SECRET, *most, SSL_CERT_FILE=str(certificate))
        assert bool(site.requests) is (limit == "TLSv1.3")
