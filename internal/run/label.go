package run

import (
	"path"
	"slices"
	"strings"
)

// interpreters run scripts. Those whose names differ in a version only (python3.12) are listed without it.
var interpreters = []string{"python", "pypy", "perl", "ruby", "node", "nodejs", "bun", "deno", "php", "lua", "luajit",
	"sh", "bash", "dash", "zsh", "ksh", "busybox", "tclsh", "Rscript", "julia", "java", "guile", "awk", "gawk", "mawk"}

// modules are flags of interpreters that are followed by a module or a program to run instead of a script.
var modules = []string{"-m", "-jar"}

// scripts are flags of interpreters that are followed by a script, besides -c.
var scripts = []string{"-e", "-E", "--eval", "-p", "--print"}

// onlyC are interpreters for which these flags mean something else, as they do for shells.
var onlyC = []string{"python", "pypy"}

// withValue are flags of interpreters that take the next argument.
var withValue = []string{"-W", "-X", "-r", "--require", "-I", "-cp", "-classpath", "-o", "-O", "--import", "-f", "-v"}

// compilers turn source files into something.
var compilers = []string{"cc1", "cc1plus", "cc1obj", "f951", "gnat1", "d21", "lto1", "as", "cc", "c++", "gcc", "g++",
	"clang", "clang++", "gfortran", "rustc", "go", "compile", "swiftc", "swift-frontend", "ghc", "javac", "nvcc",
	"cicc", "tsc", "flang", "ccache"}

// subcommands are programs that do quite different things: their first argument says which.
var subcommands = []string{"git"}

// sources are the endings of source files.
var sources = []string{".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".h", ".hpp", ".m", ".mm", ".f", ".F", ".f90", ".F90",
	".f95", ".f03", ".f08", ".for", ".rs", ".go", ".swift", ".hs", ".java", ".cu", ".s", ".S", ".d", ".adb", ".ads",
	".i", ".ii", ".zig", ".nim", ".ts", ".tsx", ".js", ".mjs", ".cjs", ".py", ".proto", ".y", ".l"}

// Label says what a program works on: the script of an interpreter, the source file of a compiler, the subcommand of
// git; "" if that cannot be seen in its arguments.
func Label(exe string, args []string) string {
	if len(args) < 2 {
		return ""
	}
	names := []string{family(path.Base(exe)), family(path.Base(args[0]))}
	is := func(list []string) bool {
		return slices.Contains(list, names[0]) || slices.Contains(list, names[1])
	}
	switch {
	case is(interpreters):
		return scriptOf(args[1:], is(shells) || is(onlyC))
	case is(compilers):
		return sourceOf(args[1:])
	case is(subcommands):
		return subcommandOf(args[1:])
	}
	return ""
}

// family is a program's name without a version and a target: python3.12 is python, x86_64-linux-gnu-gcc-12 is gcc.
func family(name string) string {
	name = strings.TrimRight(name, "0123456789.-")
	if name == "cc" || name == "f" || name == "gnat" || name == "lto" || name == "d" {
		name += "1" // the compiler proper
	}
	if i := strings.LastIndexByte(name, '-'); i >= 0 && slices.Contains(compilers, name[i+1:]) {
		name = name[i+1:]
	}
	return name
}

// scriptOf is the first argument of an interpreter that is not a flag. c says that only -c is followed by a script.
func scriptOf(args []string, c bool) string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case slices.Contains(modules, a) && i+1 < len(args):
			return a + " " + args[i+1]
		case a == "-c" || !c && slices.Contains(scripts, a): // a script in the arguments
			return ""
		case a == "--" && i+1 < len(args):
			return args[i+1]
		case slices.Contains(withValue, a):
			i++
		case a == "-" || !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+"):
			return a
		}
	}
	return ""
}

// subcommandOf is the first argument that is not a flag, and not the value of one.
func subcommandOf(args []string) string {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-C" || a == "-c" || a == "--git-dir" || a == "--work-tree":
			i++
		case !strings.HasPrefix(a, "-"):
			return a
		}
	}
	return ""
}

// sourceOf is the first argument of a compiler that is a source file.
func sourceOf(args []string) string {
	skip := false
	for _, a := range args {
		switch {
		case skip:
			skip = false
		case a == "-o" || a == "-MF" || a == "-MT" || a == "-MQ" || a == "-include" || a == "-I" || a == "-isystem" ||
			a == "-dumpbase" || a == "-dumpdir" || a == "-auxbase" || a == "-auxbase-strip":
			skip = true
		case strings.HasPrefix(a, "-") || strings.HasPrefix(a, "@"):
		case slices.Contains(sources, path.Ext(a)):
			return a
		}
	}
	return ""
}
