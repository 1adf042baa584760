// Package formats lists the export formats.
package formats

import (
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/callgrind"
	"github.com/heaptap/heaptap/internal/export/csv"
	"github.com/heaptap/heaptap/internal/export/dhat"
	"github.com/heaptap/heaptap/internal/export/firefox"
	"github.com/heaptap/heaptap/internal/export/folded"
	"github.com/heaptap/heaptap/internal/export/heaptrack"
	"github.com/heaptap/heaptap/internal/export/jsonl"
	"github.com/heaptap/heaptap/internal/export/massif"
	"github.com/heaptap/heaptap/internal/export/otlp"
	"github.com/heaptap/heaptap/internal/export/parquet"
	"github.com/heaptap/heaptap/internal/export/perfetto"
	"github.com/heaptap/heaptap/internal/export/pprof"
	"github.com/heaptap/heaptap/internal/export/speedscope"
	"github.com/heaptap/heaptap/internal/export/svg"
)

// All are the formats, in the order of the listing.
var All = []*export.Format{
	&pprof.Format,
	&folded.Format,
	&speedscope.Format,
	&svg.Format,
	&callgrind.Format,
	&massif.Format,
	&dhat.Format,
	&heaptrack.Format,
	&csv.Format,
	&jsonl.Format,
	&firefox.Format,
	&perfetto.Format,
	&otlp.Format,
	&parquet.Format,
}
