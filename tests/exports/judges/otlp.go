package main

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	old "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// profiles are what was understood.
type profiles struct {
	Scope, Version string
	Resource       map[string]any
	Profiles       []profile
}

type profile struct {
	Type, Unit string
	Time       uint64
	Sum        int64
	Samples    []sample
}

type sample struct {
	Value  int64
	Stack  []frame // leaf to root
	Labels map[string]string
}

type frame struct {
	Function, File, Module, BuildID string
	Line                            int64
	Address                         uint64
	Outside                         bool // the address is not within the module
}

// readOTLP reads, writes and reads again.
func readOTLP(b []byte) (any, error) {
	first, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(b)
	if err != nil {
		return nil, err
	}
	again, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(first)
	if err != nil {
		return nil, err
	}
	p, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(again)
	if err != nil {
		return nil, err
	}
	if n := p.ResourceProfiles().Len(); n != 1 || p.ResourceProfiles().At(0).ScopeProfiles().Len() != 1 {
		return nil, fmt.Errorf("%d resources", n)
	}
	if err := firstsAreEmpty(p.Dictionary()); err != nil {
		return nil, err
	}
	r := p.ResourceProfiles().At(0)
	scope := r.ScopeProfiles().At(0)
	out := profiles{Scope: scope.Scope().Name(), Version: scope.Scope().Version(),
		Resource: r.Resource().Attributes().AsRaw()}
	for _, in := range scope.Profiles().All() {
		one := profile{Type: text(p, in.SampleType().TypeStrindex()), Unit: text(p, in.SampleType().UnitStrindex()),
			Time: uint64(in.Time())}
		if in.ProfileID().IsEmpty() {
			return nil, fmt.Errorf("a profile without an id")
		}
		for _, s := range in.Samples().All() {
			if s.Values().Len() != 1 {
				return nil, fmt.Errorf("%s: a sample with %d values", one.Type, s.Values().Len())
			}
			one.Sum += s.Values().At(0)
			one.Samples = append(one.Samples, sample{s.Values().At(0), stack(p, s.StackIndex()),
				labels(p, s.AttributeIndices())})
		}
		out.Profiles = append(out.Profiles, one)
	}
	return out, nil
}

// firstsAreEmpty holds that number 0 of each table means none.
func firstsAreEmpty(d pprofile.ProfilesDictionary) error {
	for name, ok := range map[string]bool{
		"strings": d.StringTable().Len() > 0 && d.StringTable().At(0) == "",
		"mappings": d.MappingTable().Len() > 0 && d.MappingTable().At(0).MemoryLimit() == 0 &&
			d.MappingTable().At(0).FilenameStrindex() == 0,
		"locations": d.LocationTable().Len() > 0 && d.LocationTable().At(0).Lines().Len() == 0 &&
			d.LocationTable().At(0).Address() == 0,
		"functions":  d.FunctionTable().Len() > 0 && d.FunctionTable().At(0).NameStrindex() == 0,
		"links":      d.LinkTable().Len() > 0 && d.LinkTable().At(0).TraceID().IsEmpty(),
		"attributes": d.AttributeTable().Len() > 0 && d.AttributeTable().At(0).KeyStrindex() == 0,
		"stacks":     d.StackTable().Len() > 0 && d.StackTable().At(0).LocationIndices().Len() == 0,
	} {
		if !ok {
			return fmt.Errorf("the first of the %s is not empty", name)
		}
	}
	return nil
}

func text(p pprofile.Profiles, i int32) string { return p.Dictionary().StringTable().At(int(i)) }

func stack(p pprofile.Profiles, i int32) (list []frame) {
	d := p.Dictionary()
	for _, l := range d.StackTable().At(int(i)).LocationIndices().All() {
		loc := d.LocationTable().At(int(l))
		m := d.MappingTable().At(int(loc.MappingIndex()))
		f := frame{Module: text(p, m.FilenameStrindex()),
			BuildID: labels(p, m.AttributeIndices())["process.executable.build_id.gnu"],
			Address: loc.Address(), Outside: loc.MappingIndex() != 0 &&
				(loc.Address() < m.MemoryStart() || loc.Address() >= m.MemoryLimit())}
		for _, line := range loc.Lines().All() {
			fn := d.FunctionTable().At(int(line.FunctionIndex()))
			f.Function, f.File, f.Line = text(p, fn.NameStrindex()), text(p, fn.FilenameStrindex()), line.Line()
			list = append(list, f)
		}
		if loc.Lines().Len() == 0 {
			list = append(list, f)
		}
	}
	return list
}

func labels(p pprofile.Profiles, indices pcommon.Int32Slice) map[string]string {
	out := map[string]string{}
	for _, i := range indices.All() {
		a := p.Dictionary().AttributeTable().At(int(i))
		out[text(p, a.KeyStrindex())] = a.Value().AsString()
	}
	return out
}

// readOld reads release 0.2, and says of each profile its type and sum.
func readOld(b []byte) (any, error) {
	var data old.ProfilesData
	if err := proto.Unmarshal(b, &data); err != nil {
		return nil, err
	}
	var out profiles
	for _, r := range data.ResourceProfiles {
		for _, s := range r.ScopeProfiles {
			out.Scope = s.Scope.GetName()
			for _, p := range s.Profiles {
				if n := len(p.ProtoReflect().GetUnknown()); n > 0 {
					return nil, fmt.Errorf("%d bytes of unknown fields", n)
				}
				one := profile{Type: data.Dictionary.StringTable[p.SampleType.TypeStrindex]}
				for _, s := range p.Samples {
					if len(s.Values) != 1 || int(s.StackIndex) >= len(data.Dictionary.StackTable) ||
						len(s.ProtoReflect().GetUnknown()) > 0 {
						return nil, fmt.Errorf("%s: a sample is %v", one.Type, s)
					}
					one.Sum += s.Values[0]
				}
				out.Profiles = append(out.Profiles, one)
			}
		}
	}
	return out, nil
}
