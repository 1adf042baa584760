package dhat

import (
	"testing"

	"github.com/heaptap/heaptap/internal/import/importtest"
)

func FuzzRead(f *testing.F) { importtest.Fuzz(f, Read, seeds...) }

var seeds = []string{
	`{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":true,"bkacc":false,"tu":"ns","Mtu":"ms",` +
		`"tuth":1,"cmd":"./a b","pid":7,"te":100,"tg":50,` +
		`"pps":[{"tb":100,"tbk":2,"tl":9,"mb":100,"mbk":2,"gb":60,"gbk":1,"eb":40,"ebk":1,"fs":[1,2]},` +
		`{"tb":1,"tbk":1,"tl":9,"fs":[]}],` +
		`"ftbl":["[root]","0x109: f (a.c:3)","0x10A: main (in /bin/a)"]}`,
	`{"dhatFileVersion":2,"mode":"heap","pps":[],"ftbl":["[root]"]}`,
}
