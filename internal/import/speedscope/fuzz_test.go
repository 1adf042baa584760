package speedscope

import (
	"testing"

	"github.com/heaptap/heaptap/internal/import/importtest"
)

func FuzzRead(f *testing.F) { importtest.Fuzz(f, Read, seeds...) }

const schema = `{"$schema":"https://www.speedscope.app/file-format-schema.json","name":"a (7)","exporter":"heaptap",` +
	`"shared":{"frames":[{"name":"main","file":"/bin/a"},{"name":"f","file":"a.c","line":3}]},"profiles":[`

var seeds = []string{
	schema + `{"type":"evented","name":"peak","unit":"bytes","startValue":0,"endValue":30,` +
		`"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":10},` +
		`{"type":"C","frame":1,"at":30},{"type":"C","frame":0,"at":30}]}]}`,
	schema + `{"type":"sampled","name":"x","unit":"bytes","startValue":0,"endValue":30,` +
		`"samples":[[0],[0,1]],"weights":[10,20]}]}`,
}
