package main

import (
	"bufio"
	"maps"
	"strings"
	"testing"
)

// TestStages reads samples as perf script prints them.
func TestStages(t *testing.T) {
	const text = `heaptap-rec   100/101   
	           10 runtime.memmove
	           20 github.com/heaptap/heaptap/internal/spool.(*Reader).slot
	           30 runtime.goexit.abi0

exe   100/102   
	           10 runtime.usleep.abi0
	           20 runtime.sysmon

exe   100/103   
	           10 github.com/heaptap/heaptap/internal/recording/block.(*Changes).Add
	           20 github.com/heaptap/heaptap/internal/recording.(*appender).summarise
	           30 github.com/heaptap/heaptap/internal/recording.(*Writer).write

exe   100/103   
	           10 github.com/heaptap/heaptap/internal/recording/block.(*Encoder).plain

heaptap   99/99   
	ffffffff8225fd19 [unknown]

w   104/104   
	           10 malloc

`
	const one = 1e9 / stagesRate
	want := map[string]float64{"drain": one, "Go: sysmon": one, "summaries by block": one, "columns": one, "other": one}
	if got := sumStages(bufio.NewScanner(strings.NewReader(text)), "heaptap"); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
