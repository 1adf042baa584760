package run

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/lazy"
)

// Users name a program through others: a shell, a shim, env, make. Which programs these are is data.
var (
	// shells run what somebody else has named.
	shells = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox", "csh", "tcsh"}
	// wrappers run the command in their arguments.
	wrappers = []string{
		"env", "nice", "nohup", "time", "timeout", "setsid", "stdbuf", "taskset", "numactl", "sudo", "doas", "ionice",
		"chrt", "setpriv", "unshare", "nsenter", "xvfb-run", "script", "flock", "prlimit", "su", "runuser",
		"unbuffer", "faketime", "fakeroot", "dbus-run-session", "catchsegv", "setarch", "linux64", "chroot",
		"systemd-run", "strace", "ltrace", "pyenv", "rbenv", "nodenv", "asdf", "mise", "direnv", "poetry", "pipenv",
		"uv", "npx", "bundle", "conda", "mpirun", "mpiexec", "orterun", "prterun", "prte", "mpiexec.hydra",
		"hydra_pmi_proxy", "srun",
	}
	// builders run many programs, which the memory is spent in.
	builders = []string{
		"make", "gmake", "ninja", "cmake", "ctest", "cargo", "bazel", "meson", "scons", "npm", "yarn", "pnpm",
		"xargs", "parallel", "find", "tox", "nox", "ant", "gradle", "mvn", "collect2", "ccache", "sccache", "distcc",
		"gcc", "g++", "cc", "c++", "gfortran", "rustup",
	}
	// helpers are what scripts call on their way.
	helpers = []string{
		"[", "awk", "basename", "cat", "chmod", "chown", "cmp", "cp", "cut", "date", "dd", "df", "diff", "dirname",
		"du", "echo", "expr", "false", "file", "gawk", "getconf", "grep", "egrep", "fgrep", "head", "hostname", "id",
		"install", "kill", "ln", "locale", "ls", "lscpu", "mawk", "md5sum", "mkdir", "mktemp", "mv", "nproc", "od",
		"paste", "pgrep", "pkill", "printf", "ps", "pwd", "readlink", "realpath", "rm", "rmdir", "sed", "seq",
		"sha1sum", "sha256sum", "sleep", "sort", "stat", "tail", "tee", "test", "touch", "tput", "tr", "true", "tty",
		"uname", "uniq", "wc", "which", "whoami", "yes", "git-rev-parse",
	}
)

// version is what may come behind a program's name, as in gcc-12.
var version = lazy.Regexp(`-[0-9.]+$`)

// passes reports whether users name other programs through this one.
func (p *Program) passes() bool {
	for _, list := range [][]string{shells, wrappers, builders} {
		if p.isOne(list) {
			return true
		}
	}
	return false
}

func (p *Program) isOne(list []string) bool {
	if slices.Contains(list, version().ReplaceAllString(p.Name(), "")) {
		return true
	}
	return len(p.Command) > 0 && slices.Contains(list, path.Base(strings.TrimPrefix(p.Command[0], "-")))
}

// Matters returns the number of the program that the user named, and why it is that one; -1 if the run has none. If the
// run does not tell, or if the user named several, sure is false, and it is the program with the largest resident set
// of those that come into question.
func (r *Run) Matters() (i int, why string, sure bool) {
	list, why, sure := r.named()
	switch len(list) {
	case 0:
		return -1, "no program was recorded", false
	case 1:
		return list[0], why, sure
	}
	return r.largest(list), "the largest resident set of " + why, false
}

// Named returns the programs that the user named, with the processes that they forked and that execute nothing else. If
// the run does not tell, sure is false, and these are the programs that come into question.
func (r *Run) Named() (list []int, why string, sure bool) {
	list, why, sure = r.named()
	if !sure {
		return list, why, false
	}
	in := map[int]bool{}
	for _, i := range list {
		in[i] = true
	}
	for i := range r.programs { // in order of their start
		p := &r.programs[i]
		if p.Forked && p.Parent >= 0 && in[p.Parent] && p.Exe == r.programs[p.Parent].Exe && !in[i] {
			list, in[i] = append(list, i), true
		}
	}
	slices.Sort(list)
	return list, why, true
}

// named returns the programs that the user named, without their forks, or those that come into question.
//
// The rule. The target's process executes images; the first one that is not a shell, a wrapper such as env, or a
// builder such as make is the program that the user named; if it executes itself anew, the last of these. If all of
// them are such, the programs count that they started, through others of the kind, without helpers such as sed: if they
// all are one executable, that is what the user named. Only helpers, or none: it is the target itself, a script that
// does everything by itself. Where a program of these may be missing, because nothing of it could be recorded, the run
// does not tell.
func (r *Run) named() (list []int, why string, sure bool) {
	if c := r.info.Matters; c != nil {
		for i := range r.programs {
			if r.programs[i].Member == c.Member {
				return []int{i}, "the one that mattered before its names were replaced", c.Sure
			}
		}
	}
	images := r.images()
	for n, i := range images {
		if r.programs[i].passes() {
			continue
		}
		why := "the command"
		if n > 0 {
			why = "which " + r.typed(images[0]) + " executed"
		}
		for _, later := range images[n+1:] {
			if r.programs[later].Exe == r.programs[i].Exe || r.programs[later].Name() == r.programs[i].Name() {
				i = later
			}
		}
		return []int{i}, why, true
	}
	found, builds, static := r.started(images)
	missing := ""
	switch {
	case static > 0:
		missing = fmt.Sprintf(" (%d of them statically linked, not recorded)", static)
	case r.onlyWraps():
		missing = " (none of them was recorded)"
	}
	sure = missing == "" && (len(images) > 0 || r.mayPass())
	switch {
	case !sure:
	case len(r.programs) == 1:
		return []int{0}, "the only program of the run", true
	case builds:
	case len(found) == 1:
		return found, fmt.Sprintf("the only program that %s started, but for helpers", r.target(images)), true
	case len(found) == 0 && len(images) > 0:
		return images[len(images)-1:], "the command, which started no program but helpers", true
	}
	if len(found) == 0 {
		for i := range r.programs {
			found = append(found, i)
		}
	}
	what := fmt.Sprintf("%d programs", len(found))
	if !sure {
		what = "the programs"
	}
	sure = sure && !builds && !slices.ContainsFunc(found, func(i int) bool {
		return r.programs[i].Exe != r.programs[found[0]].Exe || r.programs[i].Exe == ""
	})
	return found, fmt.Sprintf("%s that %s started%s", what, r.target(images), missing), sure
}

// mayPass reports whether the command may be one through which users name other programs, as far as that is known.
func (r *Run) mayPass() bool { return r.info.Pid == 0 || r.info.Chosen || Passes(r.info.Command) }

// Passes reports whether users name other programs through a command: a shell, a wrapper, a builder.
func Passes(command []string) bool {
	if len(command) == 0 {
		return false
	}
	return (&Program{Exe: command[0]}).passes()
}

// onlyWraps reports whether nothing was recorded but the system's wrappers, such as env: what they executed, which the
// user named, was not.
func (r *Run) onlyWraps() bool {
	return !slices.ContainsFunc(r.programs, func(p Program) bool {
		return !p.isOne(wrappers) || !strings.HasPrefix(p.Exe, "/usr/bin/") && !strings.HasPrefix(p.Exe, "/bin/")
	})
}

// images are the programs that the target's process executed.
func (r *Run) images() (list []int) {
	for i := range r.programs {
		if r.programs[i].Pid == r.info.Pid && !r.programs[i].Forked {
			list = append(list, i)
		}
	}
	return list
}

// typed is the target's first image as the user named it, and says if that is a script.
func (r *Run) typed(first int) string {
	name := r.programs[first].Name()
	if len(r.info.Command) > 0 && path.Base(r.info.Command[0]) != name {
		return "the script " + path.Base(r.info.Command[0])
	}
	return name
}

func (r *Run) target(images []int) string {
	if len(images) > 0 {
		return r.programs[images[len(images)-1]].Name()
	}
	if len(r.info.Command) > 0 {
		name := path.Base(r.info.Command[0])
		if len(images) == 0 && !r.mayPass() {
			name += ", which was not recorded,"
		}
		return name
	}
	return "the command"
}

// started are the programs that the target started, through shells, wrappers and builders; without helpers. Without
// images of the target, because it could not be recorded, they are those that no recorded program started. builds says
// that a builder was among them, static how many programs are missing because they are statically linked.
func (r *Run) started(images []int) (found []int, builds bool, static uint64) {
	through := map[int]bool{} // process ids
	if len(images) == 0 {
		for i := range r.programs {
			if r.programs[i].Parent < 0 {
				through[r.programs[i].ParentPid] = true
			}
		}
	} else {
		through[r.info.Pid] = true
	}
	for i := range r.programs {
		p := &r.programs[i]
		switch {
		case p.Pid == r.info.Pid && !p.Forked: // the target
			builds, static = builds || p.isOne(builders), static+p.Static
		case !through[p.ParentPid] && !through[p.Pid]: // the latter: it was a shell, and executed this
		case p.passes():
			builds, static = builds || p.isOne(builders), static+p.Static
			through[p.Pid] = true
		case p.Forked || p.isOne(helpers):
		default:
			found = append(found, i)
		}
	}
	return found, builds, static
}

// largest is the program with the largest resident set.
func (r *Run) largest(of []int) (most int) {
	most = of[0]
	for _, i := range of {
		a, b := &r.programs[i], &r.programs[most]
		if a.PeakResident > b.PeakResident || a.PeakResident == b.PeakResident && a.PeakLive > b.PeakLive {
			most = i
		}
	}
	return most
}
