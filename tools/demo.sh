#!/usr/bin/env bash
# Records real programs and shows what they say. The recordings stay in ./demo.
set -euo pipefail
heaptap=$(realpath "${1:?usage: tools/demo.sh HEAPTAP}")
bookshop=$(realpath "$(dirname "$0")/demo/bookshop.amd64")
mkdir -p demo
cd demo
rm -f ./*.htap
bold="" plain=""
if [ -t 1 ]; then
	bold=$'\033[1m' plain=$'\033[0m'
fi
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }

# A small program with its debug information: functions, files and lines, without a compiler on this machine.
report=
if "$bookshop" >/dev/null 2>&1; then
	cp "$bookshop" bookshop
	say "heaptap run -o bookshop.htap ./bookshop"
	"$heaptap" run -o bookshop.htap ./bookshop
	report=bookshop.htap
fi

# Beside it, a program of the system's, as it is.
if command -v sqlite3 >/dev/null 2>&1; then
	cat >demo.sql <<'SQL'
CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT, score REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO word SELECT i, 'word-' || (i * 7919 % 100003), i * 0.5 FROM n;
CREATE INDEX by_text ON word (text);
SELECT count(*), count(DISTINCT text) FROM word;
SELECT substr(text, 1, 7) AS start, round(avg(score), 1), group_concat(id)
FROM word GROUP BY start ORDER BY 2 DESC LIMIT 1;
SQL
	say "heaptap run -o sqlite3.htap sqlite3 :memory: < demo.sql"
	"$heaptap" run -o sqlite3.htap sqlite3 :memory: <demo.sql | cut -c1-90
	: "${report:=sqlite3.htap}"
elif command -v python3 >/dev/null 2>&1; then
	cat >demo.py <<'PY'
import json

records = [{"id": i, "name": f"name-{i}", "tags": [f"t{i % 7}", f"t{i % 11}"]} for i in range(60000)]
text = json.dumps(records)
again = json.loads(text)
print(len(text), len(again))
PY
	say "PYTHONMALLOC=malloc heaptap run -o python3.htap python3 demo.py"
	PYTHONMALLOC=malloc "$heaptap" run -o python3.htap python3 demo.py
	: "${report:=python3.htap}"
fi

if [ -z "$report" ]; then
	echo "make demo: the program in tools/demo does not run here, and neither sqlite3 nor python3 is installed" >&2
	exit 1
fi
say "heaptap report --top 3 $report"
"$heaptap" report --top 3 "$report"
say "heaptap tree $report"
"$heaptap" tree "$report"
printf '\nThe recordings are in demo/; try: %s report --help\n' "bin/heaptap"
