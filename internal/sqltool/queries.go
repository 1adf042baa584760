package sqltool

// Query is a question that is shipped, as SQL that all engines read.
type Query struct {
	Name     string
	Question string
	SQL      string
}

// Queries are the questions that are shipped. docs/formats.md shows them; a test compares.
var Queries = []Query{
	{"leaks", "What leaks?",
		`SELECT leaked, leaked_blocks, frames FROM stacks WHERE leaked > 0 ORDER BY leaked DESC LIMIT 10`},
	{"totals", "What are the totals?",
		`SELECT sum(allocations), sum(bytes), sum(peak), sum(leaked), sum(temporary) FROM stacks`},
	{"functions", "What do functions allocate, including what they call?",
		`SELECT f.name, f.module, sum(s.bytes) AS total FROM stacks s
JOIN (SELECT DISTINCT stack, name, module FROM frames) f ON f.stack = s.stack
GROUP BY f.name, f.module ORDER BY total DESC, f.name, f.module`},
	{"modules", "Which modules hold memory at the peak?",
		`SELECT module, sum(peak) AS held, sum(peak_blocks) AS blocks FROM stacks GROUP BY module ORDER BY held DESC`},
	{"temporary", "Where are most temporary allocations?",
		`SELECT temporary, 100.0 * temporary / allocations AS share, frames FROM stacks WHERE temporary > 0
ORDER BY temporary DESC LIMIT 10`},
	{"sizes", "Which sizes are most frequent?",
		`SELECT size, count(*) AS n FROM events WHERE kind = 'alloc' GROUP BY size ORDER BY n DESC, size LIMIT 20`},
	{"lifetimes", "How long do blocks live, by call stack?",
		`SELECT stack, count(*) AS freed, avg(time_ns - born_ns) AS mean_ns FROM events WHERE kind = 'free'
GROUP BY stack ORDER BY freed DESC, stack`},
	{"handed-over", "Which threads free what others allocated?",
		`SELECT born_by, thread, count(*) AS blocks FROM events WHERE kind = 'free' AND born_by <> thread
GROUP BY born_by, thread ORDER BY blocks DESC`},
	{"peak", "When was most live?",
		`SELECT most_live_bytes, time_ns FROM timeline ORDER BY most_live_bytes DESC, time_ns LIMIT 1`},
	{"never-freed", "Which blocks were never freed?",
		`SELECT count(*) AS blocks, sum(size) AS bytes FROM events WHERE kind = 'alloc' AND block NOT IN
(SELECT block FROM events WHERE kind = 'free')`},
}
