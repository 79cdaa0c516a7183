#!/usr/bin/env bash
# Apache's mod_deflate sends an ETag that Apache does not know when it comes back.
#
# Versions: Apache 2.4.71 (Debian 12, amd64: apache2-bin 2.4.71-1~deb12u1), mod_deflate.
# Guess: a client that sends the ETag of a compressed page back in If-None-Match gets 304.
# Seen: mod_deflate adds "-gzip" to the ETag ("x-gzip") after the request's
#   conditions were compared with the ETag of the file ("x"): the answer is 200 with the whole body,
#   each time, also with If-Modified-Since (RFC 9110, 13.2.2: it is ignored beside If-None-Match).
#   Sending both tags in one list, "x-gzip", "x", gives 304. nginx 1.22.1, lighttpd 1.4.69, Caddy
#   2.6.2, H2O 2.2.5 and Jetty 9.4.57 answer 304 to the tag that they sent.
# Who meets it: every client that keeps ETags and accepts gzip (crawlers, feed readers, proxies), at
#   Apache with its default DeflateAlterETag (AddSuffix): each unchanged page is sent again.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid" 2>/dev/null)" 2>/dev/null || true; rm -rf "$folder"' EXIT
chmod 755 "$folder"
mkdir "$folder/pages" "$folder/debian"
# Debian's mirrors keep the newest version only; snapshot.debian.org has all.
(
  cd "$folder/debian"
  apt-get download --quiet=2 --option APT::Sandbox::User=root \
    apache2-bin=2.4.71-1~deb12u1 libapr1=1.7.2-3+deb12u1 libaprutil1=1.6.3-1+deb12u1 libpcre2-8-0=10.42-1+deb12u2
  for package in *.deb; do dpkg --extract "$package" "$folder/debian"; done
)
export LD_LIBRARY_PATH="$folder/debian/usr/lib/x86_64-linux-gnu:$folder/debian/lib/x86_64-linux-gnu"
for _ in $(seq 500); do echo "<p>tea and cake"; done >"$folder/pages/a.html"
touch -d "1 hour ago" "$folder/pages/a.html" # a new file has a weak ETag
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
{
  echo "ServerRoot $folder"
  echo "PidFile $folder/pid"
  echo "Listen 127.0.0.1:$port"
  echo "ServerName localhost"
  echo "ErrorLog $folder/errors"
  echo "Mutex pthread"
  for name in mpm_event authz_core mime filter deflate; do
    echo "LoadModule ${name}_module $folder/debian/usr/lib/apache2/modules/mod_$name.so"
  done
  echo "User nobody"
  echo "Group nogroup"
  echo "TypesConfig /dev/null"
  echo "AddType text/html .html"
  echo "DocumentRoot $folder/pages"
  echo "AddOutputFilterByType DEFLATE text/html"
} >"$folder/config"
"$folder/debian/usr/sbin/apache2" -f "$folder/config"
python3 - "$port" <<'PYTHON'
import sys
import time
from http.client import HTTPConnection


def asked(**headers):
    connection = HTTPConnection("127.0.0.1", int(sys.argv[1]))
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET", "/a.html", headers={"Accept-Encoding": "gzip", **sent})
    answer = connection.getresponse()
    answer.read()
    return answer


for _ in range(100):
    try:
        first = asked()
        break
    except ConnectionRefusedError:
        time.sleep(0.1)
tag, changed = first.headers["ETag"], first.headers["Last-Modified"]
plain = tag.replace("-gzip", "")
seen = {
    tag: asked(If_None_Match=tag).status,
    f"{tag} and If-Modified-Since": asked(If_None_Match=tag, If_Modified_Since=changed).status,
    f"{tag}, {plain}": asked(If_None_Match=f"{tag}, {plain}").status,
}
print(first.headers["Server"], seen)
assert list(seen.values()) == [200, 200, 304], seen
PYTHON
