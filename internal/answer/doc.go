// Package answer holds the answers as data: what heaptap prints with --json, and what other programs and a web
// server get.
//
// For each question there is a type, whose fields are the documented JSON (docs/report-json.md, docs/queries.md),
// and a function New... that makes it from the result of package query, diff or check. It needs nothing else: no
// terminal, no flags. Write writes an answer as JSON.
//
// All answers contain Version. Package view shows the same results as text.
package answer
