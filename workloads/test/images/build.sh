#!/usr/bin/env bash
# Makes the folders from which the test images of the databases are built, and prints the folder they are in:
#
#   images=$(workloads/test/images/build.sh)
#   bin/devcluster image build -t docker.io/library/mongo:4.0 "$images/mongo"
#   bin/devcluster image build -t docker.io/library/mysql:8.0 "$images/mysql"
#   bin/devcluster image build -t docker.io/library/postgres:16 "$images/postgres"
#   bin/devcluster image build -t quay.io/coreos/etcd:v3.7.3 "$images/etcd-v3.7.3"
#
# Those of etcd are etcd itself, of two versions, with etcdctl and etcdutl, compiled from their modules. The others
# are stand-ins under the official images' names, with their variables, programs, ports, data folders and user:
# mongo:4.0 is FerretDB with SQLite, mysql:8.0 Debian's MariaDB, postgres:16 Debian's PostgreSQL 15. Debian's
# packages are unpacked, not installed: that would start services. `build.sh tidy` tidies the module files.
set -euo pipefail
cd "$(dirname "$0")"

readonly packages=(mariadb-server-core mariadb-client-core mariadb-client postgresql-15 postgresql-client-15 postgresql-client-common)
key=$(cat build.sh entrypoint/*.go mongo/go.sum etcd/*/go.sum <(dpkg --print-architecture) | sha256sum | cut -c 1-12)
readonly key bin=$PWD/../../../bin/images/$key

main() {
  local module
  if [[ ${1:-} == tidy ]]; then
    for module in mongo etcd/*; do (cd "$module" && go mod tidy); done
    return
  fi
  if [[ ! -e $bin/complete ]]; then
    rm -rf "$bin"
    mkdir -p "$bin"
    unpack
    mongo
    mysql
    postgres
    for module in etcd/*; do etcd "$module"; done
    rm -rf "$bin/debian"
    touch "$bin/complete"
  fi
  (cd "$bin" && pwd)
}

# unpack unpacks the packages, and the libraries that they need besides those of every Debian, into $bin/debian.
unpack() {
  local as=() libraries deb
  ((EUID)) || as=(-o APT::Sandbox::User=root)
  mapfile -t libraries < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances "${packages[@]}" | grep '^lib' | grep -vE '^libc6|^libc-|^libllvm|^libz3|elogind|perl|installer|-common$|-bin$' | sort -u)
  mkdir "$bin/debs" "$bin/debian"
  (cd "$bin/debs" && apt-get download -qq "${as[@]}" "${packages[@]}" "${libraries[@]}" >&2) || {
    echo "error: apt-get cannot download the databases: run 'apt-get update' as root, and try again." >&2
    exit 1
  }
  for deb in "$bin"/debs/*.deb; do dpkg-deb --extract "$deb" "$bin/debian"; done
  rm -rf "$bin/debs"
}

# image NAME DATA SIGNAL begins an image with its Dockerfile, its entrypoint, its user and its data folder. SIGNAL ends the
# engine in good order. The user has the number of that in the official images.
image() {
  local root=$bin/$1/root
  mkdir -p "$root"
  cat >"$bin/$1/Dockerfile" <<END
FROM scratch
COPY root /
ENV ENGINE=$1 PATH=/usr/sbin:/usr/bin:/bin:/usr/lib/postgresql/15/bin
USER 999:999
STOPSIGNAL $3
ENTRYPOINT ["/entrypoint"]
END
  mkdir -p "$root/etc" "$root/tmp" "$root$2"
  chmod 1777 "$root/tmp" "$root$2"
  echo "$1:x:999:999::$2:/bin/sh" >"$root/etc/passwd"
  echo "$1:x:999:" >"$root/etc/group"
  CGO_ENABLED=0 go build -buildvcs=false -ldflags "-s -w" -o "$root/entrypoint" ./entrypoint
}

# take NAME PATH... copies what was unpacked into an image.
take() {
  local name=$1 path
  shift
  for path in "$@"; do
    mkdir -p "$bin/$name/root$(dirname "$path")"
    cp -r "$bin/debian$path" "$bin/$name/root$path"
  done
}

# libraries NAME copies the libraries of all programs and plugins of an image, and a shell.
libraries() {
  local root=$bin/$1/root unpacked library
  unpacked=$(find "$bin/debian/usr/lib" "$bin/debian/lib" -maxdepth 1 -type d -name '*-linux-gnu' 2>/dev/null | paste -sd :)
  mkdir -p "$root/bin" "$root/usr/lib"
  cp /bin/dash "$root/bin/sh"
  while read -r library; do
    case $library in
      *ld-linux*) mkdir -p "$root$(dirname "$library")" && cp -nL "$library" "$root$library" ;;
      *) cp -nL "$library" "$root/usr/lib/" ;;
    esac
  done < <(find "$root" -type f \( -perm -u=x -o -name '*.so*' \) -print0 | LD_LIBRARY_PATH=$unpacked xargs -0 -n 1 ldd 2>/dev/null |
    grep -oE '(=> )?/[^ ]+ \(0x' | grep -oE '/[^ ]+' | sort -u)
}

# mongo builds FerretDB from a copy of its module, which lacks the file with its version, and does not run without.
mongo() {
  local work=$bin/ferretdb module=github.com/FerretDB/FerretDB version
  image mongo /data/db SIGTERM
  mkdir "$work"
  cp mongo/go.mod mongo/go.sum "$work/"
  (
    cd "$work"
    export CGO_ENABLED=0 GOWORK=off
    version=$(go list -m -f '{{.Version}}' "$module")
    cp -r "$(go mod download -json "$module@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" source
    chmod -R u+w source
    echo "$version" >source/build/version/version.txt
    go mod edit -replace "$module=./source"
    go build -trimpath -buildvcs=false -ldflags "-s -w" -tags ferretdb_no_postgresql -o "$bin/mongo/root/ferretdb" "$module/cmd/ferretdb"
  ) >&2
  rm -rf "$work"
  mkdir -p "$bin/mongo/root/usr/bin"
  ln -s ../../ferretdb "$bin/mongo/root/usr/bin/mongod"
}

mysql() {
  image mysql /var/lib/mysql SIGTERM
  take mysql /usr/sbin/mariadbd /usr/bin/mariadb /usr/bin/mariadb-admin /usr/share/mysql/english /usr/share/mysql/charsets \
    /usr/share/mysql/mysql_{system_tables,performance_tables,system_tables_data}.sql
  ln -s mariadbd "$bin/mysql/root/usr/sbin/mysqld"
  ln -s mariadb "$bin/mysql/root/usr/bin/mysql"
  ln -s mariadb-admin "$bin/mysql/root/usr/bin/mysqladmin"
  libraries mysql
}

postgres() {
  local root=$bin/postgres/root
  image postgres /var/lib/postgresql/data SIGINT
  chmod 1777 "$root/var/lib/postgresql"
  take postgres /usr/lib/postgresql/15/bin/{postgres,initdb,psql,pg_isready} /usr/lib/postgresql/15/lib /usr/share/postgresql/15
  rm -rf "$root"/usr/lib/postgresql/15/lib/{llvmjit*,bitcode,pgxs}
  mkdir -p "$root/usr/share/zoneinfo/Etc" "$root/usr/lib/locale"
  cp /usr/share/zoneinfo/UTC "$root/usr/share/zoneinfo/UTC"
  cp /usr/share/zoneinfo/UTC "$root/usr/share/zoneinfo/Etc/UTC"
  cp -r /usr/lib/locale/C.utf8 "$root/usr/lib/locale/"
  libraries postgres
}

# etcd MODULE builds one version of etcd, with the paths and the user of the official image.
etcd() {
  local version root program
  version=$(cd "$1" && GOWORK=off go list -m -f '{{.Version}}' go.etcd.io/etcd/server/v3)
  root=$bin/etcd-$version/root
  mkdir -p "$root/usr/local/bin" "$root/tmp"
  chmod 1777 "$root/tmp"
  cat >"$bin/etcd-$version/Dockerfile" <<END
FROM scratch
COPY root /
ENV PATH=/usr/local/bin
EXPOSE 2379 2380
CMD ["/usr/local/bin/etcd"]
END
  for program in server etcdctl etcdutl; do
    (cd "$1" && CGO_ENABLED=0 GOWORK=off go build -trimpath -buildvcs=false -ldflags "-s -w" -o "$root/usr/local/bin/${program/server/etcd}" "go.etcd.io/etcd/$program/v3") >&2
  done
}

main "$@"
