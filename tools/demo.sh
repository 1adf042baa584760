#!/usr/bin/env bash
# Records a real program on a real workload and shows the report. The recording stays in ./demo.
set -euo pipefail
heaptap=$(realpath "${1:?usage: tools/demo.sh HEAPTAP}")
mkdir -p demo
cd demo
rm -f ./*.htap
bold="" plain=""
if [ -t 1 ]; then
	bold=$'\033[1m' plain=$'\033[0m'
fi
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }

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
	say "heaptap run sqlite3 :memory: < demo.sql"
	"$heaptap" run sqlite3 :memory: <demo.sql | cut -c1-90
else
	cat >demo.py <<'PY'
import json

records = [{"id": i, "name": f"name-{i}", "tags": [f"t{i % 7}", f"t{i % 11}"]} for i in range(60000)]
text = json.dumps(records)
again = json.loads(text)
print(len(text), len(again))
PY
	say "PYTHONMALLOC=malloc heaptap run python3 demo.py"
	PYTHONMALLOC=malloc "$heaptap" run python3 demo.py
fi

recording=$(find . -maxdepth 1 -name '*.htap' -printf '%s %f\n' | sort -rn | head -n 1 | cut -d' ' -f2)
say "heaptap report $recording"
"$heaptap" report "$recording"
printf '\nThe recording is demo/%s; try: %s report --help\n' "$recording" "bin/heaptap"
