// Parca reads messages that heaptap push --parca sends, with the code by which Parca takes them: its checks of
// profiles, and how it makes rows for its database of them. It prints the rows as JSON, added up by their labels and
// types.
//
//	parca FILE...
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	profilestore "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	"github.com/parca-dev/parca/pkg/normalizer"
	"github.com/parca-dev/parca/pkg/profile"
	"google.golang.org/protobuf/proto"
)

// series is what has the same labels and the same type.
type series struct {
	Labels   map[string]string
	Name     string
	Type     string
	Duration int64
	Sum      int64
}

func main() {
	for _, name := range os.Args[1:] {
		list, err := read(name)
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(list)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func read(name string) ([]series, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	request := &profilestore.WriteRawRequest{}
	if err := proto.Unmarshal(b, request); err != nil {
		return nil, err
	}
	schema, err := profile.Schema()
	if err != nil {
		return nil, err
	}
	record, err := normalizer.WriteRawRequestToArrowRecord(context.Background(), memory.NewGoAllocator(), request,
		schema)
	if err != nil || record == nil {
		return []series{}, err
	}
	defer record.Release()
	return rows(record), nil
}

// rows adds up the rows.
func rows(record arrow.RecordBatch) []series {
	columns := map[string]arrow.Array{}
	for i, f := range record.Schema().Fields() {
		columns[f.Name] = record.Column(i)
	}
	text := func(column string, row int) string {
		c := columns[column].(*array.Dictionary)
		if c.IsNull(row) {
			return ""
		}
		return string(c.Dictionary().(*array.Binary).Value(c.GetValueIndex(row)))
	}
	sums := map[string]*series{}
	for row := range int(record.NumRows()) {
		one := series{Labels: map[string]string{}, Name: text(profile.ColumnName, row),
			Type:     text(profile.ColumnSampleType, row),
			Duration: columns[profile.ColumnDuration].(*array.Int64).Value(row)}
		for name := range columns {
			if label, ok := strings.CutPrefix(name, profile.ColumnLabels+"."); ok && text(name, row) != "" {
				one.Labels[label] = text(name, row)
			}
		}
		key := fmt.Sprint(one) // maps are printed in the order of their keys
		if sums[key] == nil {
			sums[key] = &one
		}
		sums[key].Sum += columns[profile.ColumnValue].(*array.Int64).Value(row)
	}
	list := []series{}
	for _, one := range sums {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b series) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return list
}
