// Package internal holds nothing but this test: imports follow the data and never run back.
package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/heaptap/heaptap/"

// mayImport says what each package may import of this module. The order is that of the data: from the spool to the view
// (docs/design/0001-data-flow.md).
var mayImport = map[string][]string{
	"agent":                      {},
	"ui":                         {},
	"internal/licenses":          {"../ui"},
	"internal/clock":             {},
	"internal/grow":              {},
	"internal/procfs":            {},
	"internal/sleep":             {},
	"internal/private":           {},
	"internal/event":             {},
	"internal/escape":            {},
	"internal/humanize":          {},
	"internal/limited":           {},
	"internal/lazy":              {},
	"internal/wire":              {},
	"internal/elfx":              {},
	"internal/debuginfod":        {},
	"internal/dwarfx":            {"elfx"},
	"internal/cfi":               {},
	"internal/spill":             {"wire"},
	"internal/spool":             {"private", "wire", "event", "clock"},
	"internal/spool/spooltest":   {"wire", "spool", "clock"},
	"internal/ledger":            {"event"},
	"internal/tally":             {"grow", "event"},
	"internal/recording/column":  {},
	"internal/recording/block":   {"grow", "event", "tally", "recording/column"},
	"internal/recording/inorder": {},
	"internal/recording": {
		"grow", "event", "tally", "private", "lru", "recording/column", "recording/block", "recording/inorder",
	},
	"internal/run":                  {"lazy", "event", "private", "recording", "recording/timetravel"},
	"internal/recording/repair":     {"event", "recording"},
	"internal/recording/timetravel": {"event", "recording", "recording/block", "recording/inorder"},
	"internal/recording/atlas": {
		"cachedir", "event", "recording", "recording/column", "recording/timetravel",
	},
	"internal/cachedir":  {},
	"internal/namecache": {"cachedir", "event"},
	"internal/symbolize": {"lazy", "event", "cfi", "elfx", "dwarfx", "namecache"},
	"internal/record": {
		"clock", "control", "wire", "spill", "spool", "event", "ledger", "tally", "recording", "namecache",
		"private", "record/journal", "record/names", "record/notes", "record/order", "record/output", "record/pairs",
		"record/pools", "record/procs", "record/records", "record/resident", "record/sampler", "record/stacks",
		"record/symbols", "record/ticks", "record/watch", "record/alarm", "record/unseen", "run",
	},
	"internal/record/alarm":        {"sleep", "spool", "record/procs"},
	"internal/record/journal":      {"ledger", "private", "spill", "spool", "wire"},
	"internal/record/names":        {"event", "spool"},
	"internal/record/notes":        {"event", "recording"},
	"internal/record/order":        {"event", "ledger", "wire", "record/journal", "record/records", "record/ticks"},
	"internal/record/output":       {"event", "recording"},
	"internal/record/pairs":        {"event", "wire", "record/records"},
	"internal/record/pools":        {"event"},
	"internal/record/procs":        {"clock", "private", "procfs", "sleep", "record/names"},
	"internal/record/records":      {"event", "ledger", "wire"},
	"internal/record/resident":     {"event", "tally", "record/sampler"},
	"internal/record/sampler":      {"clock", "elfx", "event", "procfs", "sleep", "record/procs"},
	"internal/record/stacks":       {"grow", "event", "recording", "spool", "wire"},
	"internal/record/symbols":      {"event", "namecache", "symbolize", "recording"},
	"internal/record/ticks":        {"recording"},
	"internal/record/unseen":       {"elfx", "spool", "wire"},
	"internal/record/watch":        {"event", "recording", "wire", "humanize", "spelling"},
	"internal/glob":                {},
	"internal/lru":                 {},
	"internal/owncode":             {"funcname", "glob"},
	"internal/namesource":          {"elfx"},
	"internal/profile":             {"event", "funcname", "glob", "owncode", "tally", "recording", "run"},
	"internal/childtest":           {},
	"internal/goldentest":          {},
	"internal/query/querytest":     {"query", "profile/profiletest"},
	"internal/profile/profiletest": {"event", "profile", "recording", "tally"},
	"internal/query": {
		"lazy", "event", "glob", "lru", "timeref", "tally", "recording", "profile", "recording/atlas",
		"recording/timetravel",
		"run",
	},
	"internal/heapfilm":      {"answer", "escape", "funcname", "humanize", "query"},
	"internal/insight":       {"event", "humanize", "profile", "query"},
	"internal/check":         {"query", "escape", "humanize", "owncode", "profile"},
	"internal/allocator":     {"elfx"},
	"internal/replay":        {"../agent", "allocator", "event", "recording", "limited"},
	"internal/replaychart":   {"humanize", "replay"},
	"internal/export":        {"event", "profile", "query", "recording"},
	"internal/export/csv":    {"escape", "export", "export/table", "query"},
	"internal/export/folded": {"export", "query"},
	"internal/sqltool": {
		"lazy", "export", "export/parquet", "export/table", "humanize", "outfile", "query", "limited",
	},
	"internal/export/jsonl": {"export", "export/csv", "export/table"},
	"internal/export/table": {"event", "export", "profile", "query"},
	"internal/export/formats": {
		"export", "export/callgrind", "export/csv", "export/dhat", "export/firefox", "export/folded",
		"export/heaptrack", "export/jsonl", "export/massif", "export/otlp", "export/parquet", "export/perfetto",
		"export/pprof", "export/speedscope", "export/svg", "query",
	},
	"internal/push":            {"export", "query"},
	"internal/push/call":       {"lazy"},
	"internal/push/clickhouse": {"lazy", "export", "export/table", "push/call", "query"},
	"internal/push/otlp":       {"export", "export/otlp", "export/protobuf", "push", "push/call"},
	"internal/push/parca":      {"export", "export/pprof", "export/protobuf", "push", "push/call", "query"},
	"internal/push/pyroscope":  {"export", "export/pprof", "push", "push/call"},
	"internal/import": {
		"import/dhat", "import/folded", "import/heapprofile", "import/heaptrack", "import/massif", "import/pprof",
		"import/speedscope", "merge",
	},
	"internal/import/dhat":        {"import/valgrind", "import/whole", "merge"},
	"internal/import/folded":      {"import/lines", "merge"},
	"internal/import/heapprofile": {"lazy", "elfx", "event", "import/lines", "merge", "symbolize"},
	"internal/import/heaptrack":   {"event", "import/lines", "recording"},
	"internal/import/importtest":  {"merge", "verify"},
	"internal/import/lines":       {},
	"internal/import/massif":      {"import/lines", "import/valgrind", "merge"},
	"internal/import/pprof":       {"event", "import/whole", "merge"},
	"internal/import/speedscope":  {"event", "import/whole", "merge"},
	"internal/import/valgrind":    {"event", "merge"},
	"internal/import/whole":       {},
	"internal/export/valgrind":    {"export", "profile"},
	"internal/export/callgrind":   {"export", "export/intern", "export/valgrind", "query"},
	"internal/export/massif":      {"export", "export/intern", "export/valgrind", "query"},
	"internal/export/dhat": {
		"event", "export", "export/intern", "export/valgrind", "profile", "query", "tally",
	},
	"internal/export/heaptrack": {"event", "export", "export/intern"},
	"internal/export/intern":    {},
	"internal/export/firefox":   {"event", "export", "export/intern", "profile", "query", "recording/timetravel"},
	"internal/export/perfetto":  {"event", "export", "export/intern", "export/protobuf", "query"},
	"internal/export/otlp":      {"export", "export/intern", "export/protobuf", "query"},
	"internal/export/parquet":   {"export", "export/intern", "export/table", "query"},
	"internal/export/pprof": {
		"escape", "event", "export", "export/intern", "export/protobuf", "profile", "query",
	},
	"internal/export/protobuf":   {},
	"internal/export/speedscope": {"export", "query"},
	"internal/export/svg":        {"export", "profile", "query", "humanize", "funcname"},
	"internal/merge":             {"event", "tally", "recording", "profile", "recording/timetravel"},
	"internal/scrub":             {"lazy", "profile"},
	"internal/diff":              {"lazy", "event", "profile", "query"},
	"internal/source":            {},
	"internal/notes":             {"private", "run"},
	"internal/serve":             {},
	"internal/browser":           {},
	"internal/spelling":          {},
	"internal/funcname":          {"lazy", "escape"},
	"internal/flagfile":          {"spelling"},
	"internal/annotate":          {"event", "query", "source", "spelling", "symbolize"},
	"internal/framesize":         {"event", "profile", "query", "symbolize"},
	"internal/question":          {"event", "glob", "humanize", "timeref", "query", "recording", "spelling"},
	"internal/reply": {
		"answer", "control", "export", "export/pprof", "humanize", "outfile", "profile", "query", "question", "view",
	},
	"internal/livelog": {"dump", "launch"},
	"internal/monitor": {
		"answer", "event", "humanize", "launch", "outfile", "query", "recording", "reply", "spelling", "view", "run",
	},
	"internal/gate": {
		"answer", "check", "event", "humanize", "input", "outfile", "query", "recording", "run", "symbolize", "view",
	},
	"internal/summary": {"escape", "humanize", "launch", "outfile", "profile", "view", "run"},
	"internal/outfile": {"escape"},
	"internal/input": {
		"import", "outfile", "query", "record", "wire", "control", "humanize", "merge", "private", "recording",
		"run",
	},
	"internal/columns": {},
	"internal/answer": {
		"export/table", "replay", "sqltool",
		"annotate", "check", "columns", "diff", "event", "framesize", "insight", "timeref", "profile", "query", "tally",
		"run",
	},
	"internal/api": {
		"export", "lazy", "sqltool",
		"annotate", "answer", "columns", "diff", "event", "framesize", "humanize", "input", "insight", "lru", "notes",
		"owncode", "profile", "query", "question", "recording", "recording/atlas", "run", "source", "spelling",
	},
	"internal/api/apitest":         {"event", "merge", "profile/profiletest", "recording"},
	"internal/columns/columnstest": {},
	"internal/api/schema":          {"api", "columns"},
	"internal/view": {
		"export/table", "replay", "sqltool",
		"escape", "event", "timeref", "tally", "recording", "profile", "query", "check", "diff", "annotate",
		"answer", "control", "framesize", "humanize", "insight", "verify", "funcname", "namesource", "owncode",
		"recording/repair", "run",
	},
	"internal/verify":  {"event", "tally", "recording", "recording/timetravel"},
	"internal/timeref": {"event", "recording", "recording/timetravel"},
	"internal/dump":    {"escape", "event", "timeref", "recording", "humanize", "run"},
	"internal/control": {},
	"internal/launch":  {"elfx", "event", "../agent", "escape", "humanize", "procfs", "run", "sleep"},
	"cmd/heaptap": {
		"allocator", "replay", "replaychart",
		"spill", "control", "debuginfod", "namecache", "source", "launch", "record", "record/watch", "recording",
		"profile", "view", "timeref", "verify", "dump", "query", "diff", "merge", "check", "export",
		"export/formats", "export/otlp", "export/pprof", "push", "push/call", "push/clickhouse", "push/otlp",
		"push/parca", "push/pyroscope", "import", "scrub", "escape", "annotate", "answer", "gate", "summary",
		"monitor", "notes", "question", "reply", "input", "outfile", "spelling", "humanize", "record/symbols",
		"livelog", "flagfile", "recording/repair", "namesource", "owncode", "run", "sqltool", "cachedir",
		"recording/atlas", "api",
		"browser", "serve", "../ui", "licenses", "insight", "heapfilm", "framesize",
	},
	"tests/browser":           {"serve", "../tests/kit", "../tests/need", "../tests/programs"},
	"tests/programs":          {"event", "recording", "../tests/count"},
	"tools/mutate":            {},
	"tests/need":              {},
	"tests/kit":               {"recording", "run", "../tests/programs"},
	"tests/programs/run":      {"../tests/programs"},
	"tests/programs/time":     {"../tests/programs"},
	"tests/programs/unbiased": {"../tests/programs"},
	"tests/agree":             {"../tests/programs", "../tests/kit", "../tests/need"},
	"tests/api":               {"event", "recording", "spool", "wire", "../tests/kit", "../tests/need"},
	"tests/api/examples/go":   {},
	"tests/corpus":            {"event", "../tests/programs", "../tests/kit"},
	"tests/count":             {},
	"tests/e2e":               {"event", "recording", "../tests/programs", "../tests/kit", "../tests/need"},
	"tests/endings":           {"event", "record", "recording", "../tests/programs", "../tests/kit"},
	"tests/exports": {
		"sqltool", "escape", "event", "recording", "../tests/programs", "../tests/kit", "../tests/need",
	},
	"tests/exports/judges": {},
	"tests/golden":         {"../tests/programs", "../tests/kit"},
	"tests/order":          {"event", "recording", "verify", "../tests/kit", "../tests/need"},
	"tests/estimates": {
		"event", "query", "recording", "../tests/kit", "../tests/need", "../tests/programs",
	},
	"tests/frames":                   {"event", "recording", "../tests/kit", "../tests/need"},
	"tests/replay":                   {"event", "recording", "replay", "../tests/kit", "../tests/need"},
	"tests/growth":                   {"answer", "../tests/kit", "../tests/need"},
	"tests/examples":                 {"../tests/kit", "../tests/need"},
	"tests/questions":                {"../tests/kit", "../tests/need"},
	"tests/stories":                  {"../tests/kit", "../tests/need"},
	"tests/sampled":                  {"event", "recording", "spool", "wire", "../tests/kit"},
	"tests/stacks":                   {"event", "recording", "../tests/programs", "../tests/kit", "../tests/need"},
	"tests/symbols":                  {"event", "elfx", "symbolize"},
	"bench":                          {"event", "query", "recording", "view", "../tests/programs"},
	"tests/exports/judges/collector": {},
	"tests/exports/judges/parca":     {},
}

// flags and terminals belong to these.
var mayKnowFlags = []string{"cmd/heaptap", "bench", "tests/browser", "tests/golden", "tests/programs/run",
	"tests/programs/time", "tests/programs/unbiased", "internal/goldentest", "tools/mutate"}

func TestImportsFollowTheData(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(rel))
		if strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(folder, "tests/") {
			return nil // a package's own tests may judge it by whatever they like
		}
		seen[folder] = true
		allowed, known := mayImport[folder]
		if !known {
			t.Errorf("%s: a new package: where does it stand in the way of the data? Add it to mayImport", folder)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if (name == "flag" || strings.HasPrefix(name, "github.com/spf13/")) &&
				!slices.Contains(mayKnowFlags, folder) {
				t.Errorf("%s imports %s: flags belong to the commands", rel, name)
			}
			ours, ok := strings.CutPrefix(name, module)
			if !ok {
				continue
			}
			short, inside := strings.CutPrefix(ours, "internal/")
			if !inside {
				short = "../" + ours
			}
			if !slices.Contains(allowed, short) {
				t.Errorf("%s imports %s; %s may import %v", rel, ours, folder, allowed)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder := range mayImport {
		if _, err := os.Stat(filepath.Join(root, folder)); err == nil && !seen[folder] {
			t.Errorf("%s has no Go files any more", folder)
		}
	}
}
