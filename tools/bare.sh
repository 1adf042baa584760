#!/usr/bin/env bash
# Does what the README tells a new user on a bare Debian: a new root of this machine's release (debootstrap), in which
# nothing is installed. `make demo` as an ordinary user, then as root; `make test` as root. Prints the time of each.
# Exits 1 if one fails or takes longer than it promises.
#
#   tools/bare.sh [demo] [test]    both without an argument; takes the committed state of this work tree
#   tools/bare.sh -c COMMAND       a command instead, as root, with what the tests need
#
# Needs root, debootstrap and 8 GB below TMPDIR (/tmp). From this machine, the root takes what says how to reach the
# network (mirror, proxies, certificates, DNS, npm's registry, Go's proxy), and Go itself, where
# https://go.dev/doc/install unpacks it. Everything is mounted in a mount namespace of its own: this machine never sees
# the mounts.
set -euo pipefail

demo_limit=60 test_limit=900 # seconds, on 2 cores

die() {
	echo "tools/bare.sh: $*" >&2
	exit 1
}

# The part that makes the folder and removes it. It never sees a mount.
outside() {
	local part status=0
	[ $# -gt 0 ] || set -- demo test
	[ "$1" = -c ] || for part in "$@"; do
		case $part in demo | test) ;; *) die "unknown part $part; there are demo and test" ;; esac
	done
	[ "$(id -u)" = 0 ] || die "only root can make a root file system"
	command -v debootstrap >/dev/null ||
		die "missing: debootstrap; install it, for example: apt-get install debootstrap"
	command -v go >/dev/null || die "missing: Go, to put into the root"
	work=$(mktemp -d "${TMPDIR:-/tmp}/heaptap-bare.XXXXXX")
	trap clean EXIT
	trap 'exit 130' INT TERM HUP
	# No process namespace: the kernel reports forks only outside of one, and tests need these reports.
	unshare --mount --fork --kill-child "$(realpath "$0")" --inside "$work" "$(dirname "$(realpath "$0")")/.." \
		"$@" &
	wait $! || status=$?
	return $status
}

clean() {
	trap - EXIT INT TERM HUP
	jobs -p | xargs -r kill -9 2>/dev/null || true
	wait 2>/dev/null || true
	while kill_inside; do
		sleep 0.1
	done
	# Nothing of the host's may be below it. Nothing is; but a mistake here would remove /dev.
	if grep -qF " $work/" /proc/self/mountinfo; then
		echo "tools/bare.sh: something is mounted below $work: unmount it, and remove the folder" >&2
		exit 1
	fi
	rm -rf --one-file-system "$work"
}

# Kills what still runs in the mount namespaces. Whether there was something.
kill_inside() {
	local p namespaces some=1
	namespaces=$(cat "$work/namespace" 2>/dev/null) || return 1
	! is_one_of "$namespaces" self || return 1
	for p in /proc/[0-9]*; do
		if is_one_of "$namespaces" "${p#/proc/}"; then
			kill -9 "${p#/proc/}" 2>/dev/null || true
			some=0
		fi
	done
	return $some
}

# is_one_of NAMESPACES PROCESS: whether a process is in one of these mount namespaces.
is_one_of() {
	local namespace
	namespace=$(readlink "/proc/$2/ns/mnt") && grep -qxF "$namespace" <<<"$1"
}

# Mirror and suite of Debian's packages that this machine uses, a line each.
suites() {
	apt-get indextargets --format "\$(REPO_URI) \$(RELEASE)" "Created-By: Packages" |
		grep -E " $VERSION_CODENAME(-updates|-security)?$" | sort -u
}

# Installs the bare system, and mounts what a container has.
make_root() {
	local mirror file
	# shellcheck source=/dev/null
	. /etc/os-release
	mirror=$(suites | awk -v suite="$VERSION_CODENAME" '$2 == suite { print $1; exit }')
	[ -n "$mirror" ] || die "apt-get knows no mirror of $VERSION_CODENAME; try apt-get update"
	echo "a bare $PRETTY_NAME"
	debootstrap --variant=minbase "$VERSION_CODENAME" "$root" "$mirror" >"$work/debootstrap.log" ||
		{ tail -n 20 "$work/debootstrap.log" >&2 && die "debootstrap failed"; }
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/run"
	suites | sed 's/^/deb /; s/$/ main/' >"$root/etc/apt/sources.list"
	apt-config dump --format '%f "%v";%n' Acquire | grep -E '^Acquire::(https?|Check|Retries)[^ ]* "[^"]' \
		>"$root/etc/apt/apt.conf.d/99host" || true
	cat /etc/resolv.conf >"$root/etc/resolv.conf"
	echo "127.0.0.1 localhost" >"$root/etc/hosts"
	mkdir -p "$root/usr/local/share/ca-certificates"
	for file in /usr/local/share/ca-certificates/*.crt; do
		[ ! -e "$file" ] || cp "$file" "$root/usr/local/share/ca-certificates/"
	done
	cp -a "$(go env GOROOT)" "$root/usr/local/go"
}

# The variables that a process in the root has: the host's that say how to reach the network.
environment() {
	local name
	env | grep -iE '^((https?|ftp|all|no)_proxy|NODE_EXTRA_CA_CERTS)=' || true
	for name in GOPROXY GOSUMDB GONOSUMDB GONOPROXY GOTOOLCHAIN; do
		echo "$name=$(go env "$name")"
	done
	if command -v npm >/dev/null; then
		for name in registry proxy https-proxy cafile; do
			echo "npm_config_${name//-/_}=$(npm config get "$name" 2>/dev/null)"
		done | grep -vE '=(null|undefined)?$' || true
	fi
	echo "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin"
	echo "TERM=dumb"
	echo "LANG=C.UTF-8"
}

# Makes a folder, $0, the root of a mount namespace, notes the namespace, and executes a command there. In a root that
# only chroot has set, the kernel allows no user namespaces.
# shellcheck disable=SC2016 # the shell inside expands it
enter='readlink /proc/self/ns/mnt >>"$1"
	shift
	mount --rbind "$0" "$0" && cd "$0" && pivot_root . mnt && umount --lazy mnt && exec "$@"'

# as USER SECONDS COMMAND: runs a command in the root, in the copy of the sources in the user's home.
as() {
	local user=$1 limit=$2 home=/root begin wall cpu status=0
	[ "$user" = root ] || home=/home/$user
	printf '\n%s$ %s\n' "$user" "$3"
	begin=$(date +%s.%N)
	# shellcheck disable=SC2016 # the shell inside expands it
	unshare --mount bash -c "$enter" "$root" "$work/namespace" \
		env -i "${variables[@]}" HOME="$home" USER="$user" chroot --userspec="$user:$user" / bash -c \
		'cd; [ ! -d heaptap ] || cd heaptap; set +e; eval "$1"; s=$?; times >/tmp/times.$USER; exit $s' \
		bash "$3" </dev/null || status=$?
	wall=$(date +%s.%N)
	cpu=$(tr ms '  ' <"$root/tmp/times.$user" | awk '{ sum += $1 * 60 + $2 + $3 * 60 + $4 } END { print sum }')
	wall=$(awk "BEGIN { print $wall - $begin }")
	printf '%-60s status %d, %.0f s, %.0f s of CPU time, %d cores\n' \
		"$user: $3" "$status" "$wall" "$cpu" "$(nproc)" | tee -a "$work/results"
	if [ "$status" != 0 ]; then
		failed=1
	elif [ "$limit" != - ] && awk "BEGIN { exit !($wall > $limit) }"; then
		echo "  too slow: at most $limit s" | tee -a "$work/results"
		failed=1
	fi
}

inside() {
	work=$1 source=$(realpath "$2") root=$1/root failed=
	shift 2
	readlink /proc/self/ns/mnt >"$work/namespace"
	make_root
	mapfile -t variables < <(environment)
	# The README's own words.
	prepare=$(sed -n 's/^    \(apt-get .*\)$/\1/p' "$source/README.md" | head -n 1)
	[ -n "$prepare" ] || die "README.md does not say what to install"
	as root - "$prepare"
	chroot "$root" useradd --create-home --shell /bin/bash user
	git clone -q "$source" "$root/root/heaptap"
	git clone -q "$source" "$root/home/user/heaptap"
	chroot "$root" chown -R user:user /home/user/heaptap
	if [ "$1" = -c ]; then
		as root - "tools/setup.sh test"
		as root - "${2:?a command}"
		set --
	fi
	case " $* " in *" demo "*)
		as user $demo_limit "make demo" # first: nothing of root's helps
		as root $demo_limit "make demo"
		;;
	esac
	case " $* " in *" test "*)
		as user - "! make test" # root has not installed anything: it says what is missing
		as root - "tools/setup.sh test"
		# Where CI is set, a test that lacks something fails instead of being skipped.
		as root $test_limit "CI=true make test"
		;;
	esac
	printf '\n'
	cat "$work/results"
	[ -z "$failed" ]
}

if [ "${1-}" = --inside ]; then
	shift
	inside "$@"
else
	outside "$@"
fi
